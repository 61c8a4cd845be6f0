"""Sessions of older MCP clients, and the idempotency keys that are derived in them. Pure.

A session holds nothing: it tells the requests of one client from those of another, which count from 1 as well. So it
outlives the gateway, and whoever names the session of somebody else gains nothing but an answer that it is not there.
"""

import hashlib
import json
import secrets

from practicum_gateway.access.principals import Principal

_RANDOM_BYTES = 16
_MARK = "."
_OWNER_CHARACTERS = 16
_TOKEN = "jwt:"  # noqa: S105  # how the ids of tokens begin
OLDER = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The revisions of the protocol that have sessions; those after them have none."""
LONGEST = 100
"""The longest id of a session that is looked at."""


def new_session(tenant: str, caller: Principal) -> str:
    """The id of a fresh session, good for this caller alone."""
    random = secrets.token_urlsafe(_RANDOM_BYTES)
    return f"{random}{_MARK}{_owner(random, tenant, caller)}"


def belongs_to(session: str, tenant: str, caller: Principal) -> bool:
    """Whether a session was begun by this caller: with the same key, or with a token for the same principal."""
    random, mark, owner = session.partition(_MARK)
    return bool(mark) and len(session) <= LONGEST and owner == _owner(random, tenant, caller)


def key_of(session: str, request: int | str) -> str:
    """The idempotency key of a request for which the client gave none.

    Within a session no request's id is used twice, so the same id again is the same request, sent again.

    Args:
        session: the session's id.
        request: the id that the client gave its request; 1 and "1" are two.
    """
    return f"mcp_{hashlib.sha256(json.dumps([session, request]).encode()).hexdigest()[:40]}"


def _owner(random: str, tenant: str, caller: Principal) -> str:
    # A person's tokens change every hour; the key that was shown does not.
    shown = "" if caller.key_id.startswith(_TOKEN) else caller.key_id
    whose = json.dumps([random, tenant, caller.name, caller.role, caller.episode, shown])
    return hashlib.sha256(whose.encode()).hexdigest()[:_OWNER_CHARACTERS]
