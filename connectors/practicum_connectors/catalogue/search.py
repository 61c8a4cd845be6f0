"""Finding the right tool among many by words: BM25 over names, paths, descriptions and arguments, indexed once."""

import math
import re
from array import array
from collections.abc import Iterable
from typing import cast

from practicum.contracts.tools import Tool
from practicum_connectors.catalogue.effects import split_words

_WEIGHTS = {"operation": 4.0, "path": 2.0, "description": 1.0, "arguments": 0.6}
_SATURATION = 1.2
_LENGTH_SHARE = 0.6
_MOST_DESCRIPTION_CHARACTERS = 400
_STOP = frozenset(
    """a an and are as at be by for from in is it its of on or that the this to with your you""".split()  # noqa: SIM905
)
_WORDS = re.compile(r"[A-Za-z0-9]+")
_SHORTEST_STEMMED = 4


class ToolIndex:
    """An index over a fixed set of tools."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        """Index the tools.

        Args:
            tools: what to search in; their order breaks ties.
        """
        self._tools = list(tools)
        self._postings: dict[str, tuple[array[int], array[float]]] = {}
        self._lengths = array("f")
        for number, tool in enumerate(self._tools):
            self._add(number, tool)
        self._mean = sum(self._lengths) / len(self._lengths) if self._lengths else 1.0

    def search(self, query: str, limit: int = 20) -> list[Tool]:
        """The tools that fit best, best first; those that share no word with the query are left out."""
        scores: dict[int, float] = {}
        for word in dict.fromkeys(_terms(query)):
            found = self._postings.get(word)
            if found is None:
                continue
            numbers, weights = found
            rarity = math.log(1 + (len(self._tools) - len(numbers) + 0.5) / (len(numbers) + 0.5))
            for number, weight in zip(numbers, weights, strict=True):
                length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * self._lengths[number] / self._mean
                gain = rarity * weight * (_SATURATION + 1) / (weight + _SATURATION * length)
                scores[number] = scores.get(number, 0.0) + gain
        best = sorted(scores, key=lambda number: (-scores[number], number))
        return [self._tools[number] for number in best[:limit]]

    def _add(self, number: int, tool: Tool) -> None:
        counts: dict[str, float] = {}
        for field, text in _fields(tool):
            for word in _terms(text):
                counts[word] = counts.get(word, 0.0) + _WEIGHTS[field]
        for word, weight in counts.items():
            numbers, weights = self._postings.setdefault(word, (array("I"), array("f")))
            numbers.append(number)
            weights.append(weight)
        self._lengths.append(sum(counts.values()))


def _fields(tool: Tool) -> Iterable[tuple[str, str]]:
    yield "operation", tool.operation
    yield "path", tool.path
    yield "description", f"{tool.connector} {tool.description[:_MOST_DESCRIPTION_CHARACTERS]}"
    yield "arguments", " ".join(cast("dict[str, object]", tool.input_schema.get("properties") or {}))


def _terms(text: str) -> Iterable[str]:
    for run in _WORDS.findall(text):
        for word in split_words(run):
            if word not in _STOP:
                yield _stem(word)


def _stem(word: str) -> str:
    """A word without the commonest endings, so that `refunds`, `refunded` and `refunding` meet."""
    if len(word) <= _SHORTEST_STEMMED - 1:
        return word
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEMMED - 1 and not word.endswith("ss"):
            word = word[: -len(ending)] + instead
            break
    return word.removesuffix("e")
