"""Couriers: one for each webhook carries what is due to it, so that a dead receiver holds up nobody but itself."""

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Update, delete, func, select, update
from sqlalchemy.exc import SQLAlchemyError

from practicum.contracts.access import ApprovalStatus
from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.webhooks import WebhookAttempt, WebhookEvent
from practicum.errors import PracticumError
from practicum_connectors.sender import Sender
from practicum_gateway.audit.log import Deed, append
from practicum_gateway.audit.who import GATEWAY
from practicum_gateway.metrics.meter import Meter
from practicum_gateway.store.access_tables import ApprovalRow
from practicum_gateway.store.engine import Store
from practicum_gateway.store.webhook_tables import WebhookAnswerRow, WebhookMessageRow, WebhookRow
from practicum_gateway.webhooks.delivery import MOST_TRIES, SECONDS, Posted, pause_after, post, sender_of
from practicum_gateway.webhooks.receivers import Receiver

logger = logging.getLogger("practicum_gateway")

_AT_A_TIME = 8
_IDLE_SECONDS = 600.0
_LOOK_SECONDS = 5.0
"""How long it may take until a message is found that another gateway wrote, where its word of it was lost."""
_TROUBLE_SECONDS = 10.0
_KEPT = timedelta(days=1)
"""How long the ids of answers are kept: far longer than an answer's own time lets it come again."""


@dataclass(frozen=True, slots=True)
class _Due:
    """A message, and the question as it stands in the store."""

    row: WebhookMessageRow
    status: str | None

    def moot(self) -> bool:
        """Whether what it tells is no longer so."""
        return self.row.kind in _OF_OPEN and self.status != ApprovalStatus.PENDING


_OF_OPEN = (WebhookEvent.REQUESTED, WebhookEvent.EXPIRED)


@dataclass(slots=True)
class _Courier:
    receiver: Receiver
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    delivered: set[str] = field(default_factory=set[str])
    """What arrived and is still in the store, which could not be written to."""
    task: asyncio.Task[None] | None = None


class Couriers:
    """Carries the messages of a store, each until it is delivered or given up: at least once, under the same id.

    Of the gateways on a database one carries, until it is gone.
    """

    def __init__(
        self,
        store: Store,
        *,
        pause: Callable[[int], float] = pause_after,
        seconds: float = SECONDS,
        trouble: float = _TROUBLE_SECONDS,
        meter: Meter | None = None,
        leads: asyncio.Event | None = None,
    ) -> None:
        """Carry nothing yet.

        Args:
            store: where the messages are.
            pause: seconds until the next attempt, by how many there were.
            seconds: how long a receiver may take to answer.
            trouble: seconds until a courier begins again that could not go on.
            meter: counts what is delivered.
            leads: set from when on this gateway carries; at once when absent.
        """
        self._leads = leads
        self._idle = _IDLE_SECONDS if store.is_embedded else _LOOK_SECONDS
        self._meter = meter or Meter()
        self._store = store
        self._pause = pause
        self._seconds = seconds
        self._trouble = trouble
        self._couriers: dict[str, _Courier] = {}

    def start(self, receiver: Receiver) -> None:
        """Carry to a receiver from now on."""
        courier = self._couriers[receiver.name] = _Courier(receiver)
        # In a context of its own: what it does later is not done by who registered the webhook.
        courier.task = asyncio.create_task(self._carry(courier), context=contextvars.Context())

    async def stop(self, name: str) -> None:
        """Carry to it no longer; what is under way is given up."""
        courier = self._couriers.pop(name, None)
        if courier is not None and courier.task is not None:
            courier.task.cancel()
            await asyncio.wait((courier.task,))

    async def close(self) -> None:
        """Stop them all; what was not delivered is carried again by the next who opens the store."""
        for name in tuple(self._couriers):
            await self.stop(name)

    def wake(self) -> None:
        """Something was written."""
        for courier in self._couriers.values():
            courier.bell.set()

    async def _carry(self, courier: _Courier) -> None:
        """Make rounds, and begin again with new connections after whatever was not foreseen."""
        if self._leads is not None:
            await self._leads.wait()
        while True:
            try:
                await self._rounds(courier)
            except Exception as error:  # noqa: BLE001  # the boundary: its own words are left out, they may quote a secret
                name, kind = courier.receiver.name, type(error).__name__
                logger.error("messages of webhook '%s' wait %g s: unexpected %s", name, self._trouble, kind)  # noqa: TRY400
            await asyncio.sleep(self._trouble)

    async def _rounds(self, courier: _Courier) -> None:
        async with contextlib.aclosing(sender_of(courier.receiver)) as sender:
            while True:
                courier.bell.clear()
                try:
                    seconds = await self._round(courier, sender)
                except (SQLAlchemyError, PracticumError, OSError) as error:
                    logger.warning("messages of webhook '%s' wait: %s", courier.receiver.name, type(error).__name__)
                    seconds = self._trouble
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):  # wait_for may lose that it is told to stop as the bell rings
                        await courier.bell.wait()

    async def _round(self, courier: _Courier, sender: Sender) -> float:
        """Carry what is due; says how many seconds nothing will be."""
        receiver = courier.receiver
        while due := await self._due(receiver.name, utc_now()):
            ended = await asyncio.gather(
                *(self._deliver(courier, sender, each) for each in due), return_exceptions=True
            )
            for error in ended:  # once none of them is under way any more
                if error is not None:
                    raise error
        await self._forget_answers(receiver.name)
        async with self._store.read() as session:
            first = await session.scalar(
                select(func.min(WebhookMessageRow.due)).where(WebhookMessageRow.webhook == receiver.name)
            )
        return self._idle if first is None else min(max((first - utc_now()).total_seconds(), 0.01), self._idle)

    async def _due(self, name: str, now: datetime) -> Sequence[_Due]:
        """Messages whose time has come, with how their questions stand."""
        query = (
            select(WebhookMessageRow, ApprovalRow.status)
            .outerjoin(ApprovalRow, ApprovalRow.id == WebhookMessageRow.approval)
            .where(WebhookMessageRow.webhook == name, WebhookMessageRow.due <= now)
            .order_by(WebhookMessageRow.due, WebhookMessageRow.id)
            .limit(_AT_A_TIME)
        )
        async with self._store.read() as session:
            return [_Due(row, status) for row, status in await session.execute(query)]

    async def _deliver(self, courier: _Courier, sender: Sender, due: _Due) -> None:
        receiver, row = courier.receiver, due.row
        if due.moot() or row.id in courier.delivered:
            await self._drop(row.id)
            courier.delivered.discard(row.id)
            return
        if utc_now() >= row.ends:
            await self._give_up(receiver, row, None)
            return
        posted = await post(sender, receiver, row.id, row.body.encode(), self._seconds)
        self._meter.deliveries.add("delivered" if posted.attempt.ok else "failed")
        if posted.attempt.ok:
            courier.delivered.add(row.id)
            await self._drop(row.id, posted.attempt, receiver)
            courier.delivered.discard(row.id)
            return
        tries, said = row.tries + 1, posted.attempt.said
        logger.warning("webhook '%s': %s not delivered, attempt %d: %s", receiver.name, row.id, tries, said)
        await self._postpone(receiver, row, posted)

    async def _postpone(self, receiver: Receiver, row: WebhookMessageRow, posted: Posted) -> None:
        tries = row.tries + 1
        due = utc_now() + timedelta(seconds=max(self._pause(tries), posted.retry_after))
        if posted.gone or tries >= MOST_TRIES or due >= row.ends:
            await self._give_up(receiver, row, posted.attempt)
            return
        async with self._store.write() as session:
            mine = WebhookMessageRow.id == row.id
            await session.execute(update(WebhookMessageRow).where(mine).values(tries=tries, due=due))
            await session.execute(_noted(receiver, posted.attempt))

    async def _give_up(self, receiver: Receiver, row: WebhookMessageRow, attempt: WebhookAttempt | None) -> None:
        tries = row.tries + (attempt is not None)
        details: JsonObject = {
            "message": row.id,
            "type": row.kind,
            "approval": row.approval,
            "attempts": tries,
            "said": None if attempt is None else attempt.said,
        }
        mine = delete(WebhookMessageRow).where(WebhookMessageRow.id == row.id).returning(WebhookMessageRow.id)
        async with self._store.write() as session:
            if await session.scalar(mine) is None:  # its question was closed meanwhile
                return
            if attempt is not None:
                await session.execute(_noted(receiver, attempt))
            await append(session, Deed(Action.WEBHOOK_GAVE_UP, receiver.name, "lost", details=details, who=GATEWAY))
        self._meter.deliveries.add("given_up")
        logger.warning("webhook '%s': %s is given up after %d attempts", receiver.name, row.id, tries)

    async def _drop(
        self, message: str, attempt: WebhookAttempt | None = None, receiver: Receiver | None = None
    ) -> None:
        async with self._store.write() as session:
            await session.execute(delete(WebhookMessageRow).where(WebhookMessageRow.id == message))
            if attempt is not None and receiver is not None:
                await session.execute(_noted(receiver, attempt))

    async def _forget_answers(self, name: str) -> None:
        old = (WebhookAnswerRow.webhook == name, WebhookAnswerRow.at < utc_now() - _KEPT)
        async with self._store.read() as session:
            found = await session.scalar(select(WebhookAnswerRow.message).where(*old).limit(1))
        if found is not None:
            async with self._store.write() as session:
                await session.execute(delete(WebhookAnswerRow).where(*old))


def _noted(receiver: Receiver, attempt: WebhookAttempt) -> Update:
    failures = 0 if attempt.ok else WebhookRow.failures + 1
    values = {"last_at": attempt.at, "last_said": attempt.said, "failures": failures}
    return update(WebhookRow).where(WebhookRow.name == receiver.name).values(**values)
