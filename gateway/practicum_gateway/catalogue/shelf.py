"""The shelf: what is registered right now, in memory, with nothing to await."""

import difflib
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

from practicum.contracts.connectors import Connector
from practicum.contracts.tools import Tool
from practicum.errors import NotFoundError

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SHORT = 3
_NAME_WEIGHT = 3
# The usual constants of BM25: how soon repetition stops counting, how much a long text is discounted.
_SATURATION, _LENGTH = 1.2, 0.75


def words_of(text: str) -> list[str]:
    """The words of a name or a sentence: `getOrderLines` is get, order, line."""
    words = (word.lower() for word in _WORD.findall(text))
    return [
        word[:-1] if len(word) > _SHORT and word.endswith("s") and not word.endswith("ss") else word for word in words
    ]


def _is_plural(word: str) -> bool:
    return len(word) > _SHORT and word.endswith("s") and not word.endswith("ss")


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
        return tuple(tool for tool in self.tools.values() if _matches(tool, patterns))

    def tool(self, name: str) -> Tool:
        """The tool of an exposed name, or of `connector.operation`.

        Raises:
            NotFoundError: there is none; the message names the nearest.
        """
        found = self.tools.get(name) or self._by_address.get(name)
        if found is not None:
            return found
        near = difflib.get_close_matches(name, [*self.tools, *self._by_address], n=3, cutoff=0.6)
        mend = f"Did you mean {', '.join(near)}?" if near else "List the tools to see their names."
        raise NotFoundError(f"There is no tool '{name[:200]}'.", mend=mend)

    def search(self, query: str, limit: int, patterns: Sequence[str] = ("*",)) -> tuple[Tool, ...]:
        """The tools whose names and descriptions fit the words best (BM25), best first."""
        terms = set(words_of(query))
        scored = [
            (self._score(terms, self._texts[name]), name)
            for name, tool in self.tools.items()
            if _matches(tool, patterns)
        ]
        best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
        return tuple(self.tools[name] for _, name in best[:limit])

    def _score(self, terms: set[str], text: Counter[str]) -> float:
        length = text.total() / self._mean_length
        total = 0.0
        for term in terms & text.keys():
            found = self._found_in[term]
            rarity = math.log(1 + (len(self.tools) - found + 0.5) / (found + 0.5))
            count = text[term]
            total += rarity * count * (_SATURATION + 1) / (count + _SATURATION * (1 - _LENGTH + _LENGTH * length))
        return total

    @cached_property
    def _by_address(self) -> dict[str, Tool]:
        return {tool.address: tool for tool in self.tools.values()}

    @cached_property
    def _texts(self) -> dict[str, Counter[str]]:
        return {
            name: Counter(words_of(f"{tool.connector} {tool.operation} ") * _NAME_WEIGHT + words_of(tool.description))
            for name, tool in self.tools.items()
        }

    @cached_property
    def _found_in(self) -> Counter[str]:
        return Counter(word for text in self._texts.values() for word in text)

    @cached_property
    def _mean_length(self) -> float:
        return sum(text.total() for text in self._texts.values()) / max(1, len(self._texts)) or 1.0


def _matches(tool: Tool, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(tool.address, pattern) or fnmatchcase(tool.name, pattern) for pattern in patterns)
