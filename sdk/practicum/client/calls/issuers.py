"""Calls about issuers: identity providers whose tokens are taken."""

from practicum.client.call import Call, nothing, path, read
from practicum.contracts.issuers import Issuer


def put(issuer: Issuer) -> Call[Issuer]:
    """Take an issuer's tokens from now on, on these terms; its keys are fetched to see that they can be had.

    Args:
        issuer: the issuer; one of the same name is replaced.

    Raises:
        ForbiddenError: the key is no administrator's.
        ConflictError: another one stands for the same tokens, or a key bears a name of its principals.
        RequestError: its keys cannot be had.
    """
    return Call("PUT", path("/v1/issuers/{}", issuer.name), read(Issuer), body=issuer)


def fetch_all() -> Call[list[Issuer]]:
    """The issuers, by name."""
    return Call("GET", "/v1/issuers", read(list[Issuer]))


def get(name: str) -> Call[Issuer]:
    """One issuer.

    Raises:
        NotFoundError: there is none of this name.
    """
    return Call("GET", path("/v1/issuers/{}", name), read(Issuer))


def remove(name: str) -> Call[None]:
    """Take an issuer's tokens no longer, from the next request on.

    Raises:
        NotFoundError: there is none of this name.
    """
    return Call("DELETE", path("/v1/issuers/{}", name), nothing)
