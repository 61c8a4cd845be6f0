"""Calls about access rules and keys."""

from practicum.client.call import Call, build, nothing, path, query, read
from practicum.contracts.access import (
    GRACE_SECONDS,
    ExplainRequest,
    Explanation,
    IssuedKey,
    KeyInfo,
    KeyRequest,
    KeyRotation,
    Role,
    RuleSet,
    SealReport,
)
from practicum.contracts.base import JsonObject


def get_rules() -> Call[RuleSet]:
    """The access rules in force, in order; the first that matches a call decides it."""
    return Call("GET", "/v1/rules", read(RuleSet))


def set_rules(rules: RuleSet, *, instead_of: str | None = None) -> Call[RuleSet]:
    """Replace the access rules as a whole.

    Args:
        rules: the new set.
        instead_of: `digest` of the set that it shall replace; whatever is in force, when absent.

    Raises:
        ForbiddenError: the key is no administrator's.
        RequestError: a rule makes no sense.
        ConflictError: another set than `instead_of` is in force by now.
    """
    return Call("PUT", "/v1/rules", read(RuleSet), body=rules, query=query(instead_of=instead_of))


def check_rules(rules: RuleSet) -> Call[RuleSet]:
    """See whether a set of rules could be put in force; nothing is changed.

    Raises:
        ForbiddenError: the key is no administrator's.
        RequestError: a rule makes no sense.
    """
    return Call("POST", "/v1/rules/check", read(RuleSet), body=rules)


def explain(
    tool: str, arguments: JsonObject | None = None, *, principal: str | None = None, role: Role = Role.AGENT
) -> Call[Explanation]:
    """What would be decided about a call, by which rule and why; nothing is called.

    Args:
        tool: exposed name or `connector.operation`.
        arguments: what would be sent.
        principal: on whose behalf; the asking one when absent.
        role: in which role.

    Raises:
        NotFoundError: there is no such tool.
    """
    request = build(ExplainRequest, "question", tool=tool, arguments=arguments or {}, principal=principal, role=role)
    return Call("POST", "/v1/rules/explain", read(Explanation), body=request)


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


def rotate_key(key: str, *, grace_seconds: int = GRACE_SECONDS) -> Call[IssuedKey]:
    """Issue a key that takes the place of another: for the same principal, in the same role, for as long.

    Args:
        key: id of the old one.
        grace_seconds: how long the old one goes on; 0 withdraws it at once.

    Raises:
        NotFoundError: there is no key of this id.
        ConflictError: it is withdrawn or has ended, or is not made here: an episode's or a configured one.
    """
    return Call(
        "POST",
        path("/v1/keys/{}/rotate", key),
        read(IssuedKey),
        body=build(KeyRotation, "rotation", grace_seconds=grace_seconds),
        if_lost="A key may have been issued that nobody holds: look with keys.list(), revoke it and rotate again.",
    )


def rotate_secrets() -> Call[SealReport]:
    """Seal every stored credential under a new key of the store; calls go on meanwhile.

    Raises:
        ForbiddenError: the key is no administrator's.
    """
    return Call("POST", "/v1/secrets/rotate", read(SealReport))
