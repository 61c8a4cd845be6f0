"""The events of an episode: one sequence, appended to, followed by any number of readers."""

import asyncio
from collections.abc import AsyncGenerator
from typing import cast

from pydantic import JsonValue
from sqlalchemy import Connection, Table, bindparam, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from practicum.contracts.base import utc_now
from practicum.contracts.episodes import EpisodeEvent, EpisodeStatus, EventType
from practicum.errors import NotFoundError
from practicum_gateway.record.bell import Bell
from practicum_gateway.store.engine import Store
from practicum_gateway.store.prepared import Prepared
from practicum_gateway.store.record_tables import EpisodeRow, EventRow

_PAGE = 200
_POLL_SECONDS = 1.0
_EPISODES, _EVENTS = cast("Table", EpisodeRow.__table__), cast("Table", EventRow.__table__)
_DRAW = Prepared(
    update(_EPISODES)
    .where(_EPISODES.c.id == bindparam("of"))
    .values(events=_EPISODES.c.events + 1)
    .returning(_EPISODES.c.events)
)
_INSERT = Prepared(insert(_EVENTS), columns=_EVENTS.c.keys())


async def append_event(
    session: AsyncSession, episode: str, kind: EventType, step: int | None, data: dict[str, JsonValue]
) -> None:
    """Append an event within a transaction; the sequence is drawn from the episode, so replicas cannot clash.

    Raises:
        NotFoundError: there is no such episode.
    """

    def appended(within: Session) -> None:
        within.flush()
        append_event_on(within.connection(), episode, kind, step, data)

    await session.run_sync(appended)


def append_event_on(
    connection: Connection, episode: str, kind: EventType, step: int | None, data: dict[str, JsonValue]
) -> None:
    """`append_event` for work on a connection.

    Raises:
        NotFoundError: there is no such episode.
    """
    drawn = _DRAW(connection, {"of": episode})
    if not drawn:
        raise NotFoundError(f"There is no episode '{episode}'.")
    (sequence,) = drawn[0]
    event = {"episode": episode, "sequence": sequence, "at": utc_now(), "type": kind, "step": step, "data": data}
    _INSERT(connection, event)


class Events:
    """Appends, reads and follows the events of episodes."""

    def __init__(self, store: Store, bell: Bell) -> None:
        """Keep events in a store, and have a bell rung for who follows them."""
        self._store = store
        self._bell = bell

    async def append(self, episode: str, kind: EventType, step: int | None, data: dict[str, JsonValue]) -> None:
        """Append an event and wake those who follow.

        Raises:
            NotFoundError: there is no such episode.
        """
        async with self._store.write() as session:
            await append_event(session, episode, kind, step, data)
        self.announce(episode)

    async def append_once(
        self, episode: str, kind: EventType, step: int | None, data: dict[str, JsonValue], *, by: str
    ) -> None:
        """Append an event unless one of its kind with the same `data[by]` is there, and wake those who follow.

        Raises:
            NotFoundError: there is no such episode.
        """
        of_kind = select(EventRow.data).where(EventRow.episode == episode, EventRow.type == kind)
        async with self._store.write() as session:
            await session.get(EpisodeRow, episode, with_for_update=True)  # nobody appends meanwhile
            # Compared here: PostgreSQL does not look into a document of which any text holds a NUL.
            if any(known[by] == data[by] for known in await session.scalars(of_kind)):
                return
            await append_event(session, episode, kind, step, data)
        self.announce(episode)

    def announce(self, episode: str) -> None:
        """Wake those who follow, after a transaction that appended events was committed."""
        self._bell.ring(episode)

    async def read(self, episode: str, *, after: int = 0, limit: int = _PAGE) -> tuple[EpisodeEvent, ...]:
        """Events in order.

        Args:
            episode: whose events.
            after: sequence of the last event already known; 0 for none.
            limit: the most events returned.
        """
        async with self._store.read() as session:
            rows = await session.scalars(
                select(EventRow)
                .where(EventRow.episode == episode, EventRow.sequence > after)
                .order_by(EventRow.sequence)
                .limit(limit)
            )
            return tuple(_event(row) for row in rows)

    async def of_kind(self, episode: str, kind: EventType) -> tuple[EpisodeEvent, ...]:
        """All events of one kind, in order."""
        wanted = select(EventRow).where(EventRow.episode == episode, EventRow.type == kind)
        async with self._store.read() as session:
            return tuple(_event(row) for row in await session.scalars(wanted.order_by(EventRow.sequence)))

    async def waited(self, episode: str) -> float:
        """Seconds for which an episode has waited for people, up to now."""
        asked, since, total = 0, None, 0.0
        async with self._store.read() as session:
            rows = await session.execute(
                select(EventRow.type, EventRow.at)
                .where(EventRow.episode == episode, EventRow.type.in_(("approval.requested", "approval.decided")))
                .order_by(EventRow.sequence)
            )
            moments = [(kind == "approval.requested", at) for kind, at in rows]
        for begins, at in moments:
            asked = asked + 1 if begins else max(asked - 1, 0)
            if since is None and asked:
                since = at
            elif since is not None and not asked:
                total, since = total + (at - since).total_seconds(), None
        return total if since is None else total + (utc_now() - since).total_seconds()

    async def follow(
        self, episode: str, *, after: int, closing: asyncio.Event, heartbeat_seconds: float
    ) -> AsyncGenerator[EpisodeEvent | None]:
        """Events as they happen, until the episode has ended or the gateway closes; None is a sign of life.

        Args:
            episode: whose events.
            after: sequence of the last event already known.
            closing: set when the gateway shuts down.
            heartbeat_seconds: how long nothing may be said.
        """
        silent, checked = 0.0, False
        with self._bell.listen(episode) as rung:
            while not closing.is_set():
                rung.clear()
                events = await self.read(episode, after=after)
                for event in events:
                    yield event
                    after, silent = event.sequence, 0.0
                if any(event.type == "episode.ended" for event in events):
                    return
                if events:
                    continue
                # A reader who already knows the last event of an ended episode has nothing to wait for.
                if not checked and await self._ends_at(episode, after):
                    return
                checked = True
                try:
                    async with asyncio.timeout(_POLL_SECONDS):  # wait_for may lose a cancel that comes as it rings
                        await rung.wait()
                except TimeoutError:
                    silent += _POLL_SECONDS
                if silent >= heartbeat_seconds:
                    yield None
                    silent = 0.0

    async def _ends_at(self, episode: str, after: int) -> bool:
        async with self._store.read() as session:
            row = await session.get(EpisodeRow, episode)
        return row is None or (EpisodeStatus(row.status).ended and row.events <= after)


def _event(row: EventRow) -> EpisodeEvent:
    return EpisodeEvent.model_validate(
        {
            "sequence": row.sequence,
            "episode": row.episode,
            "at": row.at,
            "type": row.type,
            "step": row.step,
            "data": row.data,
        }
    )
