"""Two tools in place of many: one finds the others, one calls them. Pure.

A model that is offered them reads the definitions of what it finds, and of nothing else. What it calls is a call of the
tool that it names, in every respect; what it gets wrong is answered so that it can mend it.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Self, cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import ToolCall
from practicum.contracts.tools import CallStatus, Effect, Observation, Tool

CHARACTERS_PER_TOKEN = 4
"""How tokens of definitions are counted before any tokeniser is known."""
MOST_FOUND = 20
"""Most tools of one search."""

_FOUND = 5
_MOST_RESULT_CHARACTERS = 16_000
_MOST_DESCRIPTION_CHARACTERS = 1_000
_MOST_NAME_CHARACTERS = 200
_NEAR = 5
_SYSTEMS = 20


@dataclass(frozen=True, slots=True)
class Search:
    """What a model wants to find.

    Attributes:
        query: words.
        limit: most tools to show.
    """

    query: str
    limit: int = _FOUND


@dataclass(frozen=True, slots=True)
class Disclosure:
    """The two tools of one set of tools.

    Attributes:
        search: finds tools of the set by words.
        call: calls a tool of the set by its name.
    """

    search: Tool
    call: Tool

    @classmethod
    def of(cls, tools: Sequence[Tool]) -> Self:
        """The two for these tools; where a tool of the set has one of their names, theirs gets a number behind it."""
        taken = {tool.name for tool in tools}
        search, call = _free("search_tools", taken), _free("call_tool", taken)
        return cls(_search_tool(search, call, tools), _call_tool(call, search))

    @property
    def tools(self) -> tuple[Tool, Tool]:
        """Both."""
        return self.search, self.call

    def resolved(self, wish: ToolCall, tools: Sequence[Tool]) -> ToolCall:
        """The call of the tool that a wish comes down to; the wish itself where it names none of the set."""
        meant = self.read(wish, tools) if wish.malformed is None else wish
        return meant if isinstance(meant, ToolCall) else wish

    def read(self, wish: ToolCall, tools: Sequence[Tool]) -> ToolCall | Search | Observation:
        """What a well-formed wish comes down to: a call of one of the tools, a search, or how to mend it.

        Args:
            wish: the call as the model gave it.
            tools: the set.
        """
        if wish.name == self.search.name:
            return self._wanted(wish.arguments)
        if wish.name == self.call.name:
            return self._inner(wish, tools)
        return wish

    def told(self, found: Sequence[Tool], wanted: Search, most_characters: int) -> Observation:
        """What the model reads of a search.

        Args:
            found: every tool that fits, best first.
            wanted: the search.
            most_characters: the bound; tools that do not fit are left out whole, and told of by their number.
        """
        if not found:
            hint = "No tool fits these words. Try other words for what it should do, or what it is about."
            return Observation(status=CallStatus.OK, content=_json({"tools": [], "hint": hint}))
        left = min(most_characters, _MOST_RESULT_CHARACTERS)
        entries: list[JsonValue] = []
        for tool in found[: wanted.limit]:
            entry = _entry(tool)
            left -= len(_json(entry))
            if left < 0:
                break
            entries.append(entry)
        result: JsonObject = {"tools": entries or [_entry(found[0], whole=False)]}
        if len(found) > max(len(entries), 1):
            result["more"] = len(found) - max(len(entries), 1)
            result["hint"] = f"Say more precisely what the tool should do to see others (at most {MOST_FOUND} at once)."
        return Observation(status=CallStatus.OK, content=_json(result))

    def _wanted(self, arguments: JsonObject) -> Search | Observation:
        unknown = sorted(set(arguments) - {"query", "limit"})
        query, limit = arguments.get("query"), arguments.get("limit")
        if unknown:
            return _mendable(f"{self.search.name} takes `query` and `limit` alone, not {', '.join(unknown)}.")
        if not isinstance(query, str) or not query.strip():
            return _mendable(f"Give {self.search.name} a `query`: what the tool should do, in words.")
        if limit is None:
            return Search(query)
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            return _mendable(
                f"`limit` of {self.search.name} is a number from 1 to {MOST_FOUND}; leave it out for some."
            )
        return Search(query, min(limit, MOST_FOUND))

    def _inner(self, wish: ToolCall, tools: Sequence[Tool]) -> ToolCall | Observation:
        unknown = sorted(set(wish.arguments) - {"name", "arguments"})
        name = wish.arguments.get("name")
        if not isinstance(name, str) or not name:
            return _mendable(f"Give {self.call.name} the `name` of a tool that {self.search.name} found.")
        if unknown:
            return _mendable(
                f"{self.call.name} takes `name` and `arguments` alone: put {', '.join(unknown)} into `arguments`."
            )
        if name in (self.search.name, self.call.name):
            return _mendable(f"{self.call.name} does not call {name}. Call {name} itself, or name another tool.")
        tool = next((tool for tool in tools if name in (tool.name, tool.address)), None)
        if tool is None:
            return _mendable(self._unknown(name, tools))
        arguments = _object(wish.arguments.get("arguments"))
        if arguments is None:
            return _mendable(
                f"The `arguments` of {tool.name} must be one JSON object that fits its schema: "
                f"{_json(tool.input_schema)}"
            )
        return wish.model_copy(update={"name": tool.name, "arguments": arguments})

    def _unknown(self, name: str, tools: Sequence[Tool]) -> str:
        shown = name[:_MOST_NAME_CHARACTERS]
        near = get_close_matches(shown, [tool.name for tool in tools], n=_NEAR)
        meant = f" Did you mean {', '.join(near)}?" if near else ""
        return f"There is no tool '{shown}'.{meant} {self.search.name} finds tools by words."


def exceeds(definitions: Iterable[str], tool_tokens: int | None) -> bool:
    """Whether definitions, as they are written into a prompt, need more tokens than a bound; None bounds nothing."""
    if tool_tokens is None:
        return False
    left = tool_tokens * CHARACTERS_PER_TOKEN
    for text in definitions:
        left -= len(text)
        if left < 0:
            return True
    return False


def _free(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where it is taken: `search_tools` can be `tools` of a system `search`."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _search_tool(name: str, call: str, tools: Sequence[Tool]) -> Tool:
    counted = Counter(tool.connector for tool in tools)
    systems = ", ".join(f"{system} ({count})" for system, count in sorted(counted.items())[:_SYSTEMS])
    rest = f" and {len(counted) - _SYSTEMS} more systems" if len(counted) > _SYSTEMS else ""
    return Tool(
        name=name,
        connector="",
        operation=name,
        description=(
            f"Find tools by what they do. There are {len(tools)} tools, of the systems {systems}{rest}; none is shown "
            f"before it is found. Answers with each tool's name, what it does and the schema of its arguments; call it "
            f"with {call}."
        ),
        input_schema={
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What the tool should do, in words."},
                "limit": {
                    "type": "integer",
                    "description": f"Most tools to show, {_FOUND} by default.",
                    "minimum": 1,
                    "maximum": MOST_FOUND,
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        },
        effect=Effect.READ,
        method="GET",
        path="",
    )


def _call_tool(name: str, search: str) -> Tool:
    return Tool(
        name=name,
        connector="",
        operation=name,
        description=f"Call a tool that {search} found.",
        input_schema={
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The tool's name."},
                "arguments": {"type": "object", "description": "Its arguments, as its schema asks for them."},
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        },
        effect=Effect.EXTERNAL,
        method="POST",
        path="",
    )


def _entry(tool: Tool, *, whole: bool = True) -> JsonObject:
    described = tool.description
    if len(described) > _MOST_DESCRIPTION_CHARACTERS:
        described = described[:_MOST_DESCRIPTION_CHARACTERS].rstrip() + " ..."
    entry: JsonObject = {"name": tool.name, "description": described, "effect": tool.effect}
    if whole:
        return {**entry, "arguments": tool.input_schema}
    required = tool.input_schema.get("required", [])
    return {
        **entry,
        "required": required,
        "hint": "The schema of its arguments is too long to show; a call that does not fit is answered with why.",
    }


def _object(value: JsonValue) -> JsonObject | None:
    """Arguments as an object: none mean none, and JSON text is read. None where they are something else."""
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            read: object = json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError):
            return None
        return cast("JsonObject", read) if isinstance(read, dict) else None
    return value if isinstance(value, dict) else None


def _mendable(text: str) -> Observation:
    return Observation(status=CallStatus.ERROR, content=text)


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
