"""Finding the right tool among many by words: BM25 over names, paths, descriptions and arguments, indexed once.

What a word adds to a tool's score is worked out when the index is made. A query then adds up what its rarer words say
and asks the commonest ones only about the tools that came out on top, so that `get the list` costs no more than
`refund an order` does.
"""

import json
import math
import sys
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, islice
from typing import Any, Self, cast

from practicum.contracts.tools import Tool
from practicum_connectors.catalogue.stemming import terms

_WEIGHTS = (4.0, 2.0, 1.0, 0.6)
"""What a word counts in a tool's operation, path, description and arguments."""
_SATURATION = 1.2
_LENGTH_SHARE = 0.6
_MOST_DESCRIPTION_CHARACTERS = 400
_MOST_ADDED = 60_000
"""Places of words that are added up for one query; the words beyond are looked up for the best tools only."""
_MOST_LOOKED_UP = 1024
_MOST_TOPS = 4
"""Where a query has common words only, the best tools of so many of them are compared."""
_MOST_WORDS = 20
"""Words of a query that count, the rarest first."""
_FORMAT = 2


class ToolIndex:
    """An index over a fixed set of tools."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        """Index the tools.

        Args:
            tools: what to search in; their order breaks ties.
        """
        self._tools: Sequence[Tool] = list(tools)
        self._words = WordIndex.of(self._tools)

    def search(self, query: str, limit: int = 20, wanted: Callable[[Tool], bool] | None = None) -> list[Tool]:
        """The tools that fit best, best first; those that share no word with the query are left out.

        Args:
            query: words.
            limit: most tools to return.
            wanted: whether a tool may be returned at all.
        """
        tools = self._tools

        def is_wanted(place: int) -> bool:
            return wanted is None or wanted(tools[place])

        return [tools[place] for place in self._words.find(query, limit, None if wanted is None else is_wanted)]


class WordIndex:
    """What the words of a row of tools say of them, without the tools: a tool is its place in the row."""

    def __init__(
        self, places: "array[int]", gains: "array[float]", spans: dict[str, tuple[int, int]], size: int
    ) -> None:
        """Take over what `of` or `load` made.

        Args:
            places: for each word its tools, word after word, in rising order.
            gains: what the word adds to the score of each.
            spans: for each word where its tools begin, and how many they are.
            size: how many tools there are.
        """
        self._places, self._gains, self._spans = places, gains, spans
        self.size = size
        self._tops = self._best_of_common_words()

    @classmethod
    def of(cls, tools: Iterable[Tool]) -> Self:
        """Index tools; each is looked at once and let go of.

        Args:
            tools: the row; its order breaks ties.
        """
        return cls(*_weighed(tools))

    def find(self, query: str, limit: int = 20, wanted: Callable[[int], bool] | None = None) -> list[int]:
        """The places of the tools that fit best, best first; those that share no word with the query are left out.

        Args:
            query: words.
            limit: most places to return.
            wanted: whether the tool at a place may be returned at all.
        """
        spans = sorted({span for word in terms(query) if (span := self._spans.get(word)) is not None}, key=_count)[
            :_MOST_WORDS
        ]
        if not spans or limit <= 0:
            return []
        rare = sum(total <= _MOST_ADDED for total in accumulate(count for _, count in spans))
        found = self._found(spans, rare, max(limit, _MOST_LOOKED_UP), wanted)
        if len(found) < limit and rare < len(spans):
            found = self._found(spans, len(spans), limit, wanted)  # too few of the best are wanted: ask about all
        return _best(found, limit)

    def dump(self) -> bytes:
        """The index, for `load`."""
        words = sorted(self._spans, key=self._spans.__getitem__)
        head = json.dumps(
            {
                "format": _FORMAT,
                "order": sys.byteorder,
                "size": self.size,
                "words": words,
                "counts": [self._spans[word][1] for word in words],
            }
        ).encode()
        body = self._places.tobytes() + self._gains.tobytes()
        return len(head).to_bytes(8, "big") + zlib.compress(head + body, 1)

    @classmethod
    def load(cls, data: bytes) -> Self | None:
        """The index as `dump` gave it; None if it was made elsewhere or by another release, or broke: make a new one.

        Args:
            data: what `dump` gave.
        """
        try:
            raw = zlib.decompress(data[8:])
        except zlib.error:
            return None
        length = int.from_bytes(data[:8], "big")
        head: dict[str, Any] = json.loads(raw[:length])
        if (head["format"], head["order"]) != (_FORMAT, sys.byteorder):
            return None
        counts = cast("list[int]", head["counts"])
        starts = accumulate(counts, initial=0)
        spans = dict(zip(head["words"], zip(starts, counts, strict=False), strict=True))
        body = memoryview(raw)[length:]
        places, gains = array("I"), array("f")
        places.frombytes(body[: len(body) // 2])
        gains.frombytes(body[len(body) // 2 :])
        return cls(places, gains, spans, head["size"])

    def _found(
        self, spans: list[tuple[int, int]], rare: int, most: int, wanted: Callable[[int], bool] | None
    ) -> dict[int, float]:
        """Scores by tool, in the order of the tools.

        Args:
            spans: the words' places, the rarest word first.
            rare: how many of them are added up; the others are looked up for the best tools.
            most: how many tools are the best.
            wanted: whether the tool at a place may be found.
        """
        scores = self._add_up(spans[:rare]) if rare else self._likely(spans)
        if wanted is not None:
            scores = {number: score for number, score in scores.items() if wanted(number)}
        if rare == len(spans):
            return scores
        if rare:
            scores = {number: scores[number] for number in sorted(_best(scores, most))}
        for span in spans[rare:]:
            self._look_up(span, scores)
        return scores

    def _likely(self, spans: list[tuple[int, int]]) -> dict[int, float]:
        likely = {number for span in spans[:_MOST_TOPS] for number in self._tops[span]}
        return dict.fromkeys(sorted(likely), 0.0)

    def _add_up(self, spans: list[tuple[int, int]]) -> dict[int, float]:
        sums = [0.0] * self.size
        for start, count in spans:
            places, gains = self._places[start : start + count], self._gains[start : start + count]
            for place, gain in zip(places, gains, strict=True):
                sums[place] += gain
        if len(spans) == 1:
            start, count = spans[0]
            return dict(zip(self._places[start : start + count], self._gains[start : start + count], strict=True))
        return {number: total for number, total in enumerate(sums) if total}

    def _best_of_common_words(self) -> dict[tuple[int, int], list[int]]:
        return {
            span: _best(self._add_up([span]), _MOST_LOOKED_UP // _MOST_TOPS)
            for span in self._spans.values()
            if _count(span) > _MOST_ADDED
        }

    def _look_up(self, span: tuple[int, int], scores: dict[int, float]) -> None:
        start, count = span
        places, end = self._places, start + count
        for number in scores:  # both in rising order
            start = bisect_left(places, number, start, end)
            if start < end and places[start] == number:
                scores[number] += self._gains[start]


def _best(scores: dict[int, float], most: int) -> list[int]:
    """The numbers with the highest scores, highest first; of the same, those that come first."""
    if len(scores) > most:
        least = sorted(scores.values())[-most]
        above = [number for number, score in scores.items() if score > least]
        same = islice((number for number, score in scores.items() if score == least), most - len(above))
        numbers = [*above, *same]
    else:
        numbers = list(scores)
    return sorted(numbers, key=scores.__getitem__, reverse=True)


def _count(span: tuple[int, int]) -> int:
    return span[1]


def _weighed(tools: Iterable[Tool]) -> tuple["array[int]", "array[float]", dict[str, tuple[int, int]], int]:
    """For each word its tools and what it adds to their scores, word after word, and how many tools there are."""
    postings: dict[str, tuple[array[int], array[float]]] = {}
    lengths = array("f")
    known: dict[str, list[str]] = {}
    for number, tool in enumerate(tools):
        counts = _counted(tool, known)
        lengths.append(sum(counts.values()))
        for word, weight in counts.items():
            numbers, weights = postings.setdefault(word, (array("I"), array("f")))
            numbers.append(number)
            weights.append(weight)
    size = len(lengths)
    mean = sum(lengths) / size if size else 1.0
    norms = [_SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / mean) for length in lengths]
    places, gains = array("I"), array("f")
    spans: dict[str, tuple[int, int]] = {}
    for word, (numbers, weights) in postings.items():
        rarity = math.log(1 + (size - len(numbers) + 0.5) / (len(numbers) + 0.5)) * (_SATURATION + 1)
        spans[word] = len(places), len(numbers)
        places.extend(numbers)
        gains.extend(
            [rarity * weight / (weight + norms[place]) for place, weight in zip(numbers, weights, strict=True)]
        )
    return places, gains, spans, size


def _counted(tool: Tool, known: dict[str, list[str]]) -> dict[str, float]:
    counts: dict[str, float] = {}
    for text, weight in zip(_fields(tool), _WEIGHTS, strict=True):
        for run in text.split():
            words = known.get(run)
            if words is None:
                words = known[run] = list(terms(run))
            for word in words:
                counts[word] = counts.get(word, 0.0) + weight
    return counts


def _fields(tool: Tool) -> tuple[str, str, str, str]:
    arguments = " ".join(cast("dict[str, object]", tool.input_schema.get("properties") or {}))
    described = f"{tool.connector} {tool.description[:_MOST_DESCRIPTION_CHARACTERS]}"
    return tool.operation, tool.path, described, arguments
