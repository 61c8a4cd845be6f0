"""`harmony`: the channels of `gpt-oss`.

<|start|>system<|message|>...<|end|><|start|>developer<|message|># Instructions
...<|end|><|start|>user<|message|>Where is order 1042?<|end|><|start|>assistant
<|channel|>analysis<|message|>I have to look.<|end|><|start|>assistant
<|channel|>commentary to=functions.crm_get_order <|constrain|>json<|message|>{"order_id": 1042}<|call|>
<|start|>functions.crm_get_order to=assistant<|channel|>commentary<|message|>{"id": 1042}<|end|>
<|start|>assistant<|channel|>final<|message|>It is on its way.<|return|>

(without the line breaks between the messages). What is said on `analysis` is the thought, and a call is what is said to
a function, wherever the model names it. `<|return|>` stays in what follows, where the original would write `<|end|>`
anew: what was sampled is not replaced.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from practicum.codecs.codec import Piece
from practicum.codecs.family import Family, Opening, control
from practicum.codecs.reading import Found, as_object, decoded, value_at, written
from practicum.codecs.typescript import namespace
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Tool

_FUNCTIONS = "functions"
_SYSTEM = """Reasoning: medium

# Valid channels: analysis, commentary, final. Each message names its channel."""
_CALLS = "\nCalls of tools go to the commentary channel: 'functions'."
_START, _BODY = "<|start|>", "<|message|>"
_SIGN = re.compile(r"<\|(?:start|message|end|call|return)\|>")
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_RECIPIENT = re.compile(r"\bto=([^\s<]+)")
_HALF_A_MARK = re.compile(r"<(?:\|\w*\|?)?\Z")
_HEADER = re.compile(r"\s*(?:<\|start\|>|<\|channel\|>|to=)")


@dataclass(frozen=True, slots=True)
class _Part:
    """A message within a turn; what might be half of the mark that ends it is no part of its body."""

    text: str
    header: str
    body: str

    @property
    def thought(self) -> bool:
        """Whether it is thought, and meant for nobody."""
        channel = _CHANNEL.search(self.header)
        return channel is not None and channel[1] == "analysis" and not self.recipient

    @property
    def recipient(self) -> str:
        """Whom it is for; empty for the user, and the model itself."""
        found = _RECIPIENT.search(self.header)
        return "" if found is None else found[1].removeprefix(f"{_FUNCTIONS}.")


class Harmony(Family):
    """See the module's picture."""

    name = "harmony"
    stops = ("<|return|>", "<|call|>")
    marks = ("<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>")
    thinking = ("", "")

    def visible(self, text: str) -> str:
        """What was said to the user so far."""
        shown: list[str] = []
        for part in _parts(text):
            if isinstance(part, str):
                loose = _HALF_A_MARK.sub("", part)
                shown.append("" if _HEADER.match(part) or "to=".startswith(loose.strip()) else loose)
            elif part.recipient:
                break
            elif not part.thought:
                shown.append(part.body)
        return "".join(shown).strip()

    def _opening(self, system: str, tools: Sequence[Tool], rest: Sequence[Message]) -> Opening:
        told = _message("system", _SYSTEM + (_CALLS if tools else ""))
        parts = (
            f"# Instructions\n\n{system}" if system else "",
            f"# Tools\n\n## {_FUNCTIONS}\n\n{namespace(_FUNCTIONS, tools)}" if tools else "",
        )
        developer = "\n\n".join(part for part in parts if part)
        return (*told, *(_message("developer", developer) if developer else ())), rest

    def _heard(self, message: Message) -> Iterator[Piece]:
        return _message(message.role, message.content or "")

    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        for told in run:
            name = names.get(told.tool_call_id or "") or "unknown"
            yield from (*control("<|start|>"), Piece(f"{_FUNCTIONS}.{name} to=assistant"))
            yield from (*control("<|channel|>"), Piece("commentary"))
            yield from (*control("<|message|>"), Piece(told.content or ""), *control("<|end|>"))

    def _answering(self, before: str) -> tuple[Piece, ...]:
        del before
        return (*control("<|start|>"), Piece("assistant"))

    def _broken_off(self) -> Piece:
        return Piece("<|end|>", control=True)

    def _stop(self, message: Message) -> str:
        return self.stops[1 if message.tool_calls else 0]

    def _thought(self, thought: str | None) -> Iterator[Piece]:
        if thought is not None:
            yield from (*_channel("analysis", thought), *control("<|end|>"), *self._answering(""))

    def _said(self, content: str, calls: Sequence[ToolCall]) -> Iterator[Piece]:
        if not calls:
            yield from _channel("final", content)
            return
        if content:
            yield from (*_channel("commentary", content), *control("<|end|>"), *self._answering(""))
        for place, call in enumerate(calls):
            yield from (*control("<|call|>"), *self._answering("")) if place else ()
            if call.malformed is not None:
                yield Piece(call.malformed)
                continue
            yield from (*control("<|channel|>"), Piece(f"commentary to={_FUNCTIONS}.{call.name} "))
            yield from (*control("<|constrain|>"), Piece("json"))
            yield from (*control("<|message|>"), Piece(written(call.arguments)))

    def _parted(self, text: str) -> tuple[str | None, str]:
        parts = list(_parts(text))
        thoughts = [part.body.strip() for part in parts if isinstance(part, _Part) and part.thought]
        rest = (
            part if isinstance(part, str) else part.text for part in parts if isinstance(part, str) or not part.thought
        )
        return ("\n\n".join(thoughts) if thoughts else None), "".join(rest)

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        del tools
        for part in _parts(text):
            if isinstance(part, str):
                # A header that nothing follows was cut off; with a name in it, it would have been a call.
                name = _RECIPIENT.search(part) if _HEADER.match(part) else None
                if name is not None:
                    yield Found(part, name[1].removeprefix(f"{_FUNCTIONS}."))
                elif not _HEADER.match(part):
                    yield part
            elif part.recipient:
                yield _call(part)
            else:
                yield part.body


def _parts(text: str) -> Iterator[_Part | str]:
    """The messages of a turn, the last perhaps not whole, and what stands between them."""
    begin, body = 0, None
    header, inner = "", 0
    for sign in _SIGN.finditer(text):
        if sign.start() < inner:
            continue
        if body is None and sign[0] == _BODY:
            header, body = text[begin : sign.start()].removeprefix(_START).removeprefix("assistant"), sign.end()
            inner = _end_of_arguments(text, body) if _RECIPIENT.search(header) else body
        elif sign[0] != _BODY:
            # A start belongs to what follows, any other sign to what it ends.
            end = sign.start() if sign[0] == _START else sign.end()
            if body is not None:
                yield _Part(text[begin:end], header, text[body : sign.start()])
            elif text[begin : sign.start()]:
                yield text[begin : sign.start()]
            begin, body = end, None
    if body is not None:
        yield _Part(text[begin:], header, _HALF_A_MARK.sub("", text[body:]))
    elif text[begin:]:
        yield text[begin:]


def _end_of_arguments(text: str, start: int) -> int:
    """Where the JSON ends that begins here: a mark within it is text."""
    try:
        return value_at(text, start)[1]
    except ValueError:
        return start


def _call(part: _Part) -> Found:
    written_as = part.text.removeprefix("<|start|>assistant").removesuffix("<|call|>")
    try:
        return Found(written_as, part.recipient, as_object(decoded(part.body.strip())))
    except ValueError:
        return Found(written_as, part.recipient)


def _message(role: str, text: str) -> Iterator[Piece]:
    yield from (*control("<|start|>"), Piece(role), *control("<|message|>"), Piece(text), *control("<|end|>"))


def _channel(name: str, text: str) -> Iterator[Piece]:
    yield from (*control("<|channel|>"), Piece(name), *control("<|message|>"), Piece(text))
