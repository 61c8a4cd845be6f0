"""Transcripts: the accepted conversation of an episode's own turns."""

from typing import cast

from sqlalchemy import Connection, Table, bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from practicum.contracts.base import utc_now
from practicum.contracts.messages import Message
from practicum.contracts.tools import CallStatus, Observation
from practicum_gateway.record.values import Line, Transcript, as_json, line_of
from practicum_gateway.store.engine import Store
from practicum_gateway.store.record_tables import MessageRow

_LINES = cast("Table", MessageRow.__table__)
_OF = _LINES.c.episode == bindparam("of")
_ALL = select(_LINES).where(_OF).order_by(_LINES.c.position)
_OF_STEP = _ALL.where(_LINES.c.step == bindparam("at"))
_STATUS = select(_LINES.c.status).where(_OF, _LINES.c.position == bindparam("at"))
_INSERT = insert(_LINES)
_OWN = (CallStatus.OK, CallStatus.ERROR, CallStatus.DENIED)
"""How a call can end without a system: a search among the tools is answered here, the others are refused."""


class TranscriptRecords:
    """Reads transcripts and writes down how calls ended; turns are written with their model call."""

    def __init__(self, store: Store) -> None:
        """Keep transcripts in a store."""
        self._store = store

    async def load(self, episode: str) -> Transcript:
        """The transcript as far as it was written; empty for an episode that has none."""
        rows = await self._store.look(lambda at: at.execute(_ALL, {"of": episode}).all())
        return Transcript(tuple(line_of(row) for row in rows))

    async def step(self, episode: str, step: int) -> tuple[Line, ...]:
        """The lines of one step: the turn, then the calls that are settled."""
        rows = await self._store.look(lambda at: at.execute(_OF_STEP, {"of": episode, "at": step}).all())
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
        """
        position = turn.position + 1 + call
        message = Message(role="tool", content=text, tool_call_id=turn.message.tool_calls[call].id)
        place = {"of": episode, "at": position}
        row = {
            "episode": episode,
            "position": position,
            "message": as_json(message),
            "step": turn.step,
            "call": call,
            "status": observation.status,
            "observation": as_json(observation) if _never_sent(observation) else None,
            "created": utc_now(),
        }

        def settled(at: Connection) -> str | None:
            known = at.execute(_STATUS, place).one_or_none()
            if known is None:
                at.execute(_INSERT, row)
            return observation.status if known is None else known.status

        try:
            stands = await self._store.change(settled)
        except IntegrityError:
            # Another replica settled it at the same moment.
            stands = await self._store.look(lambda at: at.execute(_STATUS, place).scalar_one())
        return CallStatus(stands or observation.status)


def _never_sent(observation: Observation) -> bool:
    """Whether the gateway itself answered, so that the ledger may know nothing of the call."""
    return observation.http_status is None and observation.status in _OWN
