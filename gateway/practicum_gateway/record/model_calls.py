"""Model calls: every attempt as it was sampled, which of them the episode went on with, and what each continues.

The calls of an episode's own turns continue one another. The calls of a foreign agent come with whole conversations;
`lineage` tells which call each continues. What is written of a call is written in one transaction.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

from pydantic import TypeAdapter
from sqlalchemy import Connection, Table, bindparam, case, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.episodes import EpisodeStatus
from practicum.contracts.messages import Message
from practicum.contracts.models import Attempt, ModelCall, Usage
from practicum.errors import EpisodeError, NotFoundError
from practicum_gateway.record.call_rows import calls_of, chat_row, event_data, own_row, usage_of
from practicum_gateway.record.events import Events, append_event_on
from practicum_gateway.record.lineage import CALLS, Before, before_chat, before_step, own_place, place
from practicum_gateway.record.tokens import TokenMemory
from practicum_gateway.record.toolsets import Toolsets
from practicum_gateway.store.engine import Store
from practicum_gateway.store.record_tables import EpisodeRow, MessageRow, ModelCallRow

_DEFINITIONS: TypeAdapter[tuple[JsonObject, ...]] = TypeAdapter(tuple[JsonObject, ...])
_EPISODES, _LINES = cast("Table", EpisodeRow.__table__), cast("Table", MessageRow.__table__)
_LOCK = select(_EPISODES.c.status, _EPISODES.c.chats).where(_EPISODES.c.id == bindparam("of")).with_for_update()
_CHAT = (
    update(_EPISODES)
    .where(_EPISODES.c.id == bindparam("of"))
    # Tool calls made before the first chat call share step 0 with it, so they go on being counted there.
    .values(chats=_EPISODES.c.chats + 1, placed=case((_EPISODES.c.chats == 0, _EPISODES.c.placed), else_=0))
    .returning(_EPISODES.c.chats)
)
_TRIES = select(func.count()).where(CALLS.c.episode == bindparam("of"), CALLS.c.step == bindparam("at"))
_ACCEPTED = select(CALLS.c.prompt_tokens, CALLS.c.completion_tokens, CALLS.c.finish_reason).where(
    CALLS.c.episode == bindparam("of"), CALLS.c.standing == Attempt.ACCEPTED
)
_OF_STEP = _ACCEPTED.where(CALLS.c.step == bindparam("at"))
_INSERT_CALL, _INSERT_LINE = insert(CALLS), insert(_LINES)


class ModelCallRecords:
    """Writes attempts down and gives them out whole again."""

    def __init__(self, store: Store, toolsets: Toolsets, events: Events) -> None:
        """Keep calls in a store, the definitions they were offered among the toolsets."""
        self._store = store
        self._toolsets = toolsets
        self._events = events
        self._memory = TokenMemory()

    async def begin_turn(self, episode: str, step: int, attempt: int) -> int:
        """Say that an own turn is begun.

        Args:
            episode: the episode.
            step: its step.
            attempt: which try of the step it is, as far as the caller knows.

        Returns:
            Which try it is.

        Raises:
            NotFoundError: there is no such episode.
        """

        def begun(connection: Connection) -> int:
            made = connection.scalar(_TRIES, {"of": episode, "at": step}) or 0
            number = max(attempt, made + 1)
            append_event_on(connection, episode, "turn.started", step, {"attempt": number})
            return number

        # It need not last by itself: the answer will, and what was written before that lasts with it.
        number = await self._store.change(begun, lasting=False)
        self._events.announce(episode)
        return number

    async def begin_chat(self, episode: str) -> int:
        """Draw the running number of a chat call, from 0, and say that it is begun.

        Raises:
            NotFoundError: there is no such episode.
        """

        def begun(connection: Connection) -> int:
            chats = connection.scalar(_CHAT, {"of": episode})
            if chats is None:
                raise NotFoundError(f"There is no episode '{episode}'.")
            append_event_on(connection, episode, "turn.started", chats - 1, {"attempt": 1})
            return chats - 1

        number = await self._store.change(begun, lasting=False)
        self._events.announce(episode)
        return number

    async def add_turn(self, episode: str, call: ModelCall, before: Before, position: int) -> Attempt:
        """Write an answered attempt of an own turn down and, if the episode can still go on with it, accept it.

        Accepting and appending the assistant's message to the transcript are one transaction.

        Args:
            episode: the episode.
            call: the attempt; its standing is decided here.
            before: the call it continues.
            position: where its message goes in the transcript.

        Returns:
            `accepted`, or `superseded` when the step was accepted or the episode ended meanwhile.
        """
        row = own_row(episode, call, own_place(call, before), await self._toolsets.keep(call.tools))
        try:
            standing = await self._store.change(partial(_accept, row, call, position))
        except IntegrityError:
            # Another replica accepted the same step at the same moment.
            standing = Attempt.SUPERSEDED
            row["standing"] = standing
            await self._store.change(lambda connection: connection.execute(_INSERT_CALL, row))
        self._memory.keep(call.id, call.sampled)
        self._events.announce(episode)
        return standing

    async def add_chat(self, episode: str, call: ModelCall, before: Before) -> Attempt:
        """Write a call of a foreign agent down, answered or failed, at its place in the graph.

        Args:
            episode: the episode.
            call: the call.
            before: what it continues by its messages.

        Returns:
            The standing given to it: an answer that came after the episode's end is `superseded`.
        """
        toolset = await self._toolsets.keep(call.tools)

        def added(connection: Connection) -> Attempt:
            found = place(connection, self._memory, episode, call, before)
            return _add(connection, chat_row(episode, call, found, toolset, asked=before.asked), call)

        standing = await self._store.change(added)
        self._memory.keep(call.id, call.sampled)
        self._events.announce(episode)
        return standing

    async def add_failure(self, episode: str, call: ModelCall, before: Before) -> None:
        """Write a failed attempt of an own turn down."""
        row = own_row(episode, call, own_place(call, before), await self._toolsets.keep(call.tools))
        await self._store.change(lambda connection: _add(connection, row, call))
        self._events.announce(episode)

    async def accepted(self, episode: str, step: int) -> tuple[Usage, str | None] | None:
        """Tokens and finish reason of the accepted attempt of a step, if there is one."""
        at = {"of": episode, "at": step}
        row = await self._store.look(lambda connection: connection.execute(_OF_STEP, at).one_or_none())
        return None if row is None else (usage_of(row), row.finish_reason)

    async def usage(self, episode: str) -> Usage:
        """Tokens of the accepted calls together."""
        rows = await self._store.look(lambda connection: connection.execute(_ACCEPTED, {"of": episode}).all())
        return sum((usage_of(row) for row in rows), Usage())

    async def before_step(self, episode: str, step: int) -> Before:
        """The call that the turn of a step continues: the accepted one of the step before."""
        return await self._store.look(lambda connection: before_step(connection, self._memory, episode, step))

    async def before_chat(self, episode: str, messages: Sequence[Message]) -> Before:
        """The calls whose conversation is the longest first part of a foreign agent's."""
        return await self._store.look(lambda connection: before_chat(connection, self._memory, episode, messages))

    async def of_episode(self, episode: str, transcript: Sequence[Message]) -> tuple[ModelCall, ...]:
        """Every attempt of an episode, in the order in which they were begun.

        Args:
            episode: the episode.
            transcript: the messages of its own turns, which own calls refer to.
        """
        async with self._store.read() as session:
            rows = list(
                await session.scalars(
                    select(ModelCallRow)
                    .where(ModelCallRow.episode == episode)
                    .order_by(ModelCallRow.started, ModelCallRow.id)
                )
            )
        tools = {
            digest: _DEFINITIONS.validate_python(await self._toolsets.get(digest))
            for digest in {row.toolset for row in rows}
        }
        return calls_of(rows, transcript, tools)


def _accept(row: dict[str, Any], call: ModelCall, position: int, connection: Connection) -> Attempt:
    episode = row["episode"]
    owner = connection.execute(_LOCK, {"of": episode}).one_or_none()
    taken = connection.execute(_OF_STEP, {"of": episode, "at": call.step}).first()
    if owner is None or EpisodeStatus(owner.status).ended or taken is not None:
        connection.execute(_INSERT_CALL, row | {"standing": Attempt.SUPERSEDED})
        return Attempt.SUPERSEDED
    if owner.chats:
        raise EpisodeError("The episode is driven by an agent's own chat calls; it has no turns.")
    connection.execute(_INSERT_CALL, row | {"standing": Attempt.ACCEPTED})
    line = {"episode": episode, "position": position, "message": row["response"], "step": call.step}
    connection.execute(_INSERT_LINE, line | {"created": utc_now()})
    append_event_on(connection, episode, "turn.finished", call.step, event_data(call))
    return Attempt.ACCEPTED


def _add(connection: Connection, row: dict[str, Any], call: ModelCall) -> Attempt:
    episode = row["episode"]
    owner = connection.execute(_LOCK, {"of": episode}).one_or_none()
    if owner is None or EpisodeStatus(owner.status).ended:
        # Nothing follows the event of an episode's end, and nothing that came after it was accepted.
        late = Attempt.SUPERSEDED if call.standing is Attempt.ACCEPTED else call.standing
        connection.execute(_INSERT_CALL, row | {"standing": late})
        return late
    connection.execute(_INSERT_CALL, row)
    kind = "turn.failed" if call.response is None else "turn.finished"
    append_event_on(connection, episode, kind, call.step, event_data(call))
    return call.standing
