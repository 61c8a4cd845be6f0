"""The shelf: what is registered right now, in memory, with nothing to await."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from practicum.contracts.connectors import Connector
from practicum.contracts.tools import Tool
from practicum.episode.offering import named, offered
from practicum.errors import NotFoundError
from practicum_connectors.catalogue.search import ToolIndex

_SHOWN = 200


@dataclass(frozen=True)
class Shelf:
    """Connectors and tools at one moment.

    Attributes:
        connectors: by name.
        tools: by exposed name, sorted.
    """

    connectors: dict[str, Connector]
    tools: dict[str, Tool]

    @classmethod
    def of(cls, connectors: Iterable[Connector], tools: Iterable[Tool]) -> "Shelf":
        """Put them on the shelf in order."""
        return cls(
            {connector.name: connector for connector in connectors},
            {tool.name: tool for tool in sorted(tools, key=lambda tool: tool.name)},
        )

    def matching(self, patterns: Sequence[str]) -> tuple[Tool, ...]:
        """The tools that any of the glob patterns names, by `connector.operation` or by exposed name."""
        return offered(self.tools.values(), patterns)

    def tool(self, name: str) -> Tool:
        """The tool of an exposed name, or of `connector.operation`.

        Raises:
            NotFoundError: there is none; the message names the nearest.
        """
        found = self.tools.get(name) or self._by_address.get(name)
        if found is not None:
            return found
        near = difflib.get_close_matches(name[:_SHOWN], [*self.tools, *self._by_address], n=3)
        mend = f"Did you mean {', '.join(near)}?" if near else "List the tools to see their names."
        raise NotFoundError(f"There is no tool '{name[:_SHOWN]}'.", mend=mend)

    def search(self, query: str, limit: int, patterns: Sequence[str] = ("*",)) -> tuple[Tool, ...]:
        """The tools that fit the words best, best first, among those that a pattern names."""
        found = self._index.search(query, limit=len(self.tools))
        return tuple(tool for tool in found if named(tool, patterns))[:limit]

    @cached_property
    def _by_address(self) -> dict[str, Tool]:
        return {tool.address: tool for tool in self.tools.values()}

    @cached_property
    def _index(self) -> ToolIndex:
        return ToolIndex(self.tools.values())
