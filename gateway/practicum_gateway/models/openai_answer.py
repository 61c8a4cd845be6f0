"""Chat completions in OpenAI's form, read once and strictly: an answer, or a typed error. Pure."""

import json
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue, ValidationError

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message
from practicum.contracts.models import Sampled, Usage
from practicum.errors import ModelProviderError
from practicum_gateway.models.chat_format import incoming_call
from practicum_gateway.models.provider import Completed

_SHOWN = 80


class UnreadableError(ValueError):
    """What came is no answer at all; whoever asked makes a typed error of it, without the key that it may quote."""


class ToldError(Exception):
    """A server says in the place of an answer what went wrong; whoever asked makes a typed error of it.

    Attributes:
        status_code: of HTTP, where it tells one.
    """

    def __init__(self, error: JsonValue) -> None:
        """Take the `error` member of an answer."""
        super().__init__(said_in(error))
        code = error.get("code") if isinstance(error, dict) else None
        self.status_code = code if isinstance(code, int) else None


class _Part(BaseModel):
    # A provider may say more than is read here; what is read has the type it should.
    model_config = ConfigDict(extra="ignore", frozen=True)


def _as_text(arguments: Any) -> Any:
    """Servers differ in whether the arguments of a call are an object or its text."""
    return json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict) else arguments


class _Function(_Part):
    name: str | None = None
    arguments: Annotated[str | None, BeforeValidator(_as_text)] = None


class _Call(_Part):
    id: str | None = None
    index: int | None = None
    function: _Function = _Function()


class _Said(_Part):
    content: str | None = None
    tool_calls: tuple[_Call, ...] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None

    @property
    def thought(self) -> str | None:
        """What the model thought; servers differ in what they call it."""
        return self.reasoning_content or self.reasoning


class _TokenLogprob(_Part):
    logprob: float


class _Logprobs(_Part):
    content: tuple[_TokenLogprob, ...] | None = None


class _Choice(_Part):
    message: _Said | None = None
    delta: _Said | None = None
    finish_reason: str | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: _Logprobs | None = None

    @property
    def told(self) -> tuple[float, ...]:
        """The logprobs that it tells."""
        content = (self.logprobs.content if self.logprobs is not None else None) or ()
        return tuple(token.logprob for token in content)


class _Usage(_Part):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Answer(_Part):
    choices: tuple[_Choice, ...] | None = None
    usage: _Usage | None = None
    prompt_token_ids: tuple[int, ...] | None = None
    error: JsonValue = None


def said_in(error: JsonValue) -> str:
    """What a server says of an error, in whichever of the usual members."""
    while isinstance(error, dict):
        error = next((error[name] for name in ("error", "message", "detail") if error.get(name)), None)
    return error if isinstance(error, str) else "no reason given"


def read_answer(answer: JsonObject | bytes, *, where: str) -> Completed:
    """The model's turn in a whole answer.

    Args:
        answer: the answer, as it came or as litellm dumps it.
        where: alias of the model, for the message of an error.

    Raises:
        ModelProviderError: it holds no turn.
        UnreadableError: it is no JSON object.
        ToldError: it is an error.
    """
    parsed = _parse(answer, where)
    if not parsed.choices:
        raise ModelProviderError(f"The model '{where}' answered without a choice.")
    choice = parsed.choices[0]
    sampled = _sampled(parsed.prompt_token_ids, choice.token_ids, choice.told)
    return _completed(choice.message or _Said(), choice.finish_reason, parsed.usage, sampled, where)


@dataclass(slots=True)
class StreamedAnswer:
    """A turn put together from the chunks of a stream.

    Attributes:
        where: alias of the model, for the message of an error.
        begun: whether a chunk came.
    """

    where: str
    begun: bool = False
    _text: list[str] = field(default_factory=list[str])
    _thought: list[str] = field(default_factory=list[str])
    _calls: dict[int, _Call] = field(default_factory=dict[int, _Call])
    _finish_reason: str | None = None
    _usage: _Usage | None = None
    _prompt_ids: tuple[int, ...] | None = None
    _ids: list[int] | None = None
    _logprobs: list[float] = field(default_factory=list[float])

    @property
    def finished(self) -> bool:
        """Whether a chunk said how the turn ended."""
        return self._finish_reason is not None

    def add(self, chunk: JsonObject | bytes) -> str | None:
        """Take a chunk in; the text it adds, if it adds text.

        Raises:
            ModelProviderError: the chunk is none.
            UnreadableError: it is no JSON object.
            ToldError: it is an error.
        """
        parsed = _parse(chunk, self.where)
        self.begun = True
        self._usage = parsed.usage or self._usage
        self._prompt_ids = parsed.prompt_token_ids or self._prompt_ids
        if not parsed.choices:
            return None
        choice = parsed.choices[0]
        self._finish_reason = choice.finish_reason or self._finish_reason
        if choice.token_ids is not None:
            self._ids = [*(self._ids or ()), *choice.token_ids]
        self._logprobs += choice.told
        delta = choice.delta or _Said()
        for fragment in delta.tool_calls or ():
            self._add_call(fragment)
        if delta.thought:
            self._thought.append(delta.thought)
        if delta.content:
            self._text.append(delta.content)
        return delta.content

    def whole(self) -> Completed:
        """The whole turn.

        Raises:
            ModelProviderError: the stream held none.
        """
        calls = tuple(call for _, call in sorted(self._calls.items()))
        thought = "".join(self._thought) or None
        said = _Said(content="".join(self._text), tool_calls=calls, reasoning_content=thought)
        return _completed(said, self._finish_reason, self._usage, self._sampled(), self.where)

    def _sampled(self) -> Sampled | None:
        """The tokens, if all of them came: older servers keep back those of chunks that they have no text for."""
        drawn = self._usage and self._usage.completion_tokens
        if self._ids is None or drawn not in (None, len(self._ids)):
            return None
        return _sampled(self._prompt_ids, tuple(self._ids), tuple(self._logprobs))

    def _add_call(self, fragment: _Call) -> None:
        index = fragment.index if fragment.index is not None else len(self._calls)
        known = self._calls.get(index, _Call())
        self._calls[index] = _Call(
            id=known.id or fragment.id,
            function=_Function(
                name=known.function.name or fragment.function.name,
                arguments=(known.function.arguments or "") + (fragment.function.arguments or ""),
            ),
        )


def _parse(answer: JsonObject | bytes, where: str) -> _Answer:
    try:
        parsed = _Answer.model_validate_json(answer) if isinstance(answer, bytes) else _Answer.model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if isinstance(answer, bytes) and not first["loc"]:
            raise UnreadableError(f"its answer is not JSON of a completion: {start_of(answer)}") from None
        place = ".".join(str(part) for part in first["loc"])
        raise ModelProviderError(
            f"The model '{where}' answered what is no chat completion: {place}: {first['msg']}."
        ) from None
    if parsed.error is not None:
        raise ToldError(parsed.error)
    return parsed


def start_of(answer: bytes) -> str:
    """The beginning of an answer that cannot be read, for the message of an error."""
    text = answer[: 4 * _SHOWN].decode(errors="replace").strip()[:_SHOWN]
    return text or "nothing came"


def _sampled(
    prompt_ids: tuple[int, ...] | None, ids: tuple[int, ...] | None, logprobs: tuple[float, ...]
) -> Sampled | None:
    """The token ids that the server gave, with their logprobs where it gave one for each."""
    if ids is None:
        return None
    return Sampled(
        prompt_ids=prompt_ids or (), completion_ids=ids, logprobs=logprobs if len(logprobs) == len(ids) else ()
    )


def _fields(sampled: Sampled | None) -> str | None:
    """Where in the answer the ids were."""
    if sampled is None:
        return None
    return "prompt_token_ids, choices.token_ids" if sampled.prompt_ids else "choices.token_ids"


def _completed(
    said: _Said, finish_reason: str | None, usage: _Usage | None, sampled: Sampled | None, where: str
) -> Completed:
    calls = said.tool_calls or ()
    if not said.content and not calls and finish_reason in {None, "stop"}:
        raise ModelProviderError(f"The model '{where}' answered with nothing.")
    message = Message(
        role="assistant",
        content=said.content or None,
        tool_calls=tuple(
            incoming_call(call.id, call.function.name or "", call.function.arguments or "") for call in calls
        ),
    )
    return Completed(
        message=message,
        finish_reason=finish_reason or ("tool_calls" if calls else "stop"),
        usage=Usage(
            prompt_tokens=(usage and usage.prompt_tokens) or 0,
            completion_tokens=(usage and usage.completion_tokens) or 0,
        ),
        sampled=sampled,
        tokens_from=_fields(sampled),
        reasoning=said.thought,
    )
