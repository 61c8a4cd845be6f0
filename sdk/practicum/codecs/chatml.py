"""`chatml-compact`: ChatML with one-line tool signatures and calls as JSON, for small models such as SmolLM2.

A conversation looks like this:

<|im_start|>system
You do tasks by calling tools ...
crm_get_order(order_id: int)<|im_end|>
<|im_start|>user
Where is order 1042?<|im_end|>
<|im_start|>assistant
<tool_call>{"name":"crm_get_order","arguments":{"order_id":1042}}</tool_call><|im_end|>
<|im_start|>tool
{"id":1042,"status":"shipped"}<|im_end|>
<|im_start|>assistant
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import cast

from practicum.codecs.codec import Piece, text_of
from practicum.codecs.grammar import Grammar, literal
from practicum.codecs.signatures import signature
from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Effect, Tool

_START = Piece("<|im_start|>", control=True)
_END = Piece("<|im_end|>", control=True)
_NEWLINE = Piece("\n")
_OPEN = "<tool_call>"
_CLOSE = "</tool_call>"
_TOOLS = 'Tools, called as <tool_call>{"name":"...","arguments":{...}}</tool_call>:'
_NAME = re.compile(r'"name"\s*:\s*"([A-Za-z0-9_.-]{1,64})"')
_STRING_OR_SPACE = re.compile(r'"(?:[^"\\]|\\.)*"|\s+', re.DOTALL)
_ARGUMENTS = '"arguments":'
_CALLS_PER_TURN = 8


class ChatMLCompact:
    """ChatML with compact tools; see the module's picture."""

    name: str = "chatml-compact"
    stop: str = "<|im_end|>"

    @property
    def template_hash(self) -> str:
        """SHA-256 of what it renders for conversations with every kind of message, and of the grammar it holds to."""
        return _hash()

    def render(self, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[Piece, ...]:
        """The prompt of a conversation, up to where the assistant speaks next."""
        system, rest = _head(messages)
        listing = "\n".join([_TOOLS, *(signature(tool) for tool in tools)]) if tools else ""
        head = "\n".join(part for part in (system, listing) if part)
        opening = (*_turn("system", head), _END, _NEWLINE) if head else ()
        return (*opening, *self._spoken(rest), _START, Piece("assistant\n"))

    def suffix(self, messages: Sequence[Message], *, closed: bool) -> tuple[Piece, ...]:
        """What follows a sampled turn, up to where the assistant speaks next."""
        end = (_NEWLINE,) if closed else (_END, _NEWLINE)
        return (*end, *self._spoken(messages), _START, Piece("assistant\n"))

    def turn(self, message: Message) -> tuple[Piece, ...]:
        """An assistant's message as the model would have sampled it, the end of turn included."""
        body = "\n".join(part for part in (message.content or "", *map(_written, message.tool_calls)) if part)
        return (Piece(body), _END) if body else (_END,)

    def parse(self, text: str, calls_before: int) -> Message:
        """The assistant's message that a sampled turn says; what cannot be read as a call is kept as malformed."""
        prose: list[str] = []
        calls: list[ToolCall] = []
        for segment, is_call in _segments(text):
            if is_call:
                calls.append(_read(segment, f"call_{calls_before + len(calls) + 1}"))
            else:
                prose.append(segment)
        content = "".join(prose).strip()
        return Message(role="assistant", content=content or (None if calls else ""), tool_calls=tuple(calls))

    def visible(self, text: str) -> str:
        """The part of a turn sampled so far that is surely text for the reader and no part of a call."""
        before, found, _ = text.partition(_OPEN)
        if found:
            return before.strip()
        for length in range(min(len(_OPEN) - 1, len(text)), 0, -1):
            if text.endswith(_OPEN[:length]):
                return text[:-length].strip()
        return text.strip()

    def grammar(self, tools: Sequence[Tool]) -> str | None:
        """A GBNF grammar of a text answer or well-formed calls of these tools; None where there are no tools."""
        if not tools:
            return None
        grammar = Grammar()
        bodies = [
            f"{literal(json.dumps(tool.name) + ',')} ws {literal(_ARGUMENTS)} ws "
            + grammar.arguments(f"tool-{index}", tool.input_schema)
            for index, tool in enumerate(tools)
        ]
        grammar.add("tool", " | ".join(bodies))
        grammar.add("call", f"{literal(_OPEN + '{' + json.dumps('name') + ':')} ws tool {literal('}' + _CLOSE)}")
        grammar.add("calls", f'call ("\\n" call){{0,{_CALLS_PER_TURN - 1}}}')
        # An answer in words may hold any character, but nothing that reads as the beginning of a call.
        grammar.add("answer", r'[^<\x00-\x20] ([^<\x00] | "<" [^t\x00])*')
        return grammar.text("calls | answer")

    def _spoken(self, messages: Sequence[Message]) -> Iterator[Piece]:
        for message in messages:
            if message.role == "assistant":
                yield from (_START, Piece("assistant\n"), *self.turn(message), _NEWLINE)
                continue
            content = message.content or ""
            yield from _turn(message.role, _minified(content) if message.role == "tool" else content)
            yield from (_END, _NEWLINE)


@cache
def _hash() -> str:
    codec = ChatMLCompact()
    probe = text_of(codec.render(_PROBE, (_PROBE_TOOL,))) + text_of(codec.render(_PROBE[1:], ()))
    return hashlib.sha256(f"{codec.name}\n{probe}\n{codec.grammar((_PROBE_TOOL,))}".encode()).hexdigest()


def _head(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    if messages and messages[0].role == "system":
        return messages[0].content or "", messages[1:]
    return "", messages


def _turn(role: str, content: str) -> tuple[Piece, ...]:
    head = (_START, Piece(f"{role}\n"))
    return (*head, Piece(content)) if content else head


def _written(call: ToolCall) -> str:
    if call.malformed is not None:
        return call.malformed
    body = {"name": call.name, "arguments": call.arguments}
    return f"{_OPEN}{json.dumps(body, ensure_ascii=False, separators=(',', ':'))}{_CLOSE}"


def _minified(content: str) -> str:
    """JSON without the white space between its tokens, every number and string left as written; other text as it is."""
    if not content.lstrip().startswith(("{", "[")):
        return content
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return content
    return _STRING_OR_SPACE.sub(lambda found: found[0] if found[0].startswith('"') else "", content)


def _segments(text: str) -> Iterator[tuple[str, bool]]:
    """The text cut into prose and calls; a call's segment holds its tags as far as they were written."""
    position = 0
    while (start := text.find(_OPEN, position)) >= 0:
        if start > position:
            yield text[position:start], False
        end = _end_of_call(text, start + len(_OPEN))
        yield text[start:end], True
        position = end
    if position < len(text):
        yield text[position:], False


def _end_of_call(text: str, start: int) -> int:
    """Where the call that begins here ends: after the tag that follows its JSON, for a tag within a string is text."""
    try:
        _, length = _DECODER.raw_decode(text[start:].lstrip())
        inner = len(text[start:]) - len(text[start:].lstrip()) + length
    except (ValueError, RecursionError):
        inner = 0
    close = text.find(_CLOSE, start + inner)
    again = text.find(_OPEN, start + inner)
    if close >= 0 and (again < 0 or close < again):
        return close + len(_CLOSE)
    return again if again >= 0 else len(text)


def _read(segment: str, identity: str) -> ToolCall:
    body = segment.removeprefix(_OPEN).removesuffix(_CLOSE)
    arguments: JsonObject | None = None
    name: object = None
    try:
        segment.encode()
        value: object = _DECODER.decode(body.strip())
        if segment.endswith(_CLOSE) and isinstance(value, dict):
            call = cast("JsonObject", value)
            name, found = call.get("name"), call.get("arguments", {})
            arguments = found if isinstance(found, dict) and set(call) <= {"name", "arguments"} else None
    except (ValueError, RecursionError):
        pass
    if isinstance(name, str) and name and arguments is not None:
        return ToolCall(id=identity, name=name, arguments=arguments)
    guess = _NAME.search(body)
    return ToolCall(id=identity, name=guess[1] if guess else "", arguments={}, malformed=segment)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)

_PROBE_TOOL = Tool(
    name="shop_get",
    connector="shop",
    operation="get",
    description="",
    effect=Effect.READ,
    method="GET",
    path="/",
    input_schema={
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "integer"},
            "state": {"enum": ["open", "shut"]},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
            "extra": {},
        },
    },
)
_PROBE = (
    Message(role="system", content="S"),
    Message(role="user", content="U"),
    Message(
        role="assistant",
        content="A",
        tool_calls=(
            ToolCall(id="call_1", name="shop_get", arguments={"id": 1, "state": "open"}),
            ToolCall(id="call_2", name="", arguments={}, malformed="<tool_call>{"),
        ),
    ),
    Message(role="tool", content='{"a": [1, "b c"]}', tool_call_id="call_1"),
    Message(role="tool", content="not found", tool_call_id="call_2"),
)
