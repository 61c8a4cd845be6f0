import re
from collections.abc import Callable, Iterator

import pytest

Matches = Callable[[str, str], bool]
_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]|\{\d+(?:,\d*)?\}|[\w-]+|[()|?*+])')
_RULE = re.compile(r"^([\w-]+) ::= ", re.MULTILINE)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class _Gbnf:
    """Says whether a text matches a GBNF grammar: a plain backtracking reader, enough to check what we write."""

    def __init__(self, grammar: str) -> None:
        names = _RULE.findall(grammar)
        bodies = _RULE.split(grammar)[2::2]
        assert len(set(names)) == len(names), "a rule is written twice"
        self._rules = {name: self._parse(body) for name, body in zip(names, bodies, strict=True)}

    def matches(self, text: str) -> bool:
        return any(end == len(text) for end in self._rule("root", text, 0))

    def _parse(self, body: str) -> "_Node":
        tokens = [match[1] for match in _TOKEN.finditer(body)]
        assert "".join(tokens) == re.sub(r'("(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\])|\s+', r"\1", body), body
        node, rest = self._choice(tokens)
        assert not rest, rest
        return node

    def _choice(self, tokens: list[str]) -> tuple["_Node", list[str]]:
        options: list[_Node] = []
        while True:
            option, tokens = self._sequence(tokens)
            options.append(option)
            if not tokens or tokens[0] != "|":
                break
            tokens = tokens[1:]
        return (lambda text, at: (end for option in options for end in option(text, at))), tokens

    def _sequence(self, tokens: list[str]) -> tuple["_Node", list[str]]:
        parts: list[_Node] = []
        while tokens and tokens[0] not in "|)":
            part, tokens = self._atom(tokens)
            low, high = 1, 1
            if tokens and (tokens[0] in "?*+" or tokens[0].startswith("{")):
                low, high = _bounds(tokens[0])
                tokens = tokens[1:]
            parts.append(_repeated(part, low, high))

        def run(text: str, at: int, index: int = 0) -> Iterator[int]:
            if index == len(parts):
                yield at
                return
            for end in parts[index](text, at):
                yield from run(text, end, index + 1)

        return run, tokens

    def _atom(self, tokens: list[str]) -> tuple["_Node", list[str]]:
        first, rest = tokens[0], tokens[1:]
        if first == "(":
            node, rest = self._choice(rest)
            assert rest[0] == ")"
            return node, rest[1:]
        if first.startswith('"'):
            wanted = re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), first[1:-1])
            return (lambda text, at: iter([at + len(wanted)] if text.startswith(wanted, at) else [])), rest
        if first.startswith("["):
            one = re.compile(first, re.DOTALL)
            return (lambda text, at: iter([at + 1] if at < len(text) and one.match(text[at]) else [])), rest
        return (lambda text, at: self._rule(first, text, at)), rest

    def _rule(self, name: str, text: str, at: int) -> Iterator[int]:
        return self._rules[name](text, at)


_Node = Callable[[str, int], Iterator[int]]


def _bounds(sign: str) -> tuple[int, int]:
    if sign.startswith("{"):
        low, _, high = sign[1:-1].partition(",")
        return int(low), int(high or low)
    return {"?": (0, 1), "*": (0, 10**6), "+": (1, 10**6)}[sign]


def _repeated(part: _Node, low: int, high: int) -> _Node:
    if (low, high) == (1, 1):
        return part

    def run(text: str, at: int) -> Iterator[int]:
        ends, count, seen = {at}, 0, set[int]()
        while ends and count <= high:
            if count >= low:
                yield from sorted(ends - seen, reverse=True)
                seen |= ends
            ends = {end for start in ends for end in part(text, start) if end > start}
            count += 1

    return run


@pytest.fixture
def matches() -> Matches:
    return lambda grammar, text: _Gbnf(grammar).matches(text)
