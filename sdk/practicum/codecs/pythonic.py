"""Calls written as Python: `[get_order(order_id=1), ping()]`."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NoReturn

from pydantic import JsonValue

from practicum.codecs.reading import Found
from practicum.contracts.base import JsonObject
from practicum.contracts.messages import ToolCall
from practicum.contracts.tools import Tool

_WORDS: dict[str, JsonValue] = {
    "True": True, "true": True, "False": False, "false": False, "None": None, "null": None,
}  # fmt: skip
_NAME = re.compile(r"[A-Za-z_$][\w.$-]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "\\": "\\", '"': '"', "'": "'", "/": "/", "\n": ""}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SPACE = re.compile(r"\s*")
_CALL = re.compile(r"\[\s*([A-Za-z_$][\w.$-]*)\s*\(")


def written_calls(calls: Sequence[ToolCall]) -> str:
    """Calls as one list; a malformed one as it was sampled, and nothing is closed behind it."""
    parts: list[str] = []
    for call in calls:
        if call.malformed is not None:
            parts.append(call.malformed)
            return "[" + ", ".join(parts)
        parts.append(f"{call.name}({_arguments(call.arguments)})")
    return f"[{', '.join(parts)}]" if parts else ""


def found_calls(text: str, tools: Sequence[Tool]) -> Iterator[Found | str]:
    """Prose and calls: a list of calls at the beginning, or further on one that begins with a tool on offer."""
    names = {tool.name for tool in tools}
    first = len(text) - len(text.lstrip())
    for match in _CALL.finditer(text):
        if match[1] in names or match.start() == first:
            yield text[: match.start()]
            yield from _listed(text, match.start() + 1)
            return
    yield text


def _listed(text: str, start: int) -> Iterator[Found | str]:
    reader = _Reader(text, start)
    while True:
        reader.skip()
        begin = reader.at
        try:
            name, arguments = reader.call()
            again = reader.take(",")
            if not again:
                reader.want("]")
        except (ValueError, RecursionError):
            guess = _NAME.match(text, begin)
            yield Found(text[begin:].strip(), guess[0] if guess else "")
            return
        yield Found(text[begin : reader.at], name, arguments)
        if not again:
            yield text[reader.at :]
            return


class _Reader:
    """Reads from a place on; what is not as it should be is a ValueError."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def skip(self) -> None:
        self.at += len(self._match(_SPACE) or "")

    def take(self, sign: str) -> bool:
        self.skip()
        found = self.text.startswith(sign, self.at)
        self.at += len(sign) if found else 0
        return found

    def want(self, sign: str) -> None:
        if not self.take(sign):
            raise ValueError(f"{sign} is missing")

    def call(self) -> tuple[str, JsonObject]:
        name, given = self._word(), JsonObject()
        self.want("(")
        while not self.take(")"):
            if self.take("**"):
                more = self.value()
                given |= more if isinstance(more, dict) else self._fail()
            else:
                key = self._word()
                self.want("=")
                given[key] = self.value()
            if not self.take(","):
                self.want(")")
                break
        return name, given

    def value(self) -> JsonValue:
        self.skip()
        if (text := self._match(_STRING)) is not None:
            self.at += len(text)
            return _unquoted(text)
        if (text := self._match(_NUMBER)) is not None:
            self.at += len(text)
            return json.loads(text)
        if self.take("["):
            return list(self._values("]"))
        if self.take("{"):
            return dict(self._members())
        word = self._word()
        return _WORDS[word] if word in _WORDS else self._fail()

    def _values(self, end: str) -> Iterator[JsonValue]:
        while not self.take(end):
            yield self.value()
            if not self.take(","):
                self.want(end)
                return

    def _members(self) -> Iterator[tuple[str, JsonValue]]:
        while not self.take("}"):
            key = self.value()
            self.want(":")
            yield (key if isinstance(key, str) else self._fail()), self.value()
            if not self.take(","):
                self.want("}")
                return

    def _word(self) -> str:
        self.skip()
        word = self._match(_NAME)
        if word is None:
            self._fail()
        self.at += len(word)
        return word

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self.text, self.at)
        return None if found is None else found[0]

    def _fail(self) -> NoReturn:
        raise ValueError(f"nothing that can be read begins with {self.text[self.at : self.at + 10]!r}")


def _unquoted(text: str) -> str:
    value = _ESCAPE.sub(_unescaped, text[1:-1])
    value.encode()
    return value


def _unescaped(found: re.Match[str]) -> str:
    """What an escape stands for; a backslash before any other letter is one, as in Python."""
    sign = found[0][1:]
    if len(sign) > 1:
        return chr(int(sign[1:], 16))
    return _ESCAPES.get(sign, found[0])


def _arguments(arguments: JsonObject) -> str:
    """Keywords; names that are none go in by `**`."""
    plain = [f"{name}={_literal(value)}" for name, value in arguments.items() if _NAME.fullmatch(name)]
    odd: JsonObject = {name: value for name, value in arguments.items() if not _NAME.fullmatch(name)}
    return ", ".join([*plain, *([f"**{_literal(odd)}"] if odd else [])])


def _literal(value: JsonValue) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(key)}: {_literal(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return repr(value) if value is None or isinstance(value, bool) else json.dumps(value, ensure_ascii=False)
