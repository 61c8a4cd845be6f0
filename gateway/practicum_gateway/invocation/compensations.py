"""Undoing a call: the offer that the system's document makes, checked against the tools there are now.

An offer is never taken up by itself. Who takes it up makes an ordinary call: rules decide about it, a person may be
asked, and the ledger makes sure of once.
"""

from dataclasses import dataclass

from sqlalchemy import select

from practicum.contracts.tools import CallStatus, Compensation
from practicum.contracts.trajectory import CallRecord
from practicum.errors import CallError, ConflictError, NotFoundError
from practicum_gateway.access.principals import Principal
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.invocation.entries import values_of
from practicum_gateway.invocation.intent import Intent, hash_of_arguments, scope_of
from practicum_gateway.invocation.undone import nothing_done
from practicum_gateway.store.engine import Store
from practicum_gateway.store.ledger_tables import InvocationRow

_UNDOABLE = frozenset({CallStatus.OK, CallStatus.IN_DOUBT})
_NOTHING_TO_UNDO = "It changed nothing that could be undone."
_NOT_SAID = "The system's document does not say how it is undone, or a value that this takes is missing."
_GONE = "The tool that undid it is no longer there, or takes other arguments by now."
_ANOTHER = "The connector of the tool that undid it was registered after the call: it may reach another system by now."
_UNDONE = "It was undone already, or may have been: look at the system."
_TAKEN_UP = "The call that undoes it was made already by itself, or may have been: look at the system."


@dataclass(frozen=True, slots=True)
class _Found:
    row: InvocationRow
    tries: tuple[InvocationRow, ...]


class Compensations:
    """Finds how calls are undone."""

    def __init__(self, store: Store, catalogue: Catalogue) -> None:
        """Read from the ledger of a store, and check offers against a catalogue."""
        self._store = store
        self._catalogue = catalogue

    async def of(self, scope: str, key: str) -> CallRecord:
        """A call as it is recorded, and how it can be undone.

        Args:
            scope: whose key it is.
            key: its idempotency key.

        Raises:
            NotFoundError: there is none that ended.
        """
        return await self._record(await self._find(scope, key))

    async def intent(self, scope: str, key: str, principal: Principal, own_key: str | None = None) -> Intent:
        """The call that undoes one. Its key is the same until a try has ended by which surely nothing was done.

        Args:
            scope: whose key it is.
            key: idempotency key of the call to undo.
            principal: who undoes it.
            own_key: idempotency key of the undoing.

        Raises:
            NotFoundError: there is no such call.
            ConflictError: it cannot be undone.
        """
        found = await self._find(scope, key)
        record = await self._record(found, again=True)
        if record.undo is None:
            raise ConflictError(
                f"There is no call that undoes this one of {record.tool}. {record.note}",
                mend="Look at the system and undo it by hand, or state how in an overlay (`x-practicum-compensation`).",
            )
        number = 1 + sum(nothing_done(one.observation) for one in found.tries)
        own_key = own_key or f"undo/{found.row.id}/{number}"
        mine = (scope_of(principal, None), own_key)
        if any((one.scope, one.key) != mine for one in found.tries if not nothing_done(one.observation)):
            raise ConflictError(f"This call of {record.tool} cannot be undone. {_UNDONE}")
        return Intent(
            principal=principal,
            tool=record.undo.tool,
            arguments=record.undo.arguments,
            key=own_key,
            compensates=found.row.id,
            raise_call_errors=True,
        )

    async def _find(self, scope: str, key: str) -> _Found:
        async with self._store.read() as session:
            mine = select(InvocationRow).where(InvocationRow.scope == scope, InvocationRow.key == key)
            row = await session.scalar(mine.where(InvocationRow.observation.is_not(None)))
            if row is None:
                raise NotFoundError(
                    "No call of this key has ended.",
                    mend="Give the idempotency key with which it was made, and its episode if it was in one.",
                )
            tries = select(InvocationRow).where(InvocationRow.compensates == row.id)
            return _Found(row, tuple(await session.scalars(tries.order_by(InvocationRow.started, InvocationRow.id))))

    async def _record(self, found: _Found, *, again: bool = False) -> CallRecord:
        """The record; with `again`, the offer also of a call that was undone, whose undoing is then repeated."""
        row, tries = found.row, found.tries
        record = CallRecord.model_validate(values_of(row) | {"principal": row.principal, "episode": row.episode})
        latest = None if not tries or tries[-1].observation is None else tries[-1].observation["status"]
        undo, note = await self._checked(record)
        if not again and any(not nothing_done(one.observation) for one in tries):
            undo, note = None, _UNDONE
        elif undo is not None and await self._is_taken_up(row, undo):
            undo, note = None, _TAKEN_UP
        undone = None if latest is None else CallStatus(str(latest))
        return record.model_copy(update={"undo": undo, "note": note, "undone": undone})

    async def _is_taken_up(self, row: InvocationRow, offer: Compensation) -> bool:
        """Whether whoever made the call has made the offered one since, as an ordinary call."""
        made = select(InvocationRow.observation).where(
            InvocationRow.scope == row.scope,
            InvocationRow.tool == offer.tool,
            InvocationRow.arguments_hash == hash_of_arguments(offer.arguments),
            InvocationRow.compensates.is_(None),
            InvocationRow.started > row.started,
        )
        async with self._store.read() as session:
            return any(not nothing_done(observation) for observation in await session.scalars(made))

    async def _checked(self, record: CallRecord) -> tuple[Compensation | None, str | None]:
        """The call that undoes one, or why there is none."""
        if record.observation.status not in _UNDOABLE:
            return None, _NOTHING_TO_UNDO
        offered = record.observation.compensation
        try:
            if offered is None and record.observation.status is CallStatus.IN_DOUBT:
                # Perhaps the gateway stopped before it could say so; that takes nothing from the answer.
                made = await self._catalogue.tool(record.tool)
                async with self._catalogue.reach(made.connector) as connector:
                    offered = connector.undoing(record.tool, record.arguments)
            if offered is None:
                return None, _NOT_SAID
            tool = await self._catalogue.tool(offered.tool)
            if (await self._catalogue.connector(tool.connector)).created > record.started:
                return None, _ANOTHER
            async with self._catalogue.reach(tool.connector) as connector:
                connector.prepare(tool.name, offered.arguments)
        except (NotFoundError, CallError):
            return None, _GONE
        return offered, None
