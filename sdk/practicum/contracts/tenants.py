"""Tenants: parts of a company that share an installation and see nothing of each other."""

from practicum.contracts.access import IssuedKey, PrincipalName
from practicum.contracts.base import Name, Value

MAIN = "main"
"""The tenant that every installation has; its administrators make the others."""


TENANT_HEADER = "practicum-tenant"
"""The header that says for which tenant a worker asks, or which one is meant by a token that opens several."""


class TenantRequest(Value):
    """A wish for a tenant.

    Attributes:
        name: its name, which its keys carry.
        admin: name of its first administrator.
    """

    name: Name
    admin: PrincipalName = "admin"


class Tenant(Value):
    """A tenant."""

    name: str


class NewTenant(Value):
    """A tenant, and the key of an administrator of it; the secret is shown this once."""

    tenant: Tenant
    key: IssuedKey
