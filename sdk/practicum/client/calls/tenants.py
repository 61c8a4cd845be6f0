"""Calls about tenants; for administrators of the main one."""

from practicum.client.call import Call, build, nothing, path, read
from practicum.contracts.access import IssuedKey
from practicum.contracts.tenants import NewTenant, Tenant, TenantRequest


def create(name: str, *, admin: str = "admin") -> Call[NewTenant]:
    """Make a tenant; the secret of its administrator's key is shown this once.

    Args:
        name: its name.
        admin: name of its first administrator.

    Raises:
        ConflictError: there is one of this name.
        ForbiddenError: the asking key is no administrator's of the main tenant.
    """
    return Call(
        "POST",
        "/v1/tenants",
        read(NewTenant),
        body=build(TenantRequest, "tenant", name=name, admin=admin),
        if_lost=f"The tenant may be there: look with tenants.list(), and have another key with admin_key('{name}').",
    )


def fetch_all() -> Call[list[Tenant]]:
    """The tenants, the main one first."""
    return Call("GET", "/v1/tenants", read(list[Tenant]))


def admin_key(name: str) -> Call[IssuedKey]:
    """Another key of an administrator of a tenant, for one that lost theirs.

    Raises:
        NotFoundError: there is no tenant of this name.
    """
    return Call(
        "POST",
        path("/v1/tenants/{}/keys", name),
        read(IssuedKey),
        if_lost="A key may have been issued that nobody holds: its tenant's administrators can revoke it.",
    )


def remove(name: str) -> Call[None]:
    """End a tenant's episodes and destroy all that is kept of it.

    Raises:
        NotFoundError: there is no tenant of this name.
    """
    return Call("DELETE", path("/v1/tenants/{}", name), nothing)
