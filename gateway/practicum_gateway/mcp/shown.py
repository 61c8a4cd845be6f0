"""Which tools an MCP caller is shown: those that the rules may let it call, or two in place of many."""

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from practicum.contracts.access import Outcome
from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Effect, Observation, Tool
from practicum.episode.disclosure import CHARACTERS_PER_TOKEN, Disclosure, Search, exceeds
from practicum.errors import RequestError
from practicum_connectors.catalogue.profiles import PROFILES
from practicum_gateway.access.principals import Actor, Principal
from practicum_gateway.access.rules import possible
from practicum_gateway.house import House

PAGE = 100
"""Most tools in one page of a list."""
LONGEST_WAIT = 60
"""Most seconds for which a look at an approval waits for its answer."""
DENIED = frozenset({Outcome.DENY})
"""What may be decided about a tool that no list shows."""
_LOOK = "check_approval"


@dataclass(frozen=True)
class Shown:
    """The tools of one caller.

    Attributes:
        tools: those that it may call under some arguments, sorted by name.
        budget: tokens of definitions that `tools` exceed, so that two others find and call them; None where all are
            listed.
        look: the tool that looks at an approval; None where nothing is asked about.
    """

    tools: tuple[Tool, ...]
    budget: int | None = None
    look: Tool | None = None

    @classmethod
    async def to(cls, house: House, caller: Principal) -> Self:
        """What this caller is shown.

        Raises:
            NotFoundError: the episode of its key is not there.
        """
        stored = None if caller.episode is None else await house.episodes.stored(caller, caller.episode)
        every = await house.catalogue.tools(("*",)) if stored is None else stored.tools
        rules, actor = await house.rulebook.current(), Actor(caller.name, caller.role)
        outcomes = {tool.name: possible(rules, tool, actor) for tool in every}
        tools = tuple(tool for tool in every if outcomes[tool.name] != DENIED)
        asks = any(Outcome.ASK in may for may in outcomes.values())
        return cls(
            tools=tools,
            budget=_budget(tools, house.settings.mcp_tool_tokens) if stored is None else stored.tool_budget,
            look=_look_tool(every) if asks else None,
        )

    @cached_property
    def disclosure(self) -> Disclosure | None:
        """The two tools in place of many."""
        return None if self.budget is None else Disclosure.of(self.tools)

    @cached_property
    def listed(self) -> tuple[Tool, ...]:
        """The tools that a list shows, sorted by name."""
        shown = self.tools if self.disclosure is None else self.disclosure.tools
        return tuple(sorted((*shown, *(() if self.look is None else (self.look,))), key=lambda tool: tool.name))

    def page(self, cursor: str | None) -> tuple[tuple[Tool, ...], str | None]:
        """The tools of a page and the cursor of the next.

        Raises:
            RequestError: the cursor is none of ours.
        """
        after = None if cursor is None else _name_of(cursor)
        left = [tool for tool in self.listed if after is None or tool.name > after]
        return tuple(left[:PAGE]), (_cursor_of(left[PAGE - 1].name) if len(left) > PAGE else None)

    def found(self, fitting: Sequence[Tool], wanted: Search) -> Observation:
        """What a search among the tools answers.

        Args:
            fitting: the tools that fit, best first.
            wanted: the search.

        Raises:
            ValueError: the tools are all listed.
        """
        if self.disclosure is None or self.budget is None:
            raise ValueError("nothing is searched where every tool is listed")
        # Half of the budget: what a search told stays in the conversation, beside what the next one tells.
        return self.disclosure.told(fitting, wanted, self.budget * CHARACTERS_PER_TOKEN // 2)


def definition(tool: Tool) -> JsonObject:
    """A tool as `tools/list` shows it."""
    return PROFILES["mcp"].tool(tool).definition


def _budget(tools: Sequence[Tool], tokens: int) -> int | None:
    return tokens if exceeds(_written(tools), tokens) else None


def _written(tools: Sequence[Tool]) -> Iterator[str]:
    for tool in tools:
        yield json.dumps(definition(tool), ensure_ascii=False, separators=(",", ":"))


def _look_tool(every: Sequence[Tool]) -> Tool:
    taken = {tool.name for tool in every}
    number, name = 1, _LOOK
    while name in taken:
        number += 1
        name = f"{_LOOK}_{number}"
    return Tool(
        name=name,
        connector="",
        operation=name,
        description=(
            "Look at a call that waits for a person's approval. Answers with where it stands and, once the call was "
            "made, with its outcome. To make a call that was approved, call the tool again with the same arguments."
        ),
        input_schema={
            "type": "object",
            "properties": {
                "approval": {"type": "string", "description": "Id of the approval, as the waiting call gave it."},
                "wait_seconds": {
                    "type": "integer",
                    "description": "How long to wait for an answer at most, 0 by default.",
                    "minimum": 0,
                    "maximum": LONGEST_WAIT,
                },
            },
            "required": ["approval"],
            "additionalProperties": False,
        },
        effect=Effect.READ,
        method="GET",
        path="",
    )


def _cursor_of(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _name_of(cursor: str) -> str:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise RequestError("The cursor is not one of this list.", mend="Begin without a cursor.") from None
