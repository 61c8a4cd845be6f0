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

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from practicum.codecs.codec import Piece, Turn
from practicum.codecs.grammar import Grammar, literal
from practicum.codecs.probe import hash_of
from practicum.codecs.reading import call_text, compact, segments
from practicum.codecs.signatures import signature
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Tool

_START = Piece("<|im_start|>", control=True)
_END = Piece("<|im_end|>", control=True)
_NEWLINE = Piece("\n")
_OPEN = "<tool_call>"
_CLOSE = "</tool_call>"
_TOOLS = 'Tools, called as <tool_call>{"name":"...","arguments":{...}}</tool_call>:'
_ARGUMENTS = '"arguments":'
_CALLS_PER_TURN = 8


class ChatMLCompact:
    """ChatML with compact tools; see the module's picture."""

    name: str = "chatml-compact"
    stops: tuple[str, ...] = ("<|im_end|>",)
    marks: tuple[str, ...] = ()

    @property
    def template_hash(self) -> str:
        """SHA-256 of what it renders for conversations with every kind of message, and of the grammar it holds to."""
        return hash_of(self)

    def render(self, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[Piece, ...]:
        """The prompt of a conversation, up to where the assistant speaks next."""
        system, rest = _head(messages)
        listing = "\n".join([_TOOLS, *(signature(tool) for tool in tools)]) if tools else ""
        head = "\n".join(part for part in (system, listing) if part)
        opening = (*_turn("system", head), _END, _NEWLINE) if head else ()
        return (*opening, *self._spoken(rest), _START, Piece("assistant\n"))

    def suffix(self, answer: Message, messages: Sequence[Message], *, ended: str | None) -> tuple[Piece, ...]:
        """What follows a sampled turn, up to where the assistant speaks next."""
        del answer
        end = (_END, _NEWLINE) if ended is None else (_NEWLINE,)
        return (*end, *self._spoken(messages), _START, Piece("assistant\n"))

    def turn(self, message: Message, thought: str | None = None) -> tuple[Piece, ...]:
        """An assistant's message as the model would have sampled it, the end of turn included; it thinks in silence."""
        del thought
        body = "\n".join(part for part in (message.content or "", *map(_written, message.tool_calls)) if part)
        return (Piece(body), _END) if body else (_END,)

    def parse(self, text: str, tools: Sequence[Tool], calls_before: int) -> Turn:
        """What a sampled turn says; what cannot be read as a call is kept as malformed."""
        del tools
        prose: list[str] = []
        calls: list[ToolCall] = []
        for segment, is_call in segments(text, _OPEN, _CLOSE):
            if is_call:
                calls.append(_read(segment, f"call_{calls_before + len(calls) + 1}"))
            else:
                prose.append(segment)
        content = "".join(prose).strip()
        return Turn(Message(role="assistant", content=content or (None if calls else ""), tool_calls=tuple(calls)))

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
            yield from _turn(message.role, compact(content) if message.role == "tool" else content)
            yield from (_END, _NEWLINE)


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


def _read(segment: str, identity: str) -> ToolCall:
    found = call_text(segment, segment.removeprefix(_OPEN).removesuffix(_CLOSE))
    return (found if segment.endswith(_CLOSE) else replace(found, arguments=None)).call(identity)
