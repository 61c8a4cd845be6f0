"""What every step writes, for all episodes that do so at the same moment in one transaction.

An entry is placed with its episode's row in hand, which nobody else changes meanwhile: whoever appends to an episode
holds its row, in this process and in others. Of one episode a transaction takes one entry, so no entry needs to know of
another. An entry whose episode somebody else holds just then is written by itself, as are all of a transaction in which
one could not be written: nobody waits for, or fails with, another.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar, cast

from pydantic import JsonValue
from sqlalchemy import Connection, Integer, Table, bindparam, insert, select, update
from sqlalchemy.exc import DBAPIError

from practicum.contracts.base import utc_now
from practicum.contracts.episodes import EventType
from practicum.errors import NotFoundError, PracticumError
from practicum_gateway.store.engine import Store
from practicum_gateway.store.prepared import Ask, Prepared, Written
from practicum_gateway.store.record_tables import EpisodeRow, EventRow, MessageRow, ModelCallRow

_R = TypeVar("_R")
_R_co = TypeVar("_R_co", covariant=True)
_EPISODES, _EVENTS = cast("Table", EpisodeRow.__table__), cast("Table", EventRow.__table__)
_LINES, _CALLS = cast("Table", MessageRow.__table__), cast("Table", ModelCallRow.__table__)
_COUNTED = ("chats", "placed", "events")
_ROW = select(_EPISODES.c.status, *(_EPISODES.c[name] for name in _COUNTED)).where(_EPISODES.c.id == bindparam("of"))
_HELD = Prepared(_ROW.with_for_update())
_FREE = Prepared(_ROW.with_for_update(skip_locked=True))
_COUNT = Prepared(
    update(_EPISODES)
    .where(_EPISODES.c.id == bindparam("of"))
    .values({_EPISODES.c[name]: bindparam(f"to_{name}", type_=Integer) for name in _COUNTED})
)
_CALL = Prepared(insert(_CALLS), columns=_CALLS.c.keys())
_LINE = Prepared(insert(_LINES), columns=_LINES.c.keys())
_EVENT = Prepared(insert(_EVENTS), columns=_EVENTS.c.keys())

_OF_ONE = (DBAPIError, ValueError, ArithmeticError, RecursionError)
"""What a value of one entry can lead to: half a character, a number that no column holds, a document too deep."""
_LANES = 2
"""How many transactions are under way at a time where a server works beside this process: one sends, one waits."""


@dataclass(slots=True)
class Owner:
    """The row of an episode, held.

    Attributes:
        episode: its id.
        status: where it stands.
        chats: how many chat calls were made with its keys.
        placed: how many tool calls since the latest of them.
        events: sequence of its latest event.
    """

    episode: str
    status: str
    chats: int
    placed: int
    events: int


@dataclass(slots=True)
class Page:
    """What a transaction writes.

    Attributes:
        calls: rows of model calls.
        lines: rows of transcripts.
        events: rows of events.
        counted: episodes whose numbers changed.
    """

    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    lines: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    counted: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def event(self, owner: Owner, kind: EventType, step: int | None, data: dict[str, JsonValue] | Written) -> None:
        """Append an event to an episode."""
        owner.events += 1
        self.events.append(
            {
                "episode": owner.episode,
                "sequence": owner.events,
                "at": utc_now(),
                "type": kind,
                "step": step,
                "data": data,
            }
        )


class Entry(Protocol[_R_co]):
    """Something to write into an episode.

    Attributes:
        lasting: whether it must outlast a power cut.
    """

    lasting: ClassVar[bool]

    @property
    def episode(self) -> str:
        """The episode."""
        ...

    def asks(self) -> Sequence[Ask]:
        """What has to be known before it can be written."""
        ...

    def write(self, connection: Connection, owner: Owner, found: Sequence[list[Any]], page: Page) -> _R_co:
        """Place it on a page.

        Args:
            connection: for what nobody could know to ask before.
            owner: its episode; changed numbers are written.
            found: the rows of what it asked.
            page: what it is placed on.

        Raises:
            PracticumError: it is refused; nothing was placed on the page.
        """
        ...


class _Left(Enum):
    """What is told of an entry that has to be written by itself."""

    ALONE = "alone"


class _SpoiledError(Exception):
    """A statement failed; nothing of the transaction is kept."""


class Journal:
    """Writes entries."""

    def __init__(self, store: Store) -> None:
        """Write into a store."""
        self._store = store
        self._lanes = [
            store.together(self._written, apart=lambda entry: entry.episode)
            for _ in range(1 if store.is_embedded else _LANES)
        ]

    async def write(self, entry: Entry[_R]) -> _R:
        """Write an entry; it is on the disk then, if it is a lasting one.

        Raises:
            NotFoundError: there is no such episode.
            PracticumError: it is refused.
        """
        given = await self._lanes[hash(entry.episode) % len(self._lanes)](entry)
        if not isinstance(given, _Left):
            return cast("_R", given)
        (given,) = await self._store.change(partial(_written, [entry]), lasting=entry.lasting)
        if isinstance(given, PracticumError):
            raise given
        return given

    async def _written(self, entries: Sequence[Entry[Any]]) -> Sequence[Any]:
        lasting = any(entry.lasting for entry in entries)
        try:
            return await self._store.change(partial(_written_free, entries), lasting=lasting)
        except _SpoiledError:
            return [_Left.ALONE] * len(entries)


def _written_free(entries: Sequence[Entry[Any]], connection: Connection) -> list[Any]:
    """Write those whose episodes nobody else holds."""
    try:
        return _written(entries, connection, free=True)
    except _OF_ONE as error:
        if len(entries) == 1:
            raise
        raise _SpoiledError from error


def _written(entries: Sequence[Entry[Any]], connection: Connection, *, free: bool = False) -> list[Any]:
    found = (_FREE if free else _HELD).many(connection, [{"of": entry.episode} for entry in entries])
    owners = [Owner(entry.episode, *rows[0]) if rows else None for entry, rows in zip(entries, found, strict=True)]
    known = _known(entries, owners, connection)
    page, given = Page(), list[Any]()
    for entry, owner, rows in zip(entries, owners, known, strict=True):
        if owner is None:
            given.append(_Left.ALONE if free else NotFoundError(f"There is no episode '{entry.episode}'."))
            continue
        before = (owner.chats, owner.placed, owner.events)
        try:
            given.append(entry.write(connection, owner, rows, page))
        except PracticumError as error:
            given.append(error)
            continue
        if before != (owner.chats, owner.placed, owner.events):
            page.counted.append(
                {"of": owner.episode, "to_chats": owner.chats, "to_placed": owner.placed, "to_events": owner.events}
            )
    for prepared, each in ((_CALL, page.calls), (_LINE, page.lines), (_EVENT, page.events), (_COUNT, page.counted)):
        if each:
            prepared.many(connection, each)
    return given


def _known(
    entries: Sequence[Entry[Any]], owners: Sequence[Owner | None], connection: Connection
) -> Sequence[list[list[Any]]]:
    """What each entry asked to know, each statement sent once for all of them."""
    asked: dict[Prepared, list[tuple[int, int, Mapping[str, Any]]]] = defaultdict(list)
    known: list[list[list[Any]]] = []
    for place, (entry, owner) in enumerate(zip(entries, owners, strict=True)):
        asks = () if owner is None else entry.asks()
        known.append([[] for _ in asks])
        for at, (prepared, values) in enumerate(asks):
            asked[prepared].append((place, at, values))
    for prepared, wanted in asked.items():
        for (place, at, _), rows in zip(wanted, prepared.many(connection, [each for *_, each in wanted]), strict=True):
            known[place][at] = rows
    return known
