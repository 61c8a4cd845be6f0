"""A model call as a row, and a row as a model call: it keeps only what its parent does not hold already. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from typing import Any, TypeVar

from pydantic import JsonValue, TypeAdapter

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message
from practicum.contracts.models import (
    Attempt,
    Disagreement,
    Link,
    ModelCall,
    Sampling,
    Sent,
    Usage,
)
from practicum_gateway.record.canonical import fingerprints
from practicum_gateway.record.lineage import Place, token_hash, unpacked
from practicum_gateway.record.tokens import Tokens, pack
from practicum_gateway.record.values import as_json, as_text
from practicum_gateway.store.prepared import Written
from practicum_gateway.store.record_tables import ModelCallRow

_V = TypeVar("_V")
_MESSAGES: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])
_IDS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])
_NO_TOKENS: dict[str, Any] = {
    "prompt_shared": 0,
    "prompt_ids": None,
    "completion_ids": None,
    "logprobs": None,
    "ids_length": None,
    "ids_hash": None,
}


@dataclass(frozen=True, slots=True)
class Answered:
    """A call that is over, answered or failed, and what was made of it to be kept.

    Attributes:
        call: the call.
        toolset: digest of the tools it was offered.
        tokens: its tokens, where the server gave them.
        response: its response as JSON.
        event: what a person would want to see of it, as JSON.
    """

    call: ModelCall
    toolset: str
    tokens: Tokens | None
    response: Written | None
    event: Written

    @classmethod
    def of(cls, call: ModelCall, toolset: str) -> "Answered":
        """A call."""
        response = None if call.response is None else as_text(call.response)
        tokens = None if call.sampled is None else Tokens.of(call.sampled)
        return cls(call, toolset, tokens, response, _event(call, response))


def own_row(episode: str, answered: Answered, place: Place) -> dict[str, Any]:
    """The row of an own turn, whose conversation the transcript holds."""
    row = _row(episode, answered, place)
    row["context"] = row["fingerprint"] = row["messages_shared"] = None
    return row


def chat_row(episode: str, answered: Answered, place: Place, *, asked: str = "") -> dict[str, Any]:
    """The row of a foreign agent's call, whose conversation it holds itself.

    Args:
        episode: the episode.
        answered: the call.
        place: where it stands.
        asked: fingerprint of its messages, where it is known already.
    """
    call, row = answered.call, _row(episode, answered, place)
    row["fingerprint"] = None
    if call.response is not None:
        *_, row["fingerprint"] = fingerprints((*(() if asked else call.messages), call.response), asked)
    row["context"] = [as_json(message) for message in call.messages[place.covered :]]
    row["messages_shared"] = place.covered
    return row


def calls_of(
    rows: Sequence[ModelCallRow],
    transcript: Sequence[Message],
    tools: Mapping[str, tuple[JsonObject, ...]],
) -> tuple[ModelCall, ...]:
    """The calls that rows hold, in their order.

    Args:
        rows: all of an episode.
        transcript: the messages of its own turns, which own calls refer to.
        tools: the toolsets they were offered, by digest.
    """
    by_id = {row.id: row for row in rows}
    read: dict[str, ModelCall] = {}
    for row in rows:
        # A parent may have begun later than a call that continues it, if two gateways' clocks differ.
        chain = [row]
        while (parent := by_id.get(chain[-1].parent or "")) is not None and parent.id not in read:
            chain.append(parent)
        for link in reversed(chain):
            if link.id not in read:
                read[link.id] = _call(link, read.get(link.parent or ""), transcript, tools[link.toolset])
    return tuple(read[row.id] for row in rows)


def usage_of(row: Any) -> Usage:
    """The tokens of a row."""
    return Usage(prompt_tokens=row.prompt_tokens, completion_tokens=row.completion_tokens)


def _event(call: ModelCall, response: Written | None) -> Written:
    who: dict[str, JsonValue] = {"call": call.id, "attempt": call.attempt, "model": call.model, "version": call.version}
    if response is None:
        return Written(dumps({**who, "error": call.error}))
    used = {"prompt_tokens": call.usage.prompt_tokens, "completion_tokens": call.usage.completion_tokens}
    told = dumps({**who, "finish_reason": call.finish_reason, "usage": used})
    return Written(f'{told[:-1]}, "message": {response.text}}}')


def _row(episode: str, answered: Answered, place: Place) -> dict[str, Any]:
    call = answered.call
    return {
        "id": call.id,
        "episode": episode,
        "step": call.step,
        "attempt": call.attempt,
        "standing": call.standing,
        "model": call.model,
        "version": call.version,
        "toolset": answered.toolset,
        "sampling": call.sampling.model_dump(mode="json", exclude_none=True),
        "parent": place.parent,
        "link": place.by,
        "candidates": list(place.candidates) or None,
        "disagreement": None if place.disagreement is None else place.disagreement.model_dump(mode="json"),
        "length": len(call.messages),
        "response": answered.response,
        "finish_reason": call.finish_reason,
        "prompt_tokens": call.usage.prompt_tokens,
        "completion_tokens": call.usage.completion_tokens,
        "tokens_from": call.tokens_from,
        "reasoning": call.reasoning,
        "template_hash": call.template_hash,
        "constrained": call.constrained,
        "cached": call.cached,
        "sent": None if call.sent is None else call.sent.model_dump(mode="json"),
        "started": call.started,
        "seconds": call.seconds,
        "error": call.error,
        **_tokens(answered.tokens, place.tokens),
    }


def _tokens(tokens: Tokens | None, parent: Tokens | None) -> dict[str, Any]:
    if tokens is None:
        return _NO_TOKENS
    packed = pack(tokens, parent)
    told = bool(tokens.sampled.prompt_ids)
    return {
        "prompt_shared": packed.prompt_shared,
        "prompt_ids": packed.prompt_ids,
        "completion_ids": packed.completion_ids,
        "logprobs": packed.logprobs,
        "ids_length": tokens.length if told else None,
        "ids_hash": token_hash(tokens.whole) if told else None,
    }


def _call(
    row: ModelCallRow, parent: ModelCall | None, transcript: Sequence[Message], tools: tuple[JsonObject, ...]
) -> ModelCall:
    return ModelCall(
        id=row.id,
        step=row.step,
        attempt=row.attempt,
        standing=Attempt(row.standing),
        model=row.model,
        version=row.version,
        messages=_conversation(row, parent, transcript),
        tools=tools,
        sampling=Sampling.model_validate(row.sampling),
        response=_read(row.response, Message.model_validate),
        finish_reason=row.finish_reason,
        usage=usage_of(row),
        sampled=unpacked(row, None if parent is None else parent.sampled),
        tokens_from=row.tokens_from,
        reasoning=row.reasoning,
        template_hash=row.template_hash,
        constrained=row.constrained,
        cached=row.cached,
        parent=row.parent,
        by=_read(row.link, Link),
        candidates=_read(row.candidates, _IDS.validate_python) or (),
        disagreement=_read(row.disagreement, Disagreement.model_validate),
        sent=_read(row.sent, Sent.model_validate),
        started=row.started,
        seconds=row.seconds,
        error=row.error,
    )


def _conversation(row: ModelCallRow, parent: ModelCall | None, transcript: Sequence[Message]) -> tuple[Message, ...]:
    if row.context is None:
        return tuple(transcript[: row.length])
    before: tuple[Message, ...] = ()
    if parent is not None:
        before = (*parent.messages, *(message for message in (parent.response,) if message is not None))
    return (*before[: row.messages_shared], *_MESSAGES.validate_python(row.context))


def _read(value: Any, read: Callable[[Any], _V]) -> _V | None:
    return None if value is None else read(value)
