"""The ledger: one side effect per key.

    claimed --> sent --> done
                  |
                  +----> in_doubt

A call is claimed before anything about it leaves the house, and one that does more than read is marked as sent before
its first byte does. What is found claimed was surely never sent, or only reads, and is simply taken over. What is found
sent without an outcome, by nobody who still works on it, may have taken effect: it is sent again only if that is
harmless, and is otherwise in doubt for good.

One process works on one ledger at a time (the gateway holds its store, `Store.alone`); within it the pipeline lets
one task work on a key. So whoever finds a row unsettled here knows that its owner is gone.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, cast

from sqlalchemy import Connection, Row, Select, Table, bindparam, func, insert, select, update

from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.tools import CallStatus, Observation
from practicum.contracts.trajectory import Invocation
from practicum.errors import ConflictError
from practicum_gateway.access.approvals import Approvals
from practicum_gateway.access.budgets import Spending
from practicum_gateway.access.spending import give_back, spend
from practicum_gateway.audit.log import Deed, append, append_on
from practicum_gateway.invocation.intent import Intent
from practicum_gateway.invocation.undone import NOTHING_DONE, require_not_undone
from practicum_gateway.store.engine import Store, new_id
from practicum_gateway.store.ledger_tables import InvocationRow
from practicum_gateway.store.prepared import Prepared

_TABLE = cast("Table", InvocationRow.__table__)
UPSTREAM_MEMORY = timedelta(hours=1)
"""How long a system that recognises idempotency keys is trusted to remember one; the least that vendors promise is a
day, and a key that was forgotten would do everything twice."""
LOST_WITH_THE_GATEWAY = (
    "The call was sent and the gateway stopped before the answer was recorded. It may have taken effect. "
    "It is not repeated: look at the present state before deciding what to do."
)


Also = Callable[[Connection], None]
"""What else is written in a transaction of the ledger."""


def nothing(_connection: Connection) -> None:
    """Nothing else."""


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


_OF_KEY: Select[Any] = select(_TABLE).where(_TABLE.c.scope == bindparam("of"), _TABLE.c.key == bindparam("named"))
_FIND, _FIND_AND_LOCK = Prepared(_OF_KEY), Prepared(_OF_KEY.with_for_update())
_INSERT = Prepared(insert(_TABLE), columns=_TABLE.c.keys())
# The first time it was sent counts: from then on the system may forget its key.
_MARK = Prepared(
    update(_TABLE)
    .where(_TABLE.c.id == bindparam("entry"), _TABLE.c.boot == bindparam("of_boot"))
    .values(state=State.SENT, sent=func.coalesce(_TABLE.c.sent, bindparam("at", type_=_TABLE.c.sent.type)))
    .returning(_TABLE.c.id)
)
_SETTLE = Prepared(
    update(_TABLE)
    .where(_TABLE.c.id == bindparam("entry"), _TABLE.c.observation.is_(None))
    .values(
        state=bindparam("as_state"),
        observation=bindparam("seen"),
        finished=bindparam("at"),
        seconds=bindparam("taken"),
    )
    .returning(_TABLE.c.id)
)


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


class Ledger:
    """Remembers every call before it is sent, and its outcome after."""

    def __init__(self, store: Store, *, boot: str | None = None) -> None:
        """Keep the ledger in a store.

        Args:
            store: where.
            boot: identifies this start of the process.
        """
        self._store = store
        self._boot = boot or new_id("boot")

    async def recall(self, intent: Intent) -> Entry | None:
        """What is known of a key, after settling what a vanished owner left behind.

        Raises:
            ConflictError: the key is in use with another tool or other arguments.
        """
        rows = await self._store.ask(_FIND, _key_of(intent))
        if not rows:
            return None
        row = rows[0]
        _require_same(row, intent)
        if not _is_lost(row, utc_now()):
            return _entry(row)
        async with self._store.write() as session:
            row = await session.get_one(InvocationRow, row.id, with_for_update=True)
            if _is_lost(row, utc_now()):
                await append(session, _doubt(row))
            return _entry(row)

    async def claim(
        self,
        intent: Intent,
        arguments: JsonObject,
        resend: Resend,
        *,
        approvals: Approvals,
        approval: str | None,
        spends: tuple[Spending, ...] = (),
        also: Also = nothing,
    ) -> Entry:
        """Take up a call that was not settled yet, and spend its approval and its budgets, in one transaction.

        A power cut may take it back for as long as the call is not marked as sent; a call that only reads need not be.

        Args:
            intent: the call.
            arguments: its arguments as they may be recorded.
            resend: whether it could be sent again if its answer were lost.
            approvals: where the approval is spent.
            approval: the approval to spend, where one was needed and none was spent on this key before.
            spends: what it takes of budgets.
            also: what else is written in the same transaction.

        Raises:
            ConflictError: the key is in use with other content, the approval cannot be used, or another gateway has
                taken the call up.
            BudgetError: a budget has no room for it.
        """

        def claimed(connection: Connection) -> Entry:
            entry = self._taken(connection, intent, arguments, resend)
            if approval is not None:
                approvals.use(connection, approval)
                connection.execute(update(_TABLE).where(_TABLE.c.id == entry.id).values(approval=approval))
                entry = replace(entry, approval=approval)
            spend(connection, spends, entry.id)
            also(connection)
            append_on(connection, _called(entry, intent, arguments))
            return entry

        return await self._store.change(claimed, lasting=False)

    async def mark_sent(self, entry: Entry) -> None:
        """Say that the call leaves now. Nothing of one that does more than read may leave before this returns.

        Raises:
            ConflictError: another gateway has taken the call up.
        """
        marking = {"entry": entry.id, "of_boot": self._boot, "at": utc_now()}
        if not await self._store.change(lambda connection: _MARK(connection, marking)):
            raise _taken_up()

    async def settle(self, entry: Entry, observation: Observation, seconds: float, *, also: Also = nothing) -> None:
        """Record the outcome; one that another gateway recorded meanwhile stands.

        Args:
            entry: the call.
            observation: what the model is told.
            seconds: wall seconds it took.
            also: what else is written in the same transaction.
        """
        settling = {
            "entry": entry.id,
            "as_state": State.IN_DOUBT if observation.status is CallStatus.IN_DOUBT else State.DONE,
            "seen": observation.model_dump(mode="json"),
            "at": utc_now(),
            "taken": seconds,
        }
        details: JsonObject = {"invocation": entry.id, "seconds": round(seconds, 6)}

        def settled(connection: Connection) -> None:
            first = bool(_SETTLE(connection, settling))
            if first and observation.status in NOTHING_DONE:
                give_back(connection, entry.id)
            also(connection)
            if first:
                deed = Deed(Action.TOOL_FINISHED, entry.tool, observation.status, entry.episode, details)
                append_on(connection, deed)

        await self._store.change(settled)

    async def recover(self) -> tuple[Entry, ...]:
        """Settle what an earlier process sent and did not live to record; returns what is now in doubt."""
        async with self._store.write() as session:
            rows = await session.scalars(
                select(InvocationRow).where(InvocationRow.state == State.SENT, InvocationRow.boot != self._boot)
            )
            lost = [row for row in rows if _is_lost(row, utc_now())]
            await append(session, *map(_doubt, lost))
            return tuple(_entry(row) for row in lost)

    async def of_episode(self, episode: str) -> tuple[Invocation, ...]:
        """The settled calls of an episode, in the order of their steps."""
        async with self._store.read() as session:
            rows = await session.scalars(
                select(InvocationRow)
                .where(InvocationRow.episode == episode, InvocationRow.observation.is_not(None))
                .order_by(InvocationRow.step, InvocationRow.call, InvocationRow.id)
            )
            return tuple(Invocation.model_validate(values_of(row)) for row in rows)

    def _taken(self, connection: Connection, intent: Intent, arguments: JsonObject, resend: Resend) -> Entry:
        """The row of a call that this process works on from now on."""
        rows = _FIND_AND_LOCK(connection, _key_of(intent))
        if rows:
            row = rows[0]
            _require_same(row, intent)
            if row.observation is not None or _is_lost(row, utc_now()):
                raise _taken_up()
            mine = {"boot": self._boot, "state": State.CLAIMED, "started": utc_now(), "resend": resend}
            connection.execute(update(_TABLE).where(_TABLE.c.id == row.id).values(mine))
            return replace(_entry(row), state=State.CLAIMED)
        require_not_undone(connection, intent.compensates)
        new = self._row(intent, arguments, resend)
        _INSERT(connection, new)
        return Entry(**{field.name: new[field.name] for field in fields(Entry)})

    def _row(self, intent: Intent, arguments: JsonObject, resend: Resend) -> dict[str, Any]:
        return {
            "id": new_id("inv"),
            "scope": intent.scope,
            "key": intent.key,
            "episode": intent.episode,
            "step": intent.step,
            "call": intent.call,
            "principal": intent.principal.name,
            "tool": intent.tool,
            "arguments": arguments,
            "arguments_hash": intent.arguments_hash,
            "approval": None,
            "upstream_key": secrets.token_hex(16),
            "state": State.CLAIMED,
            "boot": self._boot,
            "resend": resend,
            "compensates": intent.compensates,
            "observation": None,
            "started": utc_now(),
            "sent": None,
            "finished": None,
            "seconds": None,
        }


def _key_of(intent: Intent) -> dict[str, str]:
    return {"of": intent.scope, "named": intent.key}


def _require_same(row: InvocationRow | Row[Any], intent: Intent) -> None:
    wanted = (intent.tool, intent.arguments_hash, intent.compensates)
    if (row.tool, row.arguments_hash, row.compensates) != wanted:
        raise ConflictError(
            f"The key '{intent.key}' was used for a call of {row.tool} with other content, or to undo another.",
            mend="Use a new key for a new call; repeat a key only with the same tool and arguments.",
        )


def _taken_up() -> ConflictError:
    """Said by a gateway that lost its store and does not know it yet, and of a drawn key that was used by hand."""
    return ConflictError("Its key was taken up by another call.", mend="Repeat it, with the same key if you gave one.")


def _is_lost(row: InvocationRow | Row[Any], now: datetime) -> bool:
    """Whether a row that nobody works on must be taken for done perhaps."""
    if row.state != State.SENT or row.resend == Resend.ALWAYS:
        return False
    remembered = row.sent is not None and now - row.sent < UPSTREAM_MEMORY
    return not (row.resend == Resend.SOON and remembered)


def _called(entry: Entry, intent: Intent, arguments: JsonObject) -> Deed:
    details: JsonObject = {
        "invocation": entry.id,
        "arguments": arguments,
        "arguments_hash": intent.arguments_hash,
        "approval": entry.approval,
        "compensates": intent.compensates,
    }
    return Deed(Action.TOOL_CALLED, entry.tool, "started", entry.episode, details)


def _doubt(row: InvocationRow) -> Deed:
    """Let a call be in doubt for good; the entry that says so."""
    observation = Observation(status=CallStatus.IN_DOUBT, content=LOST_WITH_THE_GATEWAY)
    now = utc_now()
    row.state, row.observation = State.IN_DOUBT, observation.model_dump(mode="json")
    row.finished, row.seconds = now, (now - row.started).total_seconds()
    details: JsonObject = {"invocation": row.id, "principal": row.principal}
    return Deed(Action.TOOL_FINISHED, row.tool, observation.status, row.episode, details)


def _entry(row: InvocationRow | Row[Any]) -> Entry:
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
