"""Which tools an episode offers, and how they are written for a model that takes OpenAI's form. Pure."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Protocol

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Tool


class Nameable(Protocol):
    """What patterns can name."""

    @property
    def name(self) -> str:
        """Exposed name."""
        ...

    @property
    def address(self) -> str:
        """`connector.operation`."""
        ...


def named(tool: Nameable, patterns: Sequence[str]) -> bool:
    """Whether any of the glob patterns names the tool, by `connector.operation` or by exposed name."""
    return any(fnmatchcase(tool.address, pattern) or fnmatchcase(tool.name, pattern) for pattern in patterns)


def offered(tools: Iterable[Tool], patterns: Sequence[str]) -> tuple[Tool, ...]:
    """The tools that a pattern names, sorted by name: the order in which every prompt lists them."""
    return tuple(sorted((tool for tool in tools if named(tool, patterns)), key=lambda tool: tool.name))


def definition(tool: Tool) -> JsonObject:
    """A tool as chat completions define it."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
    }
