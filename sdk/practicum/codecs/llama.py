"""Llama 3 and 4, and Gemma 3: calls as JSON or as Python, at the place of words.

`llama3-json` (Llama 3.1 to 3.3):

<|begin_of_text|><|start_header_id|>user<|end_header_id|>

[the tools, and] Where is order 1042?<|eot_id|><|start_header_id|>assistant<|end_header_id|>

{"name": "crm_get_order", "parameters": {"order_id": 1042}}<|eot_id|><|start_header_id|>ipython<|end_header_id|>

{"id": 1042}<|eot_id|><|start_header_id|>assistant<|end_header_id|>

`llama3-pythonic` (ToolACE and others on Llama 3), `llama4-pythonic` and `gemma-pythonic` write
`[crm_get_order(order_id=1042)]` there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from practicum.codecs.codec import Piece
from practicum.codecs.family import Family, Opening, control
from practicum.codecs.grammar import Grammar, literal, object_call
from practicum.codecs.pythonic import found_calls, written_calls
from practicum.codecs.reading import Found, items, written
from practicum.codecs.signatures import function_of
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Tool

_PYTHON_TAG = "<|python_tag|>"
_JSON_CALL = re.compile(r'\{\s*"(?:type"\s*:\s*"function"\s*,\s*")?(?:name|function)"\s*:\s*"([^"\\]*)"')
_JSON_ARGUMENTS = re.compile(r'"(?:parameters|arguments)"\s*:')
_CALLS_PER_TURN = 8
_TOOLS = """Do the task by calling tools. {form} Where no call is due, answer in words. The tools:

{tools}"""
_JSON_FORM = (
    'Write a call as {"name": <name of the tool>, "parameters": <object with its arguments>}, '
    "without variables and without other words; several calls with a semicolon between them."
)
_PYTHON_FORM = (
    "Write calls as one list, [tool_a(argument=value, other=value), tool_b()], "
    "with values as in Python, without variables and without other words."
)


class _Headers(NamedTuple):
    """The control tokens around a role, at the end of a turn, and at the beginning of all."""

    begin: str
    start: str
    end: str
    turn: str


_LLAMA3 = _Headers("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
_LLAMA4 = _Headers("<|begin_of_text|>", "<|header_start|>", "<|header_end|>", "<|eot|>")


class _Llama(Family):
    """Turns between headers; tools stand before the first words of the user, or at the end of the system message."""

    headers = _LLAMA3
    form = _PYTHON_FORM
    stops = (_LLAMA3.turn, "<|eom_id|>")
    marks = (_PYTHON_TAG,)

    def _opening(self, system: str, tools: Sequence[Tool], rest: Sequence[Message]) -> Opening:
        lines = "\n\n".join(written(function_of(tool)) for tool in tools)
        told = _TOOLS.format(form=self.form, tools=lines) if tools else ""
        begin, with_user = control(self.headers.begin), bool(rest) and rest[0].role == "user"
        if not with_user or not told:
            head = "\n\n".join(part for part in (system, told) if part)
            return (*begin, *(self._turn("system", head) if head else ())), rest
        first = self._turn("user", told, f"\n\n{rest[0].content or ''}")
        return (*begin, *(self._turn("system", system) if system else ()), *first), rest[1:]

    def _heard(self, message: Message) -> Iterator[Piece]:
        return self._turn(message.role, message.content or "")

    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        del names
        for told in run:
            yield from self._turn("ipython", told.content or "")

    def _answering(self, before: str) -> tuple[Piece, ...]:
        del before
        return self._header("assistant")

    def _said(self, content: str, calls: Sequence[ToolCall]) -> Iterator[Piece]:
        yield Piece("\n\n".join(part for part in (content, self._written(calls)) if part))

    def _written(self, calls: Sequence[ToolCall]) -> str:
        return written_calls(calls)

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        return found_calls(text, tools)

    def _header(self, role: str) -> tuple[Piece, ...]:
        return (*control(self.headers.start), Piece(role), *control(self.headers.end), Piece("\n\n"))

    def _turn(self, role: str, *texts: str) -> Iterator[Piece]:
        yield from self._header(role)
        yield from (Piece(text) for text in texts if text)
        yield from control(self.headers.turn)


class Llama3Json(_Llama):
    """Llama 3.1 to 3.3: see the module's picture."""

    name = "llama3-json"
    form = _JSON_FORM
    begins = (_PYTHON_TAG, "{")

    def grammar(self, tools: Sequence[Tool]) -> str | None:
        """Words that do not begin with a brace, or well-formed calls of these tools."""
        if not tools:
            return None
        grammar = Grammar()
        call = object_call(grammar, tools, "parameters")
        grammar.add("calls", f'{call} ("; " {call}){{0,{_CALLS_PER_TURN - 1}}}')
        grammar.add("words", r"[^{<\x00-\x20] [^\x00]*")
        return grammar.text(f"{literal(_PYTHON_TAG)}? calls | words")

    def _written(self, calls: Sequence[ToolCall]) -> str:
        return "; ".join(
            written({"name": call.name, "parameters": call.arguments}) if call.malformed is None else call.malformed
            for call in calls
        )

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        before, tag, after = text.partition(_PYTHON_TAG)
        if tag:
            yield before
            yield from items(after)
            return
        names = {tool.name for tool in tools}
        first = len(text) - len(text.lstrip())
        for match in _JSON_CALL.finditer(text):
            if match[1] in names or (match.start() == first and _JSON_ARGUMENTS.search(text, first)):
                yield text[: match.start()]
                yield from items(text[match.start() :])
                return
        yield text


class Llama3Pythonic(_Llama):
    """Models on Llama 3 that were taught to call in Python."""

    name = "llama3-pythonic"
    begins = ("[",)

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        return found_calls(text.replace(_PYTHON_TAG, ""), tools)


class Llama4Pythonic(_Llama):
    """Llama 4."""

    name = "llama4-pythonic"
    headers = _LLAMA4
    stops = (_LLAMA4.turn, "<|eom|>")
    marks = ("<|python_start|>", "<|python_end|>")
    begins = ("[", *marks)

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        for mark in self.marks:
            text = text.replace(mark, "")
        return found_calls(text, tools)


class GemmaPythonic(Family):
    """Gemma 3, which knows of no system message and no tools: both are told before the first words of the user."""

    name = "gemma-pythonic"
    stops = ("<end_of_turn>",)
    begins = ("[",)

    def _opening(self, system: str, tools: Sequence[Tool], rest: Sequence[Message]) -> Opening:
        lines = "\n".join(written(function_of(tool)) for tool in tools)
        told = _TOOLS.format(form=_PYTHON_FORM, tools=lines) if tools else ""
        head = "\n\n".join(part for part in (system, told) if part)
        if rest and rest[0].role == "user":
            texts, rest = (f"{head}\n\n" if head else "", rest[0].content or ""), rest[1:]
        else:
            texts = (head,)
        return (*control("<bos>"), *(_gemma("user", *texts) if any(texts) else ())), rest

    def _heard(self, message: Message) -> Iterator[Piece]:
        return _gemma("user", message.content or "")

    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        del names
        return _gemma("user", "\n".join(f"<tool_response>\n{told.content or ''}\n</tool_response>" for told in run))

    def _answering(self, before: str) -> tuple[Piece, ...]:
        del before
        return (*control("<start_of_turn>"), Piece("model\n"))

    def _between(self) -> tuple[Piece, ...]:
        return (Piece("\n"),)

    def _said(self, content: str, calls: Sequence[ToolCall]) -> Iterator[Piece]:
        yield Piece("\n\n".join(part for part in (content, written_calls(calls)) if part))

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        return found_calls(text, tools)


def _gemma(role: str, *texts: str) -> Iterator[Piece]:
    yield from (*control("<start_of_turn>"), Piece(f"{role}\n"))
    yield from (Piece(text) for text in texts if text)
    yield from (*control("<end_of_turn>"), Piece("\n"))
