"""`hermes`: ChatML with a JSON object in `<tool_call>` tags for each call: Hermes, Qwen 2.5 and 3, and many more.

<|im_start|>system
You do tasks ...

# Tools
...<|im_end|>
<|im_start|>user
Where is order 1042?<|im_end|>
<|im_start|>assistant
<think>
I have to look.
</think>

Let me see.
<tool_call>
{"name": "crm_get_order", "arguments": {"order_id": 1042}}
</tool_call><|im_end|>
<|im_start|>user
<tool_response>
{"id": 1042, "status": "shipped"}
</tool_response><|im_end|>
<|im_start|>assistant

`granite4` is the same between the control tokens of IBM's Granite 4.
"""

from collections.abc import Iterator, Mapping, Sequence

from practicum.codecs.codec import Piece
from practicum.codecs.family import Family, Opening, control
from practicum.codecs.grammar import Grammar, literal, object_call, thought, words
from practicum.codecs.reading import Found, call_text, segments, written
from practicum.codecs.signatures import function_of
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Tool

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_CALLS_PER_TURN = 8
_TOOLS = """# Tools

Do the task by calling tools. Each line within the tags is the definition of one:
<tools>
{tools}
</tools>

Write each call as a JSON object within tags of its own:
<tool_call>
{{"name": <name of the tool>, "arguments": <object with its arguments>}}
</tool_call>"""


class ChatML(Family):
    """What the dialects in ChatML share: turns, results as a user's turn, thoughts in `<think>` tags."""

    stops = ("<|im_end|>",)
    begins = (OPEN,)
    thinking = ("<think>\n", "\n</think>\n\n")

    def _opening(self, system: str, tools: Sequence[Tool], rest: Sequence[Message]) -> Opening:
        head = "\n\n".join(part for part in (system, self._told(tools) if tools else "") if part)
        return tuple(self._turn("system", head)) if head else (), rest

    def _told(self, tools: Sequence[Tool]) -> str:
        """The tools, and how they are called."""
        lines = (written({"type": "function", "function": function_of(tool)}) for tool in tools)
        return _TOOLS.format(tools="\n".join(lines))

    def _heard(self, message: Message) -> Iterator[Piece]:
        return self._turn(message.role, message.content or "")

    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        del names
        return self._turn("user", "\n".join(f"<tool_response>\n{told.content or ''}\n</tool_response>" for told in run))

    def _answering(self, before: str) -> tuple[Piece, ...]:
        del before
        return (*control("<|im_start|>"), Piece("assistant\n"))

    def _between(self) -> tuple[Piece, ...]:
        return (Piece("\n"),)

    def _turn(self, role: str, text: str) -> Iterator[Piece]:
        yield from (*control("<|im_start|>"), Piece(f"{role}\n"))
        if text:
            yield Piece(text)
        yield from (*control(*self.stops), Piece("\n"))


class Hermes(ChatML):
    """See the module's picture."""

    name = "hermes"

    def grammar(self, tools: Sequence[Tool]) -> str | None:
        """A thought, words and well-formed calls of these tools, in this order, each if it is there."""
        if not tools:
            return None
        grammar = Grammar()
        body = object_call(grammar, tools)
        grammar.add("call", f"{literal(OPEN)} [\\n]? {body} [\\n]? {literal(CLOSE)}")
        grammar.add("calls", f"call ([\\n]? call){{0,{_CALLS_PER_TURN - 1}}}")
        grammar.add("words", words(OPEN))
        return grammar.text(f"{thought('<think>', '</think>')} (words? calls | words)")

    def _said(self, content: str, calls: Sequence[ToolCall]) -> Iterator[Piece]:
        yield Piece("\n".join(part for part in (content, *map(_written, calls)) if part))

    def _read(self, text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
        del tools
        for segment, is_call in segments(text, OPEN, CLOSE):
            yield call_text(segment, _body(segment)) if is_call else segment


class Granite4(Hermes):
    """Granite 4: the same calls, other control tokens, no thoughts."""

    name = "granite4"
    stops = ("<|end_of_text|>",)
    thinking = None

    def _answering(self, before: str) -> tuple[Piece, ...]:
        del before
        return _role("assistant")

    def _results(self, run: Sequence[Message], names: Mapping[str, str]) -> Iterator[Piece]:
        del names
        told = (f"\n<tool_response>\n{each.content or ''}\n</tool_response>" for each in run)
        return self._turn("user", "".join(told))

    def _turn(self, role: str, text: str) -> Iterator[Piece]:
        yield from (*_role(role), *((Piece(text),) if text else ()), *control(*self.stops), Piece("\n"))


def _role(name: str) -> tuple[Piece, ...]:
    return (*control("<|start_of_role|>"), Piece(name), *control("<|end_of_role|>"))


def _body(segment: str) -> str:
    """What stands between the tags of a call, of which the second may not be whole."""
    length = next((length for length in range(len(CLOSE), 0, -1) if segment.endswith(CLOSE[:length])), 0)
    return segment[len(OPEN) : len(segment) - length]


def _written(call: ToolCall) -> str:
    if call.malformed is not None:
        return call.malformed
    return f"{OPEN}\n{written({'name': call.name, 'arguments': call.arguments})}\n{CLOSE}"
