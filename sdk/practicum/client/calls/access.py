"""Calls about access rules and keys."""

from practicum.client.call import Call, build, nothing, path, read
from practicum.contracts.access import IssuedKey, KeyInfo, KeyRequest, Role, RuleSet


def get_rules() -> Call[RuleSet]:
    """The access rules in force, in order; the first that matches a call decides it."""
    return Call("GET", "/v1/rules", read(RuleSet))


def set_rules(rules: RuleSet) -> Call[RuleSet]:
    """Replace the access rules as a whole.

    Raises:
        ForbiddenError: the key is no administrator's.
        RequestError: a rule makes no sense.
    """
    return Call("PUT", "/v1/rules", read(RuleSet), body=rules)


def create_key(principal: str, *, role: Role, expires_in_seconds: int | None = None) -> Call[IssuedKey]:
    """Issue a key; its secret is shown this once.

    Args:
        principal: whom it speaks for.
        role: what it may do in principle.
        expires_in_seconds: when it ends; never, when absent.

    Raises:
        ForbiddenError: the asking key is no administrator's.
    """
    request = build(KeyRequest, "key", principal=principal, role=role, expires_in_seconds=expires_in_seconds)
    return Call(
        "POST",
        "/v1/keys",
        read(IssuedKey),
        body=request,
        if_lost="A key may have been issued that nobody holds: look with keys.list() and revoke it.",
    )


def fetch_keys() -> Call[list[KeyInfo]]:
    """The keys, newest first, without their secrets."""
    return Call("GET", "/v1/keys", read(list[KeyInfo]))


def revoke_key(key: str) -> Call[None]:
    """Withdraw a key by its id.

    Raises:
        NotFoundError: there is none of this id.
    """
    return Call("DELETE", path("/v1/keys/{}", key), nothing)
