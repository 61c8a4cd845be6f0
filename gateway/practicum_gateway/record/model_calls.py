"""Model calls: every attempt as it was sampled, which of them the episode went on with, and what each continues.

The calls of an episode's own turns continue one another. The calls of a foreign agent come with whole conversations;
`lineage` tells which call each continues. What is written of a call is written in one transaction, by the journal.
"""

from collections.abc import Sequence

from pydantic import TypeAdapter
from sqlalchemy import bindparam, select

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message
from practicum.contracts.models import Attempt, ModelCall, Usage
from practicum_gateway.record.call_rows import Answered, calls_of, usage_of
from practicum_gateway.record.entries import CallOver, ChatBegun, TurnAnswered, TurnBegun
from practicum_gateway.record.events import Events
from practicum_gateway.record.journal import Journal
from practicum_gateway.record.lineage import CALLS, Before, Spoken
from practicum_gateway.record.tokens import TokenMemory
from practicum_gateway.record.toolsets import Toolsets
from practicum_gateway.store.engine import Store
from practicum_gateway.store.prepared import Prepared
from practicum_gateway.store.record_tables import ModelCallRow

_DEFINITIONS: TypeAdapter[tuple[JsonObject, ...]] = TypeAdapter(tuple[JsonObject, ...])
_OF_EPISODE = select(CALLS.c.prompt_tokens, CALLS.c.completion_tokens, CALLS.c.finish_reason).where(
    CALLS.c.episode == bindparam("of"), CALLS.c.standing == Attempt.ACCEPTED
)
_ACCEPTED, _OF_STEP = Prepared(_OF_EPISODE), Prepared(_OF_EPISODE.where(CALLS.c.step == bindparam("at")))


class ModelCallRecords:
    """Writes attempts down and gives them out whole again."""

    def __init__(self, store: Store, journal: Journal, toolsets: Toolsets, events: Events) -> None:
        """Keep calls in a store, through its journal, the definitions they were offered among the toolsets."""
        self._store = store
        self._journal = journal
        self._toolsets = toolsets
        self._events = events
        self._memory = TokenMemory()

    async def begin_turn(self, episode: str, step: int, attempt: int) -> tuple[int, Before]:
        """Say that an own turn is begun.

        Args:
            episode: the episode.
            step: its step.
            attempt: which try of the step it is, as far as the caller knows.

        Returns:
            Which try it is, and the call that it continues: the accepted one of the step before.

        Raises:
            NotFoundError: there is no such episode.
        """
        begun = await self._journal.write(TurnBegun(episode, step, attempt, self._memory))
        self._events.announce(episode)
        return begun

    async def begin_chat(self, episode: str, messages: Sequence[Message]) -> tuple[int, Before]:
        """Say that a chat call is begun.

        Args:
            episode: the episode.
            messages: the conversation.

        Returns:
            Its running number, from 0, and the calls whose conversation is the longest first part of this one.

        Raises:
            NotFoundError: there is no such episode.
        """
        begun = await self._journal.write(ChatBegun(episode, Spoken.of(messages), self._memory))
        self._events.announce(episode)
        return begun

    async def add_turn(self, episode: str, call: ModelCall, before: Before, position: int) -> Attempt:
        """Write an answered attempt of an own turn down and, if the episode can still go on with it, accept it.

        Args:
            episode: the episode.
            call: the attempt; its standing is decided here.
            before: the call it continues.
            position: where its message goes in the transcript.

        Returns:
            `accepted`, or `superseded` when the step was accepted or the episode ended meanwhile.

        Raises:
            NotFoundError: there is no such episode.
            EpisodeError: it is driven by chat calls.
        """
        answered = await self._answered(call)
        standing = await self._journal.write(TurnAnswered(episode, answered, before, position))
        self._memory.keep(call.id, answered.tokens)
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

        Raises:
            NotFoundError: there is no such episode.
        """
        answered = await self._answered(call)
        standing = await self._journal.write(CallOver(episode, answered, before, self._memory))
        self._memory.keep(call.id, answered.tokens)
        self._events.announce(episode)
        return standing

    async def add_failure(self, episode: str, call: ModelCall, before: Before) -> None:
        """Write a failed attempt of an own turn down.

        Raises:
            NotFoundError: there is no such episode.
        """
        await self._journal.write(CallOver(episode, await self._answered(call), before))
        self._events.announce(episode)

    async def accepted(self, episode: str, step: int) -> tuple[Usage, str | None] | None:
        """Tokens and finish reason of the accepted attempt of a step, if there is one."""
        rows = await self._store.ask(_OF_STEP, {"of": episode, "at": step})
        return (usage_of(rows[0]), rows[0].finish_reason) if rows else None

    async def usage(self, episode: str) -> Usage:
        """Tokens of the accepted calls together."""
        rows = await self._store.ask(_ACCEPTED, {"of": episode})
        return sum((usage_of(row) for row in rows), Usage())

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

    async def _answered(self, call: ModelCall) -> Answered:
        return Answered.of(call, await self._toolsets.keep(call.tools))
