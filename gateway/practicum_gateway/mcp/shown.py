"""Which tools an MCP caller is shown: those that the rules may let it call, or two in place of many."""

import base64
import binascii
import json
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from practicum.contracts.access import Outcome, RuleSet
from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Effect, Observation, Tool
from practicum.episode.disclosure import CHARACTERS_PER_TOKEN, Disclosure, Search, exceeds
from practicum.errors import RequestError
from practicum_connectors.catalogue.profiles import PROFILES
from practicum_gateway.access.principals import Actor, Principal
from practicum_gateway.access.rules import possible
from practicum_gateway.house import House
from practicum_gateway.record.values import StoredEpisode

PAGE = 100
"""Most tools in one page of a list."""
LONGEST_WAIT = 60
"""Most seconds for which a look at an approval waits for its answer."""
_REMEMBERED = 64
_AT_A_TIME = 500
_LOOK = "check_approval"


@dataclass(frozen=True)
class Shown:
    """What one caller is shown; of many tools it holds the names alone.

    Attributes:
        names: exposed names of the tools that it may call under some arguments.
        tools: these, sorted by name; none where there are so many that two others find and call them.
        disclosure: those two.
        budget: tokens of definitions that the tools exceed, where the two stand in for them.
        look: the tool that looks at an approval; None where nothing is asked about.
    """

    names: frozenset[str]
    tools: tuple[Tool, ...] = ()
    disclosure: Disclosure | None = None
    budget: int | None = None
    look: Tool | None = None

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


class Display:
    """Shows callers their tools, and remembers what it showed for as long as the rules and the tools are the same.

    To go through thousands of tools takes longer than a call.
    """

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, Principal], tuple[RuleSet, object, Shown]] = OrderedDict()

    async def to(self, house: House, caller: Principal, stored: StoredEpisode | None) -> Shown:
        """What this caller is shown.

        Args:
            house: the services of the caller's tenant.
            caller: who asks.
            stored: the episode of the caller's key.
        """
        rules, whose = await house.rulebook.current(), (house.tenant, caller)
        stock = await house.catalogue.identity() if stored is None else stored.tools
        last = self._last.get(whose)
        if last is not None and last[0] is rules and last[1] == stock:
            self._last.move_to_end(whose)
            return last[2]
        looking = _Looking(rules, Actor(caller.name, caller.role))
        if stored is not None:
            looking.at(stored.tools)
            shown = looking.seen(stored.tool_budget)
        else:
            names = await house.catalogue.names(("*",))
            for begin in range(0, len(names), _AT_A_TIME):  # others are served in between
                looking.at(await house.catalogue.tools(("*",), within=set(names[begin : begin + _AT_A_TIME])))
            shown = looking.bounded(house.settings.mcp_tool_tokens)
        self._last[whose] = rules, stock, shown
        if len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)
        return shown


class _Looking:
    """Goes through tools and notes what a list says of them."""

    def __init__(self, rules: RuleSet, actor: Actor) -> None:
        self._rules = rules
        self._actor = actor
        self._taken: set[str] = set()
        self._asks = False
        self._tools: list[Tool] = []

    def at(self, tools: Sequence[Tool]) -> None:
        for tool in tools:
            outcomes = possible(self._rules, tool, self._actor)
            self._taken.add(tool.name)
            self._asks = self._asks or Outcome.ASK in outcomes
            if outcomes - {Outcome.DENY}:
                self._tools.append(tool)

    def bounded(self, tokens: int) -> Shown:
        """All of them, or two in their place where they need more tokens."""
        return self.seen(tokens if exceeds(_written(self._tools), tokens) else None)

    def seen(self, budget: int | None) -> Shown:
        """All of them, or two in their place where a budget is given."""
        whole = budget is None
        return Shown(
            names=frozenset(tool.name for tool in self._tools),
            tools=tuple(self._tools) if whole else (),
            disclosure=None if whole else Disclosure.of(self._tools),
            budget=budget,
            look=_look_tool(self._taken) if self._asks else None,
        )


def definition(tool: Tool) -> JsonObject:
    """A tool as `tools/list` shows it."""
    return PROFILES["mcp"].tool(tool).definition


def _written(tools: Sequence[Tool]) -> Iterator[str]:
    for tool in tools:
        yield json.dumps(definition(tool), ensure_ascii=False, separators=(",", ":"))


def _look_tool(taken: Collection[str]) -> Tool:
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
