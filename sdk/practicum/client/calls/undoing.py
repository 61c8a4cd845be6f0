"""Calls about calls that were made."""

from practicum.client.call import Call, build, query, read
from practicum.contracts.tools import Observation
from practicum.contracts.trajectory import CallRecord, UndoRequest


def record(key: str, *, episode: str | None = None) -> Call[CallRecord]:
    """What is recorded of a call, and how it can be undone, where its system's document says so.

    Args:
        key: the call's idempotency key.
        episode: the episode it belongs to, if it does.

    Raises:
        NotFoundError: no call of this key has ended.
    """
    return Call("GET", "/v1/calls", read(CallRecord), query=query(key=key, episode=episode))


def undo(key: str, *, episode: str | None = None, idempotency_key: str | None = None) -> Call[Observation]:
    """Make the call that undoes another, once, through the rules like any other call.

    Args:
        key: idempotency key of the call to undo.
        episode: the episode it belongs to, if it does.
        idempotency_key: of the undoing; the gateway's own when absent. Another one asks anew where nobody answered.

    Raises:
        NotFoundError: no call of this key has ended.
        ConflictError: nothing says how it is undone, or it was undone already.
    """
    request = build(UndoRequest, "undoing", key=key, episode=episode, idempotency_key=idempotency_key)
    return Call(
        "POST",
        "/v1/calls/undo",
        read(Observation),
        body=request,
        if_lost="Undo it again: that returns the outcome and does nothing twice.",
    )
