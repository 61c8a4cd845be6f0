"""Model calls: every attempt as it was sampled, which of them the episode went on with, and what each continues.

The calls of an episode's own turns continue one another. The calls of a foreign agent come with whole conversations:
each continues the call whose conversation, response included, is its longest leading part. Where two calls fit equally
well none is taken, for a wrong parent is worse than none. A call keeps only what its parent does not hold already.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import Select, func, select
from sqlalchemy.exc import IntegrityError

from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.episodes import EpisodeStatus, EventType
from practicum.contracts.messages import Message
from practicum.contracts.models import Attempt, ModelCall, Sampled, Sampling, Usage
from practicum.errors import EpisodeError
from practicum_gateway.record.canonical import fingerprints
from practicum_gateway.record.events import Events, append_event
from practicum_gateway.record.tokens import PackedTokens, pack, unpack
from practicum_gateway.record.toolsets import Toolsets
from practicum_gateway.record.values import as_json
from practicum_gateway.store.engine import Store
from practicum_gateway.store.record_tables import EpisodeRow, MessageRow, ModelCallRow

_DEFINITIONS: TypeAdapter[tuple[JsonObject, ...]] = TypeAdapter(tuple[JsonObject, ...])
_MESSAGES: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])


@dataclass(frozen=True, slots=True)
class Continued:
    """The call that another one continues.

    Attributes:
        call: its id.
        version: model and adapter version that answered it.
        toolset: digest of the tool definitions it was offered.
        covered: how many messages its conversation has, response included.
        sampled: its tokens, where the server gave them.
    """

    call: str
    version: str
    toolset: str
    covered: int
    sampled: Sampled | None


class ModelCallRecords:
    """Writes attempts down and gives them out whole again."""

    def __init__(self, store: Store, toolsets: Toolsets, events: Events) -> None:
        """Keep calls in a store, the definitions they were offered among the toolsets."""
        self._store = store
        self._toolsets = toolsets
        self._events = events

    async def add_turn(self, episode: str, call: ModelCall, before: Continued | None, position: int) -> Attempt:
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
        toolset = await self._toolsets.keep(call.tools)
        row = _row(episode, call, before, toolset)
        try:
            standing = await self._accept(row, call, position)
        except IntegrityError:
            # Another replica accepted the same step at the same moment.
            standing = Attempt.SUPERSEDED
            row = _row(episode, call, before, toolset)
            row.standing = standing
            async with self._store.write() as session:
                session.add(row)
        self._events.announce(episode)
        return standing

    async def add_chat(self, episode: str, call: ModelCall, before: Continued | None) -> Attempt:
        """Write a call of a foreign agent down, answered or failed.

        Args:
            episode: the episode.
            call: the call.
            before: the call it continues.

        Returns:
            The standing given to it: an answer that came after the episode's end is `superseded`.
        """
        row = _row(episode, call, before, await self._toolsets.keep(call.tools))
        covered = 0 if before is None else before.covered
        row.context = [as_json(message) for message in call.messages[covered:]]
        if call.response is not None:
            *_, row.fingerprint = fingerprints((*call.messages, call.response))
        return await self._add(row, "turn.finished" if call.response is not None else "turn.failed", _event_data(call))

    async def add_failure(self, episode: str, call: ModelCall, before: Continued | None) -> None:
        """Write a failed attempt of an own turn down."""
        row = _row(episode, call, before, await self._toolsets.keep(call.tools))
        await self._add(row, "turn.failed", _event_data(call))

    async def attempts(self, episode: str, step: int) -> int:
        """How many attempts of a step were written down."""
        async with self._store.read() as session:
            counted = await session.scalar(
                select(func.count()).where(ModelCallRow.episode == episode, ModelCallRow.step == step)
            )
        return counted or 0

    async def accepted(self, episode: str, step: int) -> tuple[Usage, str | None] | None:
        """Tokens and finish reason of the accepted attempt of a step, if there is one."""
        async with self._store.read() as session:
            row = await session.scalar(_accepted(episode).where(ModelCallRow.step == step))
        return None if row is None else (_usage(row), row.finish_reason)

    async def usage(self, episode: str) -> Usage:
        """Tokens of the accepted calls together."""
        async with self._store.read() as session:
            found = await session.execute(
                select(func.sum(ModelCallRow.prompt_tokens), func.sum(ModelCallRow.completion_tokens)).where(
                    ModelCallRow.episode == episode, ModelCallRow.standing == Attempt.ACCEPTED
                )
            )
            prompt, completion = found.one()
        return Usage(prompt_tokens=prompt or 0, completion_tokens=completion or 0)

    async def before_step(self, episode: str, step: int) -> Continued | None:
        """The call that the turn of a step continues: the accepted one of the step before."""
        async with self._store.read() as session:
            row = await session.scalar(_accepted(episode).where(ModelCallRow.step == step - 1))
        return None if row is None else await self._continued(row)

    async def before_chat(self, episode: str, messages: Sequence[Message]) -> Continued | None:
        """The call that a foreign agent's conversation continues, if exactly one is its longest leading part."""
        lengths = {
            fingerprint: length
            for length, fingerprint in enumerate(fingerprints(messages), start=1)
            if messages[length - 1].role == "assistant"
        }
        if not lengths:
            return None
        async with self._store.read() as session:
            rows = list(await session.scalars(_accepted(episode).where(ModelCallRow.fingerprint.in_(list(lengths)))))
        longest = max((row.length for row in rows), default=0)
        candidates = [row for row in rows if row.length == longest]
        return await self._continued(candidates[0]) if len(candidates) == 1 else None

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
        calls: dict[str, ModelCall] = {}
        for row in rows:
            tools = _DEFINITIONS.validate_python(await self._toolsets.get(row.toolset))
            calls[row.id] = _call(row, calls, transcript, tools)
        return tuple(calls.values())

    async def _accept(self, row: ModelCallRow, call: ModelCall, position: int) -> Attempt:
        async with self._store.write() as session:
            owner = await session.get(EpisodeRow, row.episode, with_for_update=True)
            taken = await session.scalar(_accepted(row.episode).where(ModelCallRow.step == row.step))
            if owner is None or EpisodeStatus(owner.status).ended or taken is not None:
                row.standing = Attempt.SUPERSEDED
                session.add(row)
                return Attempt.SUPERSEDED
            if owner.chats:
                raise EpisodeError("The episode is driven by an agent's own chat calls; it has no turns.")
            row.standing = Attempt.ACCEPTED
            session.add(row)
            session.add(
                MessageRow(
                    episode=row.episode,
                    position=position,
                    message=row.response,
                    step=row.step,
                    created=utc_now(),
                )
            )
            await session.flush()
            await append_event(session, row.episode, "turn.finished", row.step, _event_data(call))
        return Attempt.ACCEPTED

    async def _add(self, row: ModelCallRow, kind: EventType, data: dict[str, JsonValue]) -> Attempt:
        async with self._store.write() as session:
            owner = await session.get(EpisodeRow, row.episode, with_for_update=True)
            if owner is None or EpisodeStatus(owner.status).ended:
                # Nothing follows the event of an episode's end, and nothing that came after it was accepted.
                if row.standing == Attempt.ACCEPTED:
                    row.standing = Attempt.SUPERSEDED
                session.add(row)
            else:
                session.add(row)
                await append_event(session, row.episode, kind, row.step, data)
        self._events.announce(row.episode)
        return Attempt(row.standing)

    async def _continued(self, row: ModelCallRow) -> Continued:
        return Continued(
            call=row.id,
            version=row.version,
            toolset=row.toolset,
            covered=row.length + 1,
            sampled=await self._sampled(row),
        )

    async def _sampled(self, row: ModelCallRow) -> Sampled | None:
        """The tokens of a call, put together from those of the calls it continues."""
        chain = [row]
        async with self._store.read() as session:
            while chain[-1].prompt_shared and chain[-1].parent is not None:
                parent = await session.get(ModelCallRow, chain[-1].parent)
                if parent is None:
                    break
                chain.append(parent)
        sampled: Sampled | None = None
        for link in reversed(chain):
            sampled = _tokens(link, sampled)
        return sampled


def _accepted(episode: str) -> Select[ModelCallRow]:
    return select(ModelCallRow).where(ModelCallRow.episode == episode, ModelCallRow.standing == Attempt.ACCEPTED)


def _row(episode: str, call: ModelCall, before: Continued | None, toolset: str) -> ModelCallRow:
    row = ModelCallRow(
        id=call.id,
        episode=episode,
        step=call.step,
        attempt=call.attempt,
        standing=call.standing,
        model=call.model,
        version=call.version,
        toolset=toolset,
        sampling=call.sampling.model_dump(mode="json"),
        parent=None if before is None else before.call,
        length=len(call.messages),
        context=None,
        response=None if call.response is None else as_json(call.response),
        finish_reason=call.finish_reason,
        prompt_tokens=call.usage.prompt_tokens,
        completion_tokens=call.usage.completion_tokens,
        prompt_shared=0,
        template_hash=call.template_hash,
        constrained=call.constrained,
        started=call.started,
        seconds=call.seconds,
        error=call.error,
    )
    if call.sampled is not None:
        packed = pack(call.sampled, None if before is None else before.sampled)
        row.prompt_shared, row.prompt_ids = packed.prompt_shared, packed.prompt_ids
        row.completion_ids, row.logprobs = packed.completion_ids, packed.logprobs
    return row


def _call(
    row: ModelCallRow, known: Mapping[str, ModelCall], transcript: Sequence[Message], tools: tuple[JsonObject, ...]
) -> ModelCall:
    parent = None if row.parent is None else known.get(row.parent)
    if row.context is None:
        messages = tuple(transcript[: row.length])
    else:
        before = () if parent is None else (*parent.messages, *(m for m in (parent.response,) if m is not None))
        messages = (*before, *_MESSAGES.validate_python(row.context))
    return ModelCall(
        id=row.id,
        step=row.step,
        attempt=row.attempt,
        standing=Attempt(row.standing),
        model=row.model,
        version=row.version,
        messages=messages,
        tools=tools,
        sampling=Sampling.model_validate(row.sampling),
        response=None if row.response is None else Message.model_validate(row.response),
        finish_reason=row.finish_reason,
        usage=_usage(row),
        sampled=_tokens(row, None if parent is None else parent.sampled),
        template_hash=row.template_hash,
        constrained=row.constrained,
        parent=row.parent,
        started=row.started,
        seconds=row.seconds,
        error=row.error,
    )


def _tokens(row: ModelCallRow, parent: Sampled | None) -> Sampled | None:
    if row.prompt_ids is None or row.completion_ids is None or row.logprobs is None:
        return None
    return unpack(PackedTokens(row.prompt_shared, row.prompt_ids, row.completion_ids, row.logprobs), parent)


def _usage(row: ModelCallRow) -> Usage:
    return Usage(prompt_tokens=row.prompt_tokens, completion_tokens=row.completion_tokens)


def _event_data(call: ModelCall) -> dict[str, JsonValue]:
    """What a person would want to see of an attempt."""
    if call.response is None:
        return {"call": call.id, "attempt": call.attempt, "error": call.error}
    return {
        "call": call.id,
        "attempt": call.attempt,
        "message": as_json(call.response),
        "finish_reason": call.finish_reason,
        "usage": call.usage.model_dump(mode="json"),
    }
