"""The ledger: one side effect per key.

    claimed --> sent --> done
                  |
                  +----> in_doubt

A call is claimed before anything about it leaves the house, and one that does more than read is marked as sent before
its first byte does. What is found claimed was surely never sent, or only reads, and is simply taken over. What is found
sent without an outcome, by nobody who still works on it, may have taken effect: it is sent again only if that is
harmless, and is otherwise in doubt for good.

A row names the gateway that works on it. That one lives as long as it holds its lock of the database (`replicas`), and
within it the pipeline lets one task work on a key. So whoever finds a row unsettled waits while its owner lives, and
else knows that it is gone. Should the owner work on, cut off from its lock, it finds its row taken before it sends.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, cast

from sqlalchemy import Connection, Row, Select, Table, bindparam, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.tools import CallStatus, Observation
from practicum.contracts.trajectory import Invocation
from practicum.errors import ConflictError, GatewayUnavailableError
from practicum_gateway.access.approvals import Approvals
from practicum_gateway.access.budgets import Spending
from practicum_gateway.access.spending import give_back, spend
from practicum_gateway.audit.log import Deed, append, append_on
from practicum_gateway.invocation.entries import Entry, Resend, State, entry_of, may_have_been_made, values_of
from practicum_gateway.invocation.intent import Intent
from practicum_gateway.invocation.undone import NOTHING_DONE, require_not_undone
from practicum_gateway.store.engine import Store, new_id
from practicum_gateway.store.ledger_tables import InvocationRow
from practicum_gateway.store.prepared import Prepared
from practicum_gateway.store.replicas import lives

_TABLE = cast("Table", InvocationRow.__table__)
LOST_WITH_THE_GATEWAY = (
    "The call was sent and the gateway stopped before the answer was recorded. It may have taken effect. "
    "It is not repeated: look at the present state before deciding what to do."
)
_FIRST_LOOK_SECONDS, _LONGEST_LOOK_SECONDS = 0.02, 0.5
"""How long is waited before it is looked again what became of a call that another gateway works on."""

Also = Callable[[Connection], None]
"""What else is written in a transaction of the ledger."""


def nothing(_connection: Connection) -> None:
    """Nothing else."""


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


class TakenUpError(ConflictError):
    """A key was taken up by another gateway at the same moment, or is a drawn one that was used by hand."""

    def __init__(self) -> None:
        """Say what to do about it."""
        super().__init__("Its key was taken up by another call.", mend="Repeat it, with the same key if you gave one.")


class Ledger:
    """Remembers every call before it is sent, and its outcome after."""

    def __init__(self, store: Store, *, boot: str | None = None, patience: float = 1_230.0) -> None:
        """Keep the ledger in a store.

        Args:
            store: where.
            boot: identifies this start of the process.
            patience: seconds for which another gateway may work on a call; longer than it may take.
        """
        self._store = store
        self._boot = boot or new_id("boot")
        self._patience = patience

    async def recall(self, intent: Intent) -> Entry | None:
        """What is known of a key, once no other gateway works on it and what a vanished owner left is settled.

        Raises:
            ConflictError: the key is in use with another tool or other arguments.
            GatewayUnavailableError: another gateway has worked on it for too long.
        """
        pause, ends = _FIRST_LOOK_SECONDS, time.monotonic() + self._patience
        while rows := await self._store.ask(_FIND, _key_of(intent)):
            row = rows[0]
            _require_same(row, intent)
            if not await self._is_elsewhere(row):
                return await self._left(row.id) if may_have_been_made(row, utc_now()) else entry_of(row)
            if time.monotonic() > ends:
                raise GatewayUnavailableError(
                    "Another gateway works on this call and does not come to an end.",
                    mend="Make the same call again, under the same key.",
                )
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_LOOK_SECONDS)
        return None

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
            ConflictError: the key is in use with other content, or the approval cannot be used.
            TakenUpError: another gateway has taken the call up.
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
            TakenUpError: another gateway has taken the call up.
        """
        marking = {"entry": entry.id, "of_boot": self._boot, "at": utc_now()}
        if not await self._store.change(lambda connection: _MARK(connection, marking)):
            raise TakenUpError

    async def settle(
        self, entry: Entry, observation: Observation, seconds: float, *, also: Also = nothing
    ) -> Observation:
        """Record the outcome; gives the one that stands, which another gateway may have recorded meanwhile.

        Args:
            entry: the call.
            observation: what the model is told.
            seconds: wall seconds it took.
            also: what else is written in the same transaction, where this outcome stands.
        """
        settling = {
            "entry": entry.id,
            "as_state": State.IN_DOUBT if observation.status is CallStatus.IN_DOUBT else State.DONE,
            "seen": observation.model_dump(mode="json"),
            "at": utc_now(),
            "taken": seconds,
        }
        details: JsonObject = {"invocation": entry.id, "seconds": round(seconds, 6)}

        def settled(connection: Connection) -> Observation:
            if not _SETTLE(connection, settling):
                standing = connection.scalar(select(_TABLE.c.observation).where(_TABLE.c.id == entry.id))
                return Observation.model_validate(standing)
            if observation.status in NOTHING_DONE:
                give_back(connection, entry.id)
            also(connection)
            deed = Deed(Action.TOOL_FINISHED, entry.tool, observation.status, entry.episode, details)
            append_on(connection, deed)
            return observation

        return await self._store.change(settled)

    async def recover(self) -> tuple[Entry, ...]:
        """Settle what gateways that are gone sent and did not live to record; returns what is now in doubt."""
        sent = (_TABLE.c.state == State.SENT, _TABLE.c.boot != self._boot)
        owners = await self._store.look(lambda at: at.scalars(select(_TABLE.c.boot).where(*sent).distinct()).all())
        if not owners:
            return ()
        async with self._store.write() as session:
            gone = await session.run_sync(lambda within: [one for one in owners if not lives(within.connection(), one)])
            left = select(InvocationRow).where(InvocationRow.state == State.SENT, InvocationRow.boot.in_(gone))
            rows = await session.scalars(left.order_by(InvocationRow.id).with_for_update())
            lost = [row for row in rows if may_have_been_made(row, utc_now())]
            if lost:
                await append(session, *map(_doubt, lost))
            return tuple(entry_of(row) for row in lost)

    async def of_episode(self, episode: str) -> tuple[Invocation, ...]:
        """The settled calls of an episode, in the order of their steps."""
        async with self._store.read() as session:
            rows = await session.scalars(
                select(InvocationRow)
                .where(InvocationRow.episode == episode, InvocationRow.observation.is_not(None))
                .order_by(InvocationRow.step, InvocationRow.call, InvocationRow.id)
            )
            return tuple(Invocation.model_validate(values_of(row)) for row in rows)

    async def _is_elsewhere(self, row: Row[Any]) -> bool:
        """Whether another gateway works on it now."""
        if row.observation is not None or row.boot == self._boot or self._store.is_embedded:
            return False
        return await self._store.look(lambda connection: lives(connection, row.boot))

    async def _left(self, entry: str) -> Entry:
        """A call that may have been made, of which nobody knows: in doubt, unless that was settled meanwhile."""
        async with self._store.write() as session:
            row = await session.get_one(InvocationRow, entry, with_for_update=True)
            if may_have_been_made(row, utc_now()):
                await append(session, _doubt(row))
            return entry_of(row)

    def _taken(self, connection: Connection, intent: Intent, arguments: JsonObject, resend: Resend) -> Entry:
        """The row of a call that this process works on from now on."""
        rows = _FIND_AND_LOCK(connection, _key_of(intent))
        if rows:
            row = rows[0]
            _require_same(row, intent)
            if row.observation is not None or may_have_been_made(row, utc_now()):
                raise TakenUpError
            if row.boot != self._boot and lives(connection, row.boot):
                raise TakenUpError
            # One that was sent stays so: whoever finds it after this process, too, has to ask whether its key is known.
            state = State.CLAIMED if row.sent is None else State.SENT
            mine = {"boot": self._boot, "state": state, "started": utc_now(), "resend": resend}
            connection.execute(update(_TABLE).where(_TABLE.c.id == row.id).values(mine))
            return replace(entry_of(row), state=state)
        new = self._row(intent, arguments, resend)
        try:
            _INSERT(connection, new)
        except IntegrityError:  # at the same moment
            raise TakenUpError from None
        require_not_undone(connection, intent.compensates, new["id"])
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
