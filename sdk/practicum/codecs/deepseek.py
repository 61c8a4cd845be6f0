# ruff: noqa: RUF001, RUF002  # the bars and blanks of its tokens are what they look like: not ASCII
"""DeepSeek: calls between control tokens of their own.

`deepseek-v31` (V3.1, without thinking: it calls no tools while it thinks):

<｜begin▁of▁sentence｜>...<｜User｜>Where is order 1042?<｜Assistant｜></think>
<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>crm_get_order<｜tool▁sep｜>{"order_id": 1042}<｜tool▁call▁end｜>
<｜tool▁calls▁end｜><｜end▁of▁sentence｜><｜tool▁output▁begin｜>{"id": 1042}<｜tool▁output▁end｜>

(in one line). `deepseek-v3` (V3, R1) writes `function<｜tool▁sep｜>crm_get_order`, and the arguments in a fence below.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from practicum.codecs.codec import Piece
from practicum.codecs.family import Family, Opening, control, joined
from practicum.codecs.reading import Found, as_object, value_at, written
from practicum.codecs.signatures import function_of
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Tool

_CALLS = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
_CALL = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"
_OUTPUTS = "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"
_OUTPUT = "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"
_SEPARATOR = "<｜tool▁sep｜>"
_HEAD = re.compile(rf"(?:function{_SEPARATOR}(?P<below>[^\n]*)\n```json\n|(?P<name>[^\n<]*){_SEPARATOR})\s*")
_TAIL = re.compile(rf"\s*(?:```)?\s*(?:{_CALL[1]})?\s*")
_TOOLS = """## Tools

Do the task by calling tools. Their definitions, one a line:
{tools}

Write calls in this form, one behind the other, the arguments as a JSON object:
"""


class DeepSeekV31(Family):
    """See the module's picture."""

    name = "deepseek-v31"
    stops = ("<｜end▁of▁sentence｜>",)
    marks = (*_CALLS, *_CALL, _SEPARATOR)
    begins = (_CALLS[0], _CALL[0])

    def _opening(self, system: str, tools: Sequence[Tool], rest: Sequence[Message]) -> Opening:
        lines = "\n".join(written({"type": "function", "function": function_of(tool)}) for tool in tools)
        head = "\n\n".join(part for part in (system, _TOOLS.format(tools=lines) if tools else "") if part)
        form = self._said("", (ToolCall(id="", name="name_of_the_tool", arguments={}),)) if tools else ()
        return (*control("<｜begin▁of▁sentence｜>"), *joined((Piece(head), *form))), rest

    def _heard(self, message: Message) -> Iterator[Piece]:
        yield from (*control("<｜User｜>"), Piece(message.content or ""))

    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        del names
        for told in run:
            yield from (*control(_OUTPUT[0]), Piece(told.content or ""), *control(_OUTPUT[1]))

    def _answering(self, before: str) -> tuple[Piece, ...]:
        return () if before == "tool" else (*control("<｜Assistant｜>"), Piece("</think>"))

    def _said(self, content: str, calls: Sequence[ToolCall]) -> Iterator[Piece]:
        yield Piece(content)
        if calls:
            yield from control(_CALLS[0])
        for place, call in enumerate(calls):
            yield Piece(self._gap if place else "")
            yield from self._call(call) if call.malformed is None else (Piece(call.malformed),)
        if calls and calls[-1].malformed is None:
            yield from control(_CALLS[1])

    _gap = ""

    def _call(self, call: ToolCall) -> tuple[Piece, ...]:
        arguments = Piece(written(call.arguments))
        return (*control(_CALL[0]), Piece(call.name), *control(_SEPARATOR), arguments, *control(_CALL[1]))

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        del tools
        before, _, after = text.partition(_CALLS[0])
        if _CALLS[0] not in text:
            before, begun, after = text.partition(_CALL[0])
            after = begun + after
        yield before
        while after := after.strip():
            if after.startswith(_CALLS[1]):
                yield after.removeprefix(_CALLS[1])
                return
            found = _found(after)
            yield found
            after = after[len(found.text) :]


class DeepSeekV3(DeepSeekV31):
    """V3 and R1."""

    name = "deepseek-v3"
    thinking = ("<think>\n", "\n</think>\n\n")
    _gap = "\n"

    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        yield from control(_OUTPUTS[0])
        for place, told in enumerate(run):
            yield from (Piece("\n"),) if place else ()
            yield from super()._results((told,), names)
        yield from control(_OUTPUTS[1])

    def _answering(self, before: str) -> tuple[Piece, ...]:
        return () if before == "tool" else control("<｜Assistant｜>")

    def _call(self, call: ToolCall) -> tuple[Piece, ...]:
        below = Piece(f"{call.name}\n```json\n{written(call.arguments)}\n```")
        return (*control(_CALL[0]), Piece("function"), *control(_SEPARATOR), below, *control(_CALL[1]))


def _found(text: str) -> Found:
    """The call that a text begins with, in either form."""
    start = len(_CALL[0]) if text.startswith(_CALL[0]) else 0
    head = _HEAD.match(text, start)
    name = "" if head is None else (head["below"] or head["name"] or "").strip()
    try:
        value, end = value_at(text, len(text) if head is None else head.end())
    except ValueError:
        ends = (place for mark in (_CALL[0], _CALLS[1]) if (place := text.find(mark, start)) >= 0)
        return Found(text[: min(ends, default=len(text))].rstrip() or text, name)
    tail = _TAIL.match(text, end)
    return Found(text[: end if tail is None else tail.end()], name, as_object(value))
