"""Calls that undo others: each call is undone once, whoever undoes it."""

from typing import Any, cast

from sqlalchemy import Connection, Table, select

from practicum.contracts.tools import CallStatus, Observation
from practicum.errors import ConflictError
from practicum_gateway.store.ledger_tables import InvocationRow

NOTHING_DONE = frozenset({CallStatus.ERROR, CallStatus.UNAVAILABLE, CallStatus.DENIED})
"""Outcomes by which surely nothing was done."""

_TABLE = cast("Table", InvocationRow.__table__)


def require_not_undone(connection: Connection, undone: str | None, by: str) -> None:
    """Go on only if a call was not undone yet, and nobody is about to; within the transaction that claims the undoing.

    Args:
        connection: the transaction's.
        undone: the call by its id; None where nothing is undone.
        by: the call that undoes it by its id, which is claimed already.

    Raises:
        ConflictError: it was, or somebody is.
    """
    if undone is None:
        return
    connection.execute(select(_TABLE.c.id).where(_TABLE.c.id == undone).with_for_update())  # two take turns
    others = (_TABLE.c.compensates == undone, _TABLE.c.id != by)
    tries = connection.execute(select(_TABLE.c.key, _TABLE.c.observation).where(*others))
    present = next((key for key, observation in tries if not nothing_done(observation)), None)
    if present is not None:
        raise ConflictError(
            f"This call was undone already, or may have been, under the key '{present}'.",
            mend="Look at the call's record; what was undone is not undone again.",
        )


def nothing_done(observation: Any) -> bool:
    """Whether a try has ended by which surely nothing was done.

    Args:
        observation: its outcome as it is stored.
    """
    return observation is not None and Observation.model_validate(observation).status in NOTHING_DONE
