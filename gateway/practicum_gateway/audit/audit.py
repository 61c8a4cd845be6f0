"""The audit log as a service: read, checked, exported, erased from, kept for as long as it has to be."""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from practicum.audit import Chain, may_be_erased
from practicum.contracts.audit import Action, AuditCheck, AuditEntry, AuditHead, AuditQuery, EraseRequest, Erasure
from practicum.contracts.base import utc_now
from practicum.errors import RequestError
from practicum_gateway.audit.erasure import Mention, proof_of, ranges_of, told
from practicum_gateway.audit.log import TABLE, Deed, append, entry_of, head_of
from practicum_gateway.audit.refusals import Refusals, Refused
from practicum_gateway.audit.who import GATEWAY
from practicum_gateway.store.audit_tables import AuditRow
from practicum_gateway.store.engine import Store
from practicum_gateway.telemetry import current_trace_id

logger = logging.getLogger("practicum_gateway")

_PAGE = 500
_PAUSE_SECONDS = 10.0
"""How long refusals are gathered before the next of them are written."""
_TRIM_SECONDS = 3600.0
_RECEIPT_BYTES = 16


class Audit:
    """One log in one store.

    Attributes:
        checked: what the last check found since the gateway began, and when (seconds since 1970).

    Deeds that are rows are appended by who writes these rows, with `log.append`, in the same transaction; what leaves
    no row of its own is noted here.
    """

    def __init__(self, store: Store, *, days: int | None = None) -> None:
        """Keep the log in a store.

        Args:
            store: where.
            days: how long entries are kept; for ever when absent.
        """
        self._store = store
        self._days = days
        self._refusals = Refusals()
        self._refused = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.checked: tuple[AuditCheck, float] | None = None

    def open(self) -> None:
        """Begin to write down what was turned away, and to let go of what was kept long enough."""
        self._tasks = [asyncio.create_task(self._write_refusals()), asyncio.create_task(self._keep_trimmed())]

    async def close(self) -> None:
        """Write down what is left and stop."""
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            await asyncio.wait((task,))
            if not task.cancelled():
                task.result()
        await self._flush()

    async def note(self, deed: Deed) -> None:
        """Append an entry in a transaction of its own."""
        async with self._store.write() as session:
            await append(session, deed)

    def refused(self, refused: Refused) -> None:
        """Count a request that was turned away; it is written down soon, together with others like it."""
        self._refusals.count(refused, current_trace_id())
        self._refused.set()

    async def head(self) -> AuditHead:
        """The last entry, to be noted outside."""
        await self._flush()
        async with self._store.read() as session:
            return await head_of(session)

    async def list(self, wanted: AuditQuery) -> tuple[AuditEntry, ...]:
        """Entries, newest first."""
        await self._flush()
        query = select(AuditRow).order_by(AuditRow.sequence.desc()).limit(wanted.limit)
        for column, value in (
            (AuditRow.actor, wanted.actor),
            (AuditRow.action, wanted.action),
            (AuditRow.subject, wanted.subject),
            (AuditRow.episode, wanted.episode),
        ):
            query = query if value is None else query.where(column == value)
        for holds, value in (
            (AuditRow.at.__ge__, wanted.since),
            (AuditRow.at.__lt__, wanted.until),
            (AuditRow.sequence.__gt__, wanted.after),
            (AuditRow.sequence.__lt__, wanted.before),
        ):
            query = query if value is None else query.where(holds(value))
        async with self._store.read() as session:
            return tuple(entry_of(row) for row in await session.scalars(query))

    async def verify(self, noted: AuditHead | None = None) -> AuditCheck:
        """Look at every entry.

        Args:
            noted: a last entry as it was noted outside earlier: what is missing behind it is found, too.
        """
        await self._flush()
        chain = Chain(noted)
        # One session: the entries of one moment, whatever is removed from the front meanwhile.
        async with self._store.read() as session:
            async for entry in _entries(session, 0):
                if not chain.take(entry):
                    break
        found = chain.check()
        self.checked = found, time.time()
        return found

    async def export(self, after: int = 0) -> AsyncGenerator[str]:
        """The entries there are now, oldest first, each a line of JSON; the export itself is the last of them.

        Args:
            after: number of the last entry that is known already.
        """
        await self._flush()
        async with self._store.write() as session:
            end = await append(session, Deed(Action.AUDIT_EXPORTED, "audit", details={"after": after}))
        last = after
        while page := await self._page_behind(last):
            for entry in page:
                if entry.sequence > end.sequence:
                    return
                yield entry.model_dump_json() + "\n"
            last = page[-1].sequence

    async def erase(self, request: EraseRequest) -> Erasure:
        """Erase the details of every entry whose details name somebody, or whose subject is their name.

        Who did what to what, when and with which outcome stays: that is what the log is for. The entries that say
        what was erased are the proof of it, and are never erased.

        Raises:
            RequestError: the reason, which stays, names them.
        """
        mention = Mention(request.subject)
        if mention.in_text(request.reason):
            raise RequestError(
                "The reason names the subject, and it stays in the log.", mend="Give a reason that names nobody."
            )
        await self._flush()
        receipt = secrets.token_hex(_RECEIPT_BYTES)
        # Most is looked through before the writers' turn, which then finds what came meanwhile.
        async with self._store.read() as session:
            end = (await head_of(session)).sequence
            sequences = await _touched(session, mention, 0, end)
        async with self._store.write() as session:
            sequences += await _touched(session, mention, end, None)
            ranges = ranges_of(sequences)
            for first, last in ranges:
                within = TABLE.c.sequence.between(first, last)
                await session.execute(update(TABLE).where(within).values(details=None, salt=None))
            deeds = tuple(told(ranges, request.reason, proof_of(receipt, request.subject)))
            head = await append(session, *deeds)
        return Erasure(
            entries=len(sequences),
            touched=tuple(ranges),
            told=tuple(range(head.sequence - len(deeds) + 1, head.sequence + 1)),
            receipt=receipt,
            head=head,
        )

    async def trim(self, now: datetime | None = None) -> int:
        """Let go of what was kept long enough; an entry names the last that went, so that the rest can be checked.

        Returns:
            How many entries went.
        """
        if self._days is None:
            return 0
        kept_since = (now or utc_now()) - timedelta(days=self._days)
        async with self._store.write(in_turn=True) as session:
            first = await session.scalar(select(TABLE.c.sequence).order_by(TABLE.c.sequence).limit(1))
            young = select(TABLE.c.sequence).where(TABLE.c.at >= kept_since).order_by(TABLE.c.sequence).limit(1)
            kept = await session.scalar(young)
            through = (await head_of(session)).sequence if kept is None else kept - 1
            if first is None or through < first:
                return 0
            gone = await session.scalar(select(TABLE.c.hash).where(TABLE.c.sequence == through))
            count = through - first + 1
            details = {"through": through, "hash": gone, "entries": count, "days": self._days}
            await append(session, Deed(Action.AUDIT_PRUNED, "audit", details=details, who=GATEWAY))
            await session.execute(delete(TABLE).where(TABLE.c.sequence <= through))
        return count

    async def _page_behind(self, last: int) -> Sequence[AuditEntry]:
        # A session for each page: whoever reads slowly must not hold one open.
        async with self._store.read() as session:
            return await _page(session, last)

    async def _flush(self) -> None:
        deeds = tuple(self._refusals.take())
        if deeds:
            async with self._store.write() as session:
                await append(session, *deeds)

    async def _write_refusals(self) -> None:
        while True:
            await self._refused.wait()
            self._refused.clear()
            try:
                await self._flush()
            except SQLAlchemyError as error:
                logger.warning("refused requests could not be written to the audit log: %s", type(error).__name__)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _keep_trimmed(self) -> None:
        while self._days is not None:
            try:
                await self.trim()
            except SQLAlchemyError as error:
                logger.warning("the audit log could not be trimmed: %s", type(error).__name__)
            await asyncio.sleep(_TRIM_SECONDS)


async def _entries(session: AsyncSession, after: int) -> AsyncGenerator[AuditEntry]:
    """All entries behind one, oldest first."""
    while page := await _page(session, after):
        for entry in page:
            yield entry
        after = page[-1].sequence


async def _page(session: AsyncSession, after: int) -> list[AuditEntry]:
    query = select(AuditRow).where(AuditRow.sequence > after).order_by(AuditRow.sequence).limit(_PAGE)
    rows = await session.scalars(query)
    entries = [entry_of(row) for row in rows]
    session.expunge_all()
    return entries


async def _touched(session: AsyncSession, mention: Mention, after: int, end: int | None) -> list[int]:
    """The numbers of the entries behind one that an erasure touches, up to another one."""
    found: list[int] = []
    async for entry in _entries(session, after):
        if end is not None and entry.sequence > end:
            break
        if _touches(mention, entry):
            found.append(entry.sequence)
    return found


def _touches(mention: Mention, entry: AuditEntry) -> bool:
    """Whether an erasure of a subject takes an entry's details."""
    if entry.details is None or not may_be_erased(entry.action):
        return False
    return mention.in_text(entry.subject) or mention.in_text(entry.actor) or mention.in_value(entry.details)
