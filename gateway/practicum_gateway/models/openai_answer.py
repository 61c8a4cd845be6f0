"""Chat completions in OpenAI's form, read once and strictly: an answer, or a typed error. Pure."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message
from practicum.contracts.models import Sampled, Usage
from practicum.errors import ModelProviderError
from practicum_gateway.models.chat_format import incoming_call
from practicum_gateway.models.provider import Completed

_SHOWN = 1_024
"""Bytes of an answer that an error may quote: more than it shows, so that no key is cut before it is taken out."""
_MOST_TOKENS = 1_000_000_000
"""More tokens than any call has; whoever tells more tells nothing."""
_LONGEST_REASON = 64
_STATUS = re.compile(r"[45][0-9][0-9]")
_BOM = b"\xef\xbb\xbf"


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
        status = int(code) if isinstance(code, str) and _STATUS.fullmatch(code) else code
        self.status_code = status if isinstance(status, int) else None


class _Part(BaseModel):
    # A provider may say more than is read here; what is read has the type it should.
    model_config = ConfigDict(extra="ignore", frozen=True)


def _as_text(arguments: Any) -> Any:
    """Servers differ in whether the arguments of a call are an object or its text."""
    return json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict) else arguments


def _counted(tokens: int | None) -> int | None:
    """A number of tokens that there may be; any other is as good as none."""
    return tokens if tokens is not None and 0 <= tokens <= _MOST_TOKENS else None


class _Function(_Part):
    name: str | None = None
    arguments: Annotated[str | None, BeforeValidator(_as_text)] = None


class _Call(_Part):
    id: str | None = None
    index: int | None = None
    function: Annotated[_Function, BeforeValidator(lambda given: {} if given is None else given)] = _Function()


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
    logprob: float | None = None


TokenId = Annotated[int, Field(ge=0, lt=2**31)]
"""As any vocabulary has them."""


Reason = Annotated[str | None, AfterValidator(lambda reason: reason and reason[:_LONGEST_REASON])]
"""Why a turn ended, in the server's word."""


class _Logprobs(_Part):
    content: tuple[_TokenLogprob, ...] | None = None


class _Choice(_Part):
    index: int | None = None
    message: _Said | None = None
    delta: _Said | None = None
    finish_reason: Reason = None
    token_ids: tuple[TokenId, ...] | None = None
    logprobs: _Logprobs | None = None

    @property
    def told(self) -> tuple[float, ...]:
        """The logprobs that it tells, one that it does not tell as no number."""
        content = (self.logprobs.content if self.logprobs is not None else None) or ()
        return tuple(math.nan if token.logprob is None else token.logprob for token in content)


class TokenUsage(_Part):
    """The tokens that a server counted, as far as it told and they may be."""

    prompt_tokens: Annotated[int | None, AfterValidator(_counted)] = None
    completion_tokens: Annotated[int | None, AfterValidator(_counted)] = None

    def or_of(self, sampled: Sampled | None) -> Usage:
        """The tokens of a call; where the server did not count them, those that are known by their ids."""
        prompt, drawn = (0, 0) if sampled is None else (len(sampled.prompt_ids), len(sampled.completion_ids))
        return Usage(
            prompt_tokens=prompt if self.prompt_tokens is None else self.prompt_tokens,
            completion_tokens=drawn if self.completion_tokens is None else self.completion_tokens,
        )


class Answering(_Part):
    """What stands in an answer's place where something went wrong."""

    error: JsonValue = None
    message: JsonValue = None
    detail: JsonValue = None
    code: JsonValue = None

    def check(self, *, answers: bool) -> None:
        """See that nothing went wrong: told as a member, or, where there is no answer, at the top.

        Args:
            answers: whether there is one besides.

        Raises:
            ToldError: something did.
        """
        if self.error:
            raise ToldError(self.error)
        if not answers and (said := self.message or self.detail):
            raise ToldError({"message": said, "code": self.code})


class _Answer(Answering):
    choices: tuple[_Choice, ...] | None = None
    usage: TokenUsage | None = None
    prompt_token_ids: tuple[TokenId, ...] | None = None


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
    choice = next((each for each in parsed.choices if not each.index), parsed.choices[0])
    drawn = parsed.usage and parsed.usage.completion_tokens
    sampled = sampled_of(parsed.prompt_token_ids, choice.token_ids, choice.told, drawn)
    return _completed(choice.message or _Said(), choice.finish_reason, parsed.usage, sampled, where)


@dataclass(slots=True)
class _Wish:
    """A call in the making.

    Attributes:
        order: where among the calls it stands.
        id: as the server named it.
        name: the tool's.
        arguments: the pieces of their text.
    """

    order: int
    id: str | None = None
    name: str | None = None
    arguments: list[str] = field(default_factory=list[str])


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
    _wishes: list[_Wish] = field(default_factory=list[_Wish])
    _finish_reason: str | None = None
    _usage: TokenUsage | None = None
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
        choice = next((each for each in parsed.choices or () if not each.index), None)
        if choice is None:
            return None
        self._finish_reason = choice.finish_reason or self._finish_reason
        if choice.token_ids is not None:
            self._ids = self._ids or []
            self._ids += choice.token_ids
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
        wishes = sorted(self._wishes, key=lambda wish: wish.order)
        calls = tuple(
            _Call(id=wish.id, function=_Function(name=wish.name, arguments="".join(wish.arguments))) for wish in wishes
        )
        thought = "".join(self._thought) or None
        said = _Said(content="".join(self._text), tool_calls=calls, reasoning_content=thought)
        return _completed(said, self._finish_reason, self._usage, self._sampled(), self.where)

    def _sampled(self) -> Sampled | None:
        """The tokens, if all of them came: older servers keep back those of chunks that they have no text for."""
        ids = None if self._ids is None else tuple(self._ids)
        return sampled_of(self._prompt_ids, ids, self._logprobs, self._usage and self._usage.completion_tokens)

    def _add_call(self, fragment: _Call) -> None:
        wish = self._wish_of(fragment)
        wish.id = wish.id or fragment.id
        wish.name = wish.name or fragment.function.name
        if fragment.function.arguments:
            wish.arguments.append(fragment.function.arguments)

    def _wish_of(self, fragment: _Call) -> _Wish:
        """The call that a fragment is of: the latest of its number, unless it has another id and a name of its own."""
        index = fragment.index
        named = bool(fragment.id or fragment.function.name)
        if index is None:  # some servers give none: what has neither id nor name goes on with the latest call
            known = self._wishes[-1] if self._wishes else None
            anew = named and (known is None or not fragment.id or fragment.id != known.id)
        else:
            known = next((wish for wish in reversed(self._wishes) if wish.order == index), None)
            anew = known is not None and bool(known.id and fragment.id and fragment.function.name)
            anew = anew and known is not None and known.id != fragment.id
        if known is None or anew:
            order = max((wish.order for wish in self._wishes), default=-1) + 1 if index is None else index
            known = _Wish(order)
            self._wishes.append(known)
        return known


def _parse(answer: JsonObject | bytes, where: str) -> _Answer:
    try:
        if isinstance(answer, bytes):
            parsed = _Answer.model_validate_json(answer.removeprefix(_BOM))
        else:
            parsed = _Answer.model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if isinstance(answer, bytes) and not first["loc"]:
            raise UnreadableError(f"its answer is not JSON of a completion: {start_of(answer)}") from None
        place = ".".join(str(part) for part in first["loc"])
        raise ModelProviderError(
            f"The model '{where}' answered what is no chat completion: {place}: {first['msg']}."
        ) from None
    parsed.check(answers=parsed.choices is not None)
    return parsed


def start_of(answer: bytes) -> str:
    """The beginning of an answer that cannot be read, for the message of an error."""
    return answer[:_SHOWN].decode(errors="replace").strip() or "nothing came"


def sampled_of(
    prompt_ids: Sequence[int] | None, ids: Sequence[int] | None, logprobs: Sequence[float], drawn: int | None
) -> Sampled | None:
    """The token ids that a server gave, with their logprobs where it gave a number for each.

    Args:
        prompt_ids: of the prompt, where it told them.
        ids: of the tokens that it drew; None where it told none.
        logprobs: theirs.
        drawn: how many it says that it drew; where these are others than it told, none are known.
    """
    if ids is None or drawn not in (None, len(ids)):
        return None
    known = len(logprobs) == len(ids) and all(map(math.isfinite, logprobs))
    return Sampled(
        prompt_ids=tuple(prompt_ids or ()), completion_ids=tuple(ids), logprobs=tuple(logprobs) if known else ()
    )


def _fields(sampled: Sampled | None) -> str | None:
    """Where in the answer the ids were."""
    if sampled is None:
        return None
    return "prompt_token_ids, choices.token_ids" if sampled.prompt_ids else "choices.token_ids"


def _completed(
    said: _Said, finish_reason: str | None, usage: TokenUsage | None, sampled: Sampled | None, where: str
) -> Completed:
    calls = said.tool_calls or ()
    if not said.content and not calls and finish_reason in {None, "stop"}:
        raise ModelProviderError(f"The model '{where}' answered with nothing.")
    message = Message(
        role="assistant",
        content=said.content or None,
        tool_calls=tuple(
            incoming_call(identity, call.function.name or "", call.function.arguments or "")
            for identity, call in zip(_identities(calls), calls, strict=True)
        ),
    )
    return Completed(
        message=message,
        finish_reason=finish_reason or ("tool_calls" if calls else "stop"),
        usage=(usage or TokenUsage()).or_of(sampled),
        sampled=sampled,
        tokens_from=_fields(sampled),
        reasoning=said.thought,
    )


def _identities(calls: Sequence[_Call]) -> list[str | None]:
    """The calls' ids; None for one that another call of the turn has already, since a result says whose it is by it."""
    seen: set[str | None] = set()
    found: list[str | None] = []
    for call in calls:
        found.append(None if call.id in seen else call.id)
        seen.add(call.id)
    return found
