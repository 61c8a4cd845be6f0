"""Dialects that write each argument within tags of its own, as bare text.

`qwen3-coder`, in ChatML, of Qwen 3 Coder and Qwen 3.5:

<tool_call>
<function=crm_get_order>
<parameter=order_id>
1042
</parameter>
</function>
</tool_call>

`glm`, of GLM 4.5 and 4.6, whose model ends its turn by naming who speaks next:

<|assistant|>
<think></think>
<tool_call>crm_get_order
<arg_key>order_id</arg_key>
<arg_value>1042</arg_value>
</tool_call><|observation|>
<tool_response>
{"id": 1042}
</tool_response><|assistant|>

Strings stand without quotes, so what is text and what a number is read by the tool's schema.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from practicum.codecs.codec import Piece
from practicum.codecs.family import Family, Opening, control
from practicum.codecs.hermes import CLOSE, OPEN, ChatML
from practicum.codecs.reading import Found, call_text, written
from practicum.codecs.signatures import function_of
from practicum.codecs.typed import bare, typed
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Tool

_TOOLS = """# Tools

Do the task by calling tools. Each line within the tags is the definition of one:
<tools>
{tools}
</tools>

Write a call in this form, and nothing behind it:
{form}"""


@dataclass(frozen=True, slots=True)
class _Form:
    """How a call is written.

    Attributes:
        begin: where a call begins; the group `name` is the tool's.
        key: an argument's beginning, its name the first group.
        value: the end of an argument's value: a tag within the value is none where no further argument follows it.
        gap: what stands between a value and its end.
        end: the end of the call.
        shown: the form as a model is told it.
    """

    begin: re.Pattern[str]
    key: re.Pattern[str]
    value: re.Pattern[str]
    gap: str
    end: re.Pattern[str]
    shown: str

    def told(self, tools: Sequence[Tool]) -> str:
        """The tools, and how they are called."""
        lines = (written({"type": "function", "function": function_of(tool)}) for tool in tools)
        return _TOOLS.format(tools="\n".join(lines), form=self.shown)

    def read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        """Prose and calls."""
        position = 0
        # Looked for once: a text of many calls, none of whose values ends, would be searched to its end for each.
        ends = [(end.start(), end.end()) for end in self.value.finditer(text)]
        while (begun := self.begin.search(text, position)) is not None:
            if begun.start() > position:
                yield text[position : begun.start()]
            found = self._call(text, begun, ends, tools)
            yield found
            position = begun.start() + len(found.text)
        if position < len(text):
            yield text[position:]

    def _call(self, text: str, begun: re.Match[str], ends: Sequence[tuple[int, int]], tools: Sequence[Tool]) -> Found:
        at, given, name = begun.end(), dict[str, str](), begun["name"] or ""
        while (key := self.key.match(text, at)) is not None:
            following = bisect_left(ends, (key.end(), 0))
            if following == len(ends):
                break
            end, at = ends[following]
            given[key[1]] = text[key.end() : end].removesuffix(self.gap)
        ended = self.end.match(text, at)
        if ended is not None and name:
            return Found(text[begun.start() : ended.end()], name, typed(name, given, tools))
        again = self.begin.search(text, begun.end())
        segment = text[begun.start() : len(text) if again is None else again.start()]
        head, closed, _ = segment.partition(CLOSE)
        # A call as JSON, which these models write now and then, is no less clear.
        found = call_text(head + closed, head.removeprefix(OPEN))
        return found if found.name or not name else Found(found.text, name)


_CODER = _Form(
    begin=re.compile(r"(?:<tool_call>\s*)?<function=(?P<name>[^<>\n]*)>|<tool_call>"),
    key=re.compile(r"\s*<parameter=([^<>\n]+)>\n?"),
    value=re.compile(r"</parameter>(?=\s*(?:<parameter=|</function>))"),
    gap="\n",
    end=re.compile(r"\s*</function>(?:\s*</tool_call>)?"),
    shown="""<tool_call>
<function=name_of_the_tool>
<parameter=name_of_an_argument>
its value, which may have
several lines
</parameter>
</function>
</tool_call>""",
)
_GLM = _Form(
    begin=re.compile(r"<tool_call>\s*(?P<name>[^\s<{]*)"),
    key=re.compile(r"\s*<arg_key>([^<]*)</arg_key>\s*<arg_value>"),
    value=re.compile(r"</arg_value>(?=\s*(?:<arg_key>|</tool_call>))"),
    gap="",
    end=re.compile(r"\s*</tool_call>"),
    shown="""<tool_call>name_of_the_tool
<arg_key>name_of_an_argument</arg_key>
<arg_value>its value</arg_value>
</tool_call>""",
)


class Qwen3Coder(ChatML):
    """See the module's first picture."""

    name = "qwen3-coder"
    begins = (OPEN, "<function=")

    def _told(self, tools: Sequence[Tool]) -> str:
        return _CODER.told(tools)

    def _said(self, content: str, calls: Sequence[ToolCall]) -> Iterator[Piece]:
        yield Piece("\n\n".join(part for part in (content, "\n".join(map(_coder_call, calls))) if part))

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        return _CODER.read(text, tools)


_ROLES = {"system": "<|system|>", "user": "<|user|>", "assistant": "<|assistant|>", "tool": "<|observation|>"}


class Glm(Family):
    """See the module's second picture."""

    name = "glm"
    stops = (_ROLES["user"], _ROLES["tool"], "<|endoftext|>")
    begins = (OPEN,)
    thinking = ("\n<think>", "</think>")

    def suffix(self, answer: Message, messages: Sequence[Message], *, ended: str | None) -> tuple[Piece, ...]:
        """What follows a sampled turn; who speaks next is not named twice."""
        del answer
        return tuple(self._spoken(messages, ended or "", {}))

    def _opening(self, system: str, tools: Sequence[Tool], rest: Sequence[Message]) -> Opening:
        parts = (_GLM.told(tools) if tools else "", system)
        turns = (piece for text in parts if text for piece in (*control(_ROLES["system"]), Piece(f"\n{text}")))
        return (*control("[gMASK]", "<sop>"), *turns), rest

    def _spoken(self, messages: Sequence[Message], before: str, names: Mapping[str, str]) -> Iterator[Piece]:
        for role, group in groupby(messages, key=lambda message: message.role):
            run, token = tuple(group), _ROLES[role]
            if role == "tool":
                yield from control(token) if before != token else ()
                yield from self._results(run, names)
                before = ""
            for message in run if role != "tool" else ():
                yield from control(token) if before != token else ()
                yield from self.turn(message) if role == "assistant" else self._heard(message)
                before = self._stop(message) if role == "assistant" else ""
        yield from self._answering(before)

    def _heard(self, message: Message) -> Iterator[Piece]:
        yield Piece(f"\n{message.content or ''}")

    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        del names
        yield Piece("".join(f"\n<tool_response>\n{told.content or ''}\n</tool_response>" for told in run))

    def _answering(self, before: str) -> tuple[Piece, ...]:
        del before
        return control(_ROLES["assistant"])

    def _stop(self, message: Message) -> str:
        return self.stops[1 if message.tool_calls else 0]

    def _thought(self, thought: str | None) -> Iterator[Piece]:
        return super()._thought(thought or "")

    def _said(self, content: str, calls: Sequence[ToolCall]) -> Iterator[Piece]:
        yield Piece("".join(f"\n{part}" for part in (content, *map(_glm_call, calls)) if part))

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        return _GLM.read(text, tools)


def _coder_call(call: ToolCall) -> str:
    if call.malformed is not None:
        return call.malformed
    given = "".join(f"<parameter={name}>\n{bare(value)}\n</parameter>\n" for name, value in call.arguments.items())
    return f"{OPEN}\n<function={call.name}>\n{given}</function>\n{CLOSE}"


def _glm_call(call: ToolCall) -> str:
    if call.malformed is not None:
        return call.malformed
    given = (
        f"<arg_key>{name}</arg_key>\n<arg_value>{bare(value)}</arg_value>" for name, value in call.arguments.items()
    )
    return "\n".join([f"{OPEN}{call.name}", *given, CLOSE])
