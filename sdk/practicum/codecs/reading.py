"""Calls found in what a model wrote, and JSON read without trust."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import ToolCall

_NAMES = "name", "function"
_ARGUMENTS = "arguments", "parameters"
_ALLOWED = {*_NAMES, *_ARGUMENTS, "id", "type"}
_DEPTH = 100
"""Values within values deeper than this make a call malformed."""
_NAME = re.compile(r'"name"\s*:\s*"([A-Za-z0-9_.-]{1,64})"')
_SPACE = re.compile(r"\s*")
_BETWEEN = re.compile(r"[ \t\r\n,;]*")
_STRING_OR_SPACE = re.compile(r'"(?:[^"\\]|\\.)*"|\s+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Found:
    """A call as it stands in a text.

    Attributes:
        text: as it was written.
        name: the tool's, as far as it can be read.
        arguments: None where they cannot be read.
    """

    text: str
    name: str = ""
    arguments: JsonObject | None = None

    def call(self, identity: str) -> ToolCall:
        """The call, malformed where it could not be read."""
        if self.name and self.arguments is not None and not _too_deep(self.arguments):
            return ToolCall(id=identity, name=self.name, arguments=self.arguments)
        return ToolCall(id=identity, name=self.name, arguments={}, malformed=self.text)


def _too_deep(arguments: JsonObject) -> bool:
    """Whether values are nested deeper than any tool takes, and than can be passed on."""
    level: list[JsonValue] = [arguments]
    for _ in range(_DEPTH):
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [value for values in inner for value in values]
        if not level:
            return False
    return True


def written(value: JsonValue) -> str:
    """JSON as the templates of most families write it: a space after commas and colons, any letter as it is."""
    return json.dumps(value, ensure_ascii=False)


def decoded(text: str) -> JsonValue:
    """The JSON value that a whole text is.

    Raises:
        ValueError: it is none, or holds what JSON cannot say.
    """
    try:
        value: JsonValue = _DECODER.decode(text)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def value_at(text: str, start: int) -> tuple[JsonValue, int]:
    """The JSON value that begins at a place, and where it ends.

    Raises:
        ValueError: none does.
    """
    begin = _after(_SPACE, text, start)
    try:
        value, end = cast("tuple[JsonValue, int]", _DECODER.raw_decode(text, begin))
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value, end


def call_of(value: JsonValue, text: str) -> Found:
    """The call that a JSON object is: its name and arguments, which may be an object or a string that holds one."""
    if not isinstance(value, dict):
        return unread(text)
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    if not isinstance(name, str) or not set(value) <= _ALLOWED:
        return unread(text)
    given = next((key for key in _ARGUMENTS if key in value), None)
    return Found(text, name, {} if given is None else as_object(value[given]))


def as_object(value: JsonValue) -> JsonObject | None:
    """Arguments as an object; a string may hold it as JSON. None for anything else."""
    if isinstance(value, str):
        try:
            value = decoded(value)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def unread(text: str) -> Found:
    """A call that cannot be read; its name is told where it can be."""
    guess = _NAME.search(text)
    return Found(text, guess[1] if guess else "")


def call_text(text: str, body: str) -> Found:
    """The call that a text says whose body should be one JSON object."""
    try:
        return call_of(decoded(body.strip()), text)
    except ValueError:
        return unread(text)


def segments(text: str, opening: str, closing: str) -> Iterator[tuple[str, bool]]:
    """The text cut into prose and calls between tags; a call's segment holds its tags as far as they were written."""
    position = 0
    while (start := text.find(opening, position)) >= 0:
        if start > position:
            yield text[position:start], False
        end = end_of_call(text, start + len(opening), opening, closing)
        yield text[start:end], True
        position = end
    if position < len(text):
        yield text[position:], False


def end_of_call(text: str, start: int, opening: str, closing: str) -> int:
    """Where the call that begins here ends: after the tag that follows its JSON, for a tag within a string is text."""
    try:
        _, inner = value_at(text, start)
    except ValueError:
        inner = start
    again = text.find(opening, inner)
    begun = again if again >= 0 else len(text)
    close = text.find(closing, inner, begun)
    return close + len(closing) if close >= 0 else begun


def items(text: str) -> Iterator[Found | str]:
    """The calls of a JSON list, or one or more that stand without brackets, and the prose behind them.

    What cannot be read on from some place is one malformed call, up to the end.
    """
    start = _after(_SPACE, text, 0)
    listed = text.startswith("[", start)
    position = start + listed
    while True:
        try:
            value, end = value_at(text, position)
        except ValueError:
            yield unread(text[position:].strip() if position > start + listed else text)
            return
        yield call_of(value, text[position:end].strip())
        position = _after(_BETWEEN, text, end)
        if listed and text.startswith("]", position):
            listed, position = False, position + 1
            break
        if not text.startswith("{", position):
            break
    if rest := text[position:].strip():
        yield unread(rest) if listed else text[position:]


def _after(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Where what is skipped ends; a slice each time would copy the rest of a long text for each of its calls."""
    found = pattern.match(text, start)
    return start if found is None else found.end()


def compact(content: str) -> str:
    """JSON without the white space between its tokens, every number and string left as written; other text as it is."""
    if not content.lstrip().startswith(("{", "[")):
        return content
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return content
    return _STRING_OR_SPACE.sub(lambda found: found[0] if found[0].startswith('"') else "", content)


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
