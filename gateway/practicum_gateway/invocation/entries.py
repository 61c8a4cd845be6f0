"""What stands in the ledger: where a call stands, and whether one that nobody works on may have been made."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Row

from practicum.contracts.tools import Observation
from practicum_gateway.store.ledger_tables import InvocationRow

UPSTREAM_MEMORY = timedelta(hours=1)
"""How long a system that recognises idempotency keys is trusted to remember one; the least that vendors promise is a
day, and a key that was forgotten would do everything twice."""


class State(StrEnum):
    """Where a call stands."""

    CLAIMED = "claimed"
    """Somebody works on it; nothing was sent."""
    SENT = "sent"
    """It is on its way, or its answer is not recorded yet."""
    DONE = "done"
    """Its outcome is recorded."""
    IN_DOUBT = "in_doubt"
    """It was sent and what became of it is not known."""


class Resend(StrEnum):
    """Whether a call whose answer was lost may be sent again under the same key."""

    ALWAYS = "always"
    """It only reads."""
    SOON = "soon"
    """The system recognises the key, as long as it remembers it."""
    NEVER = "never"
    """A second time might do it twice."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row as it stands.

    Attributes:
        id: identifies the row.
        episode: the episode it belongs to.
        step: its step.
        call: the index of the call in the step.
        tool: exposed name of the tool.
        approval: the approval that was spent on it.
        upstream_key: the idempotency key the system sees.
        state: where it stands.
        observation: its outcome, once it has one.
    """

    id: str
    episode: str | None
    step: int | None
    call: int | None
    tool: str
    approval: str | None
    upstream_key: str
    state: State
    observation: Observation | None


def may_have_been_made(row: InvocationRow | Row[Any], now: datetime) -> bool:
    """Whether a row that nobody works on must be taken for done perhaps."""
    if row.state != State.SENT or row.resend == Resend.ALWAYS:
        return False
    remembered = row.sent is not None and now - row.sent < UPSTREAM_MEMORY
    return not (row.resend == Resend.SOON and remembered)


def entry_of(row: InvocationRow | Row[Any]) -> Entry:
    """The row as it stands."""
    return Entry(
        id=row.id,
        episode=row.episode,
        step=row.step,
        call=row.call,
        tool=row.tool,
        approval=row.approval,
        upstream_key=row.upstream_key,
        state=State(row.state),
        observation=None if row.observation is None else Observation.model_validate(row.observation),
    )


def values_of(row: InvocationRow) -> dict[str, Any]:
    """The fields of the `Invocation` of a settled row."""
    return {
        "key": row.key,
        "step": row.step or 0,
        "call": row.call or 0,
        "tool": row.tool,
        "arguments": row.arguments,
        "observation": row.observation,
        "started": row.started,
        "seconds": row.seconds or 0.0,
        "id": row.id,
        "compensates": row.compensates,
    }
