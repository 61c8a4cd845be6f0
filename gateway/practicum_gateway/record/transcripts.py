"""Transcripts: the accepted conversation of an episode's own turns."""

from collections import OrderedDict
from typing import cast

from sqlalchemy import Table, Text, bindparam, select
from sqlalchemy import cast as cast_to

from practicum.contracts.messages import Message
from practicum.contracts.tools import CallStatus, Observation
from practicum_gateway.record.entries import CallSettled
from practicum_gateway.record.journal import Journal
from practicum_gateway.record.values import Line, Transcript, as_text, line_of
from practicum_gateway.store.engine import Store
from practicum_gateway.store.prepared import Prepared
from practicum_gateway.store.record_tables import MessageRow

_LINES = cast("Table", MessageRow.__table__)
_DOCUMENTS = ("message", "observation")
_ALL = select(
    *(column for column in _LINES.c if column.key not in ("episode", *_DOCUMENTS)),
    *(cast_to(_LINES.c[name], Text).label(name) for name in _DOCUMENTS),  # as text, so that only what is new is read
).where(_LINES.c.episode == bindparam("of"))
_FROM = Prepared(_ALL.where(_LINES.c.position >= bindparam("at")).order_by(_LINES.c.position))
_OF_STEP = Prepared(_ALL.where(_LINES.c.step == bindparam("at")).order_by(_LINES.c.position))
_OWN = (CallStatus.OK, CallStatus.ERROR, CallStatus.DENIED)
"""How a call can end without a system: a search among the tools is answered here, the others are refused."""


class TranscriptRecords:
    """Reads transcripts and writes down how calls ended; turns are written with their model call."""

    def __init__(self, store: Store, journal: Journal) -> None:
        """Keep transcripts in a store, through its journal."""
        self._store = store
        self._journal = journal
        self._memory = LineMemory()

    async def load(self, episode: str) -> Transcript:
        """The transcript as far as it was written; empty for an episode that has none."""
        known = self._memory.get(episode)
        # The last line that is known is read with those that follow it, so that what is known proves to be there still.
        rows = await self._store.ask(_FROM, {"of": episode, "at": max(len(known) - 1, 0)})
        if known and not (rows and (rows[0].position, rows[0].created) == (known[-1].position, known[-1].created)):
            known, rows = (), await self._store.ask(_FROM, {"of": episode, "at": 0})
        lines = (*known, *(line_of(row) for row in rows[1 if known else 0 :]))
        self._memory.keep(episode, lines)
        return Transcript(lines)

    async def step(self, episode: str, step: int) -> tuple[Line, ...]:
        """The lines of one step: the turn, then the calls that are settled."""
        rows = await self._store.ask(_OF_STEP, {"of": episode, "at": step})
        return tuple(line_of(row) for row in rows)

    async def settle(self, episode: str, turn: Line, call: int, observation: Observation, text: str) -> CallStatus:
        """Write down how a call of a turn ended, at the place kept for it; the first outcome stands.

        Args:
            episode: the episode.
            turn: the turn that asked for the call.
            call: index of the call within the turn.
            observation: how it ended.
            text: what the model is told.

        Returns:
            The status that stands.

        Raises:
            NotFoundError: there is no such episode.
        """
        message = Message(role="tool", content=text, tool_call_id=turn.message.tool_calls[call].id)
        return await self._journal.write(
            CallSettled(
                episode=episode,
                position=turn.position + 1 + call,
                message=as_text(message),
                step=turn.step,
                call=call,
                status=observation.status,
                observation=as_text(observation) if _never_sent(observation) else None,
            )
        )


class LineMemory:
    """The beginnings of the transcripts met last, which never change: long ones are not read anew at every turn."""

    def __init__(self, most: int = 16_000_000) -> None:
        """Remember nothing yet.

        Args:
            most: characters that are remembered, of all transcripts together.
        """
        self._most = most
        self._held = 0
        self._known: OrderedDict[str, tuple[tuple[Line, ...], int]] = OrderedDict()

    def get(self, episode: str) -> tuple[Line, ...]:
        """The first lines of an episode's transcript, without a hole."""
        return self._known.get(episode, ((), 0))[0]

    def keep(self, episode: str, lines: tuple[Line, ...]) -> None:
        """Remember the lines before the first hole."""
        known, size = self._known.pop(episode, ((), 0))
        self._held -= size
        whole = next((place for place, line in enumerate(lines) if line.position != place), len(lines))
        shared = len(known) if whole >= len(known) and known == lines[: len(known)] else 0
        size = (size if shared else 0) + sum(map(_size, lines[shared:whole]))
        self._known[episode] = (lines[:whole], size)
        self._held += size
        while self._held > self._most:
            _, (_, forgotten) = self._known.popitem(last=False)
            self._held -= forgotten


def _size(line: Line) -> int:
    message = line.message
    wished = sum(len(str(wish.arguments)) + len(wish.malformed or "") for wish in message.tool_calls)
    return 500 + len(message.content or "") + wished


def _never_sent(observation: Observation) -> bool:
    """Whether the gateway itself answered, so that the ledger may know nothing of the call."""
    return observation.http_status is None and observation.status in _OWN
