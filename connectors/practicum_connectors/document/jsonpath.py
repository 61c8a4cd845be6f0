"""JSONPath (RFC 9535) as overlays use it: names, wildcards, indexes, slices, descendants and plain filters.

Functions (`length(...)`, `match(...)`) are refused by name instead of being read as something else.
"""

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from practicum.errors import DocumentError
from practicum_connectors.document.pointers import Node

Place = tuple[str | int, ...]
"""Keys and indexes from the root."""

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<word>[A-Za-z_\u0080-\uffff][\w\-\u0080-\uffff]*)
      | (?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)
      | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<mark>\.\.|&&|\|\||==|!=|<=|>=|[$@.\[\]*,:?()<>!])
    )""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MOST_NESTED = 40
_MISSING: Any = object()

Found = tuple[Place, Any]
Selector = Callable[[Any, Any], Iterator[tuple[str | int, Any]]]
Test = Callable[[Any, Any], bool]
Term = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class _Step:
    selectors: tuple[Selector, ...]
    descends: bool

    def apply(self, found: list[Found], root: Any) -> Iterator[Found]:
        for place, value in found:
            for at, here in _below(place, value) if self.descends else ((place, value),):
                for selector in self.selectors:
                    for key, item in selector(here, root):
                        yield (*at, key), item


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A parsed path.

    Attributes:
        text: as it was written.
        steps: from the root.
    """

    text: str
    steps: tuple[_Step, ...]

    def find(self, root: Any) -> list[Place]:
        """Where everything stands that the path selects, each place once, in the document's order."""
        return list(dict.fromkeys(place for place, _ in _walk(self.steps, root, root)))


def parse_path(text: str) -> JsonPath:
    """Read a path.

    Raises:
        DocumentError: it is no JSONPath, or uses more of it than is understood.
    """
    parser = _Parser(text, _tokens(text))
    parser.expect("$")
    steps = parser.steps()
    if parser.kind:
        parser.fail("it goes on after its end")
    return JsonPath(text, steps)


def _walk(steps: tuple[_Step, ...], start: Any, root: Any) -> list[Found]:
    found: list[Found] = [((), start)]
    for step in steps:
        found = list(step.apply(found, root))
    return found


def _items(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, dict):
        yield from cast("Node", value).items()
    elif isinstance(value, list):
        yield from enumerate(cast("list[Any]", value))


def _below(place: Place, value: Any) -> Iterator[Found]:
    """A value and everything in it, from above."""
    waiting = [(place, value)]
    while waiting:
        at, here = waiting.pop()
        yield at, here
        waiting.extend(reversed([((*at, key), item) for key, item in _items(here)]))


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            _refuse(text, f"{text[place:].strip()[:20]!r} is not understood")
        found.append((match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return found


def _refuse(text: str, reason: str) -> NoReturn:
    raise DocumentError(
        f"The target {text!r} is not a JSONPath that can be followed: {reason}.",
        mend="Write it with names, `[*]`, indexes, slices, `..` and filters such as `[?@.name == 'x']`.",
    )


class _Parser:
    """Reads tokens from left to right."""

    def __init__(self, text: str, tokens: Sequence[tuple[str, str]]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    @property
    def kind(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    @property
    def value(self) -> str:
        return self._tokens[self._next][1] if self._next < len(self._tokens) else ""

    def fail(self, reason: str) -> NoReturn:
        _refuse(self._text, reason)

    def take(self) -> str:
        value = self.value
        self._next += 1
        return value

    def accept(self, mark: str) -> bool:
        if self.kind == "mark" and self.value == mark:
            self._next += 1
            return True
        return False

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            self.fail(f"{mark!r} is missing before {self.value or 'its end'!r}")

    def steps(self) -> tuple[_Step, ...]:
        found: list[_Step] = []
        while True:
            if self.accept(".."):
                found.append(_Step(self._bracketed() if self.value == "[" else (self._named(),), descends=True))
            elif self.accept("."):
                found.append(_Step((self._named(),), descends=False))
            elif self.value == "[" and self.kind == "mark":
                found.append(_Step(self._bracketed(), descends=False))
            else:
                return tuple(found)

    def _named(self) -> Selector:
        if self.accept("*"):
            return _wildcard
        if self.kind != "word":
            self.fail("a name is missing after a dot")
        return _member(self.take())

    def _bracketed(self) -> tuple[Selector, ...]:
        self.expect("[")
        found = [self._selector()]
        while self.accept(","):
            found.append(self._selector())
        self.expect("]")
        return tuple(found)

    def _selector(self) -> Selector:
        if self.accept("*"):
            return _wildcard
        if self.accept("?"):
            return _filter(self._either())
        if self.kind == "string":
            return _member(_unquoted(self.take()))
        numbers: list[int | None] = [self._integer()]
        while self.accept(":"):
            numbers.append(self._integer())
        if len(numbers) == 1:
            if numbers[0] is None:
                self.fail(f"{self.value!r} is no selector")
            return _item(numbers[0])
        if len(numbers) > 3 or numbers[2:] == [0]:  # noqa: PLR2004 (start, end, step)
            self.fail("a slice is start:end:step, with a step that is not 0")
        return _slice(slice(*numbers))

    def _integer(self) -> int | None:
        if self.kind != "number":
            return None
        text = self.take()
        if not text.removeprefix("-").isdecimal():
            self.fail(f"{text} is not an index")
        return int(text)

    def _either(self) -> Test:
        self._depth += 1
        if self._depth > _MOST_NESTED:
            self.fail("its filters nest too deep")
        tests = [self._both()]
        while self.accept("||"):
            tests.append(self._both())
        self._depth -= 1
        return tests[0] if len(tests) == 1 else lambda here, root: any(test(here, root) for test in tests)

    def _both(self) -> Test:
        tests = [self._test()]
        while self.accept("&&"):
            tests.append(self._test())
        return tests[0] if len(tests) == 1 else lambda here, root: all(test(here, root) for test in tests)

    def _test(self) -> Test:
        if self.accept("!"):
            inner = self._test()
            return lambda here, root: not inner(here, root)
        if self.accept("("):
            inner = self._either()
            self.expect(")")
            return inner
        left, exists = self._term()
        mark = self.value
        if mark in {"==", "!=", *_COMPARISONS}:
            self.take()
            right, _ = self._term()
            return lambda here, root: _compare(mark, left(here, root), right(here, root))
        if not exists:
            self.fail("a value stands alone in a filter")
        return lambda here, root: left(here, root) is not _MISSING

    def _term(self) -> tuple[Term, bool]:
        """What is compared, and whether it is a path, which may also stand alone."""
        if self.kind == "mark" and self.value in {"@", "$"}:
            mark = self.take()
            steps = self.steps()
            return lambda here, root: _first(steps, here if mark == "@" else root, root), True
        kind, value = self.kind, self.take()
        constant: Any = _MISSING
        if kind == "string":
            constant = _unquoted(value)
        elif kind == "number":
            constant = float(value) if any(mark in value for mark in ".eE") else int(value)
        elif kind == "word" and value in {"true", "false", "null"}:
            constant = {"true": True, "false": False, "null": None}[value]
        elif kind == "word" and self.value == "(":
            self.fail(f"the function `{value}` is not supported")
        else:
            self.fail(f"{value or 'its end'!r} is no value")
        return lambda _here, _root: constant, False


def _first(steps: tuple[_Step, ...], start: Any, root: Any) -> Any:
    found = _walk(steps, start, root)
    return found[0][1] if found else _MISSING


def _compare(mark: str, left: Any, right: Any) -> bool:
    if mark in {"==", "!="}:
        alike = left == right and isinstance(left, bool) == isinstance(right, bool)
        return alike == (mark == "==")
    pair = (left, right)
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in pair)
    if numbers or all(isinstance(value, str) for value in pair):
        return _COMPARISONS[mark](left, right)
    return mark in {"<=", ">="} and left == right and left is not _MISSING


def _wildcard(value: Any, _: Any) -> Iterator[tuple[str | int, Any]]:
    yield from _items(value)


def _member(name: str) -> Selector:
    def select(value: Any, _: Any) -> Iterator[tuple[str | int, Any]]:
        if isinstance(value, dict) and name in value:
            yield name, value[name]

    return select


def _item(number: int) -> Selector:
    def select(value: Any, _: Any) -> Iterator[tuple[str | int, Any]]:
        if isinstance(value, list):
            items = cast("list[Any]", value)
            place = number + len(items) if number < 0 else number
            if 0 <= place < len(items):
                yield place, items[place]

    return select


def _slice(wanted: slice) -> Selector:
    def select(value: Any, _: Any) -> Iterator[tuple[str | int, Any]]:
        if isinstance(value, list):
            items = cast("list[Any]", value)
            yield from ((place, items[place]) for place in range(len(items))[wanted])

    return select


def _filter(test: Test) -> Selector:
    def select(value: Any, root: Any) -> Iterator[tuple[str | int, Any]]:
        yield from ((key, item) for key, item in _items(value) if test(item, root))

    return select


def _unquoted(text: str) -> str:
    def meant(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)

    return _ESCAPED.sub(meant, text[1:-1])
