"""Asks every model call of an episode again from the record alone, as far as the request, and compares.

Nothing is sent to a model. What differs is what this version would send otherwise than the one that recorded it did.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum

from practicum.codecs.bodies import HASHED, chat_body, completion_body, sent, text_body
from practicum.codecs.codec import Codec, Piece, ended_by
from practicum.codecs.plain import plain_text
from practicum.codecs.registry import codec_named
from practicum.contracts.base import JsonObject, Value
from practicum.contracts.models import ModelCall, ModelSpec, Provider, Sampled, Sent
from practicum.contracts.tools import Effect, Tool
from practicum.contracts.trajectory import Trajectory
from practicum.errors import ConfigurationError, PracticumError

Tokenise = Callable[[Sequence[Piece]], tuple[int, ...]]
"""The token ids of rendered pieces, as the server of a model has them."""

_NO_ARGUMENTS: JsonObject = {"type": "object", "properties": {}}


class Check(StrEnum):
    """What was compared."""

    TEMPLATE = "template"
    """What renders the prompt: its hash now and then."""
    REQUEST = "request"
    """The body of the request, made again from messages, tools and sampling: its hash now and then."""
    TOKENS = "tokens"
    """The ids of the prompt, rendered again and tokenised by the model's server."""


class Replayed(Value):
    """One model call asked again.

    Attributes:
        call: its id.
        step: the episode's step.
        attempt: which try of the step.
        checked: what was compared and is the same.
        difference: the first thing that is not; None where there is none.
        unchecked: what could not be compared, and why.
    """

    call: str
    step: int
    attempt: int
    checked: tuple[Check, ...] = ()
    difference: str | None = None
    unchecked: tuple[str, ...] = ()


class Replay(Value):
    """All model calls of an episode asked again.

    Attributes:
        episode: its id.
        same: whether nothing differs.
        calls: each call, in the order of the record.
    """

    episode: str
    same: bool
    calls: tuple[Replayed, ...]


class _Differs(Exception):
    """Something is not as it was."""


class _Unknown(Exception):
    """Something cannot be compared."""


def replay(trajectory: Trajectory, *, tokenisers: Mapping[str, Tokenise] | None = None) -> Replay:
    """Make the request of every model call again from the record, and compare it with what was sent.

    Args:
        trajectory: the record.
        tokenisers: by the version of a model, how its server tokenises; of others the recorded ids are taken as right.
    """
    calls = {call.id: call for call in trajectory.model_calls}
    found = tuple(_replayed(call, calls, tokenisers or {}) for call in calls.values())
    return Replay(episode=trajectory.episode, same=not any(call.difference for call in found), calls=found)


def _replayed(call: ModelCall, calls: Mapping[str, ModelCall], tokenisers: Mapping[str, Tokenise]) -> Replayed:
    checked: list[Check] = []
    unchecked: list[str] = []
    difference = None
    for check, compare in _checks(call, calls, tokenisers):
        try:
            compare()
        except _Unknown as unknown:
            unchecked.append(f"{check}: {unknown}")
        except _Differs as differs:
            difference = f"{check}: {differs}"
            break
        else:
            checked.append(check)
    return Replayed(
        call=call.id,
        step=call.step,
        attempt=call.attempt,
        checked=tuple(checked),
        difference=difference,
        unchecked=tuple(unchecked),
    )


def _checks(
    call: ModelCall, calls: Mapping[str, ModelCall], tokenisers: Mapping[str, Tokenise]
) -> Iterator[tuple[Check, Callable[[], None]]]:
    kept = call.sent
    if kept is None:
        yield Check.REQUEST, lambda: _unknown(call)
    elif kept.provider is Provider.LITELLM:
        yield Check.REQUEST, lambda: _same_chat(call, kept)
    elif kept.provider is Provider.COMPLETIONS:
        yield Check.TEMPLATE, lambda: _same_template(call, kept)
        yield Check.REQUEST, lambda: _same_text(call, kept)
    else:
        yield Check.TEMPLATE, lambda: _same_template(call, kept)
        yield Check.REQUEST, lambda: _same_completion(call, kept)
        yield Check.TOKENS, lambda: _same_tokens(call, kept, calls, tokenisers.get(call.version))


def _unknown(call: ModelCall) -> None:
    if call.response is None:
        raise _Unknown("it was not answered, and of a failed attempt the request is not kept")
    if call.cached:
        raise _Unknown("nobody was asked: an answer that was kept was given again")
    raise _Unknown("it was recorded before requests were kept")


def _same_chat(call: ModelCall, kept: Sent) -> None:
    body = chat_body(kept.target, call.messages, call.tools, call.sampling)
    _compare(kept, sent(_spec(call, kept), body))


def _same_template(call: ModelCall, kept: Sent) -> None:
    codec = _codec(kept)
    if call.template_hash != codec.template_hash:
        recorded = (call.template_hash or "unknown")[:12]
        raise _Differs(f"'{codec.name}' was {recorded} and is {codec.template_hash[:12]} now")


def _same_completion(call: ModelCall, kept: Sent) -> None:
    if call.sampled is None:
        raise _Unknown("the ids of its prompt are not kept")
    grammar = _codec(kept).grammar(_tools(call)) if call.constrained else None
    body = completion_body(call.sampled.prompt_ids, call.sampling, kept.adapter, grammar, _codec(kept).marks)
    _compare(kept, sent(_spec(call, kept), body))


def _same_text(call: ModelCall, kept: Sent) -> None:
    codec, stops = _codec(kept), kept.request.get("stop_token_ids")
    if stops is None:
        rendered = plain_text(codec, codec.render(call.messages, _tools(call)))
        _compare(kept, sent(_spec(call, kept), text_body(kept.target, rendered, call.sampling, codec)))
        return
    if call.sampled is None or not isinstance(stops, list):
        raise _Unknown("the ids of its prompt are not kept")
    ids = [stop for stop in stops if isinstance(stop, int)]
    body = text_body(kept.target, call.sampled.prompt_ids, call.sampling, codec, ids)
    _compare(kept, sent(_spec(call, kept), body))


def _same_tokens(call: ModelCall, kept: Sent, calls: Mapping[str, ModelCall], tokenise: Tokenise | None) -> None:
    if tokenise is None:
        raise _Unknown("its server was not asked")
    if call.sampled is None:
        raise _Unknown("the ids of its prompt are not kept")
    try:
        rendered = _rendered(call, kept, calls, tokenise)
    except PracticumError as error:
        raise _Unknown(error.detail) from error
    recorded = call.sampled.prompt_ids
    pairs = enumerate(zip(recorded, rendered, strict=False))
    place = next((place for place, (one, other) in pairs if one != other), None)
    if place is not None:
        raise _Differs(f"token {place} of the prompt was {recorded[place]} and is {rendered[place]} now")
    if len(recorded) != len(rendered):
        raise _Differs(f"the prompt had {len(recorded)} tokens and has {len(rendered)} now")


def _rendered(call: ModelCall, kept: Sent, calls: Mapping[str, ModelCall], tokenise: Tokenise) -> tuple[int, ...]:
    codec = _codec(kept)
    if kept.continued is None:
        return tokenise(codec.render(call.messages, _tools(call)))
    before = calls.get(kept.continued)
    previous: Sampled | None = None if before is None else before.sampled
    if before is None or previous is None:
        raise _Unknown(f"the tokens of {kept.continued}, which it continued, are not in the record")
    answer, *added = call.messages[len(before.messages) :]
    ended = ended_by(codec, previous.completion_ids[-1], tokenise)
    suffix = tokenise(codec.suffix(answer, added, ended=ended))
    return (*previous.prompt_ids, *previous.completion_ids, *suffix)


def _compare(kept: Sent, now: Sent) -> None:
    """Say which part of a request differs first, in the order in which it was sent."""
    for name in (*kept.request, *(name for name in now.request if name not in kept.request)):
        was, is_now = kept.request.get(name), now.request.get(name)
        if was == is_now:
            continue
        if name not in now.request:
            raise _Differs(f"'{name}' was sent and is not now")
        if name not in kept.request:
            raise _Differs(f"'{name}' was not sent and is now")
        if any(isinstance(part, str) and part.startswith(HASHED) for part in (was, is_now)):
            raise _Differs(f"'{name}' is another than was sent")
        raise _Differs(f"'{name}' was {was!r} and is {is_now!r} now")
    if kept.digest != now.digest:
        raise _Differs("the whole is another than was sent")


def _codec(kept: Sent) -> Codec:
    try:
        return codec_named(kept.codec or "")
    except ConfigurationError as error:
        raise _Unknown(error.detail) from error


def _spec(call: ModelCall, kept: Sent) -> ModelSpec:
    return ModelSpec(
        alias=call.model, provider=kept.provider, target=kept.target, codec=kept.codec, adapter=kept.adapter
    )


def _tools(call: ModelCall) -> tuple[Tool, ...]:
    """The tools of a call as a codec reads them: by name and schema."""
    return tuple(_tool(each) for each in call.tools)


def _tool(definition: JsonObject) -> Tool:
    function = definition.get("function")
    told = function if isinstance(function, dict) else {}
    name, schema = str(told.get("name", "")), told.get("parameters")
    return Tool(
        name=name,
        connector="recorded",
        operation=name,
        description=str(told.get("description", "")),
        input_schema=schema if isinstance(schema, dict) else _NO_ARGUMENTS,
        effect=Effect.EXTERNAL,
        method="",
        path="",
    )
