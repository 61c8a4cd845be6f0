"""OpenAPI's runtime expressions, evaluated from a call that was made: `$request.path.id`, `$response.body#/id`.

What points nowhere has no value, and a null counts as none: whoever asks gets all of it or nothing.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import unquote

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.catalogue.plan import Place, ToolPlan
from practicum_connectors.exchange import HttpResponse

_EMBEDDED = re.compile(r"\{(\$[^{}]*)\}")
_FORM = re.compile(
    r"\$(?:method|statusCode"
    r"|request\.(?:(?:path|query|header)\..+|body(?:#(?:/.*)?)?)"
    r"|response\.(?:header\..+|body(?:#(?:/.*)?)?))",
    re.DOTALL,
)
_MOST_DEPTH = 20
_MOST_CHARACTERS = 10_000
"""More, all expressions of a template together, no offer holds; it is not even put together."""


class NowhereError(Exception):
    """An expression leads to no value."""


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was made.

    Attributes:
        plan: its tool.
        arguments: its arguments.
        url: where it went.
        response: what was answered; None while it is in doubt.
        body: the JSON of the answer, None where it was none.
    """

    plan: ToolPlan
    arguments: JsonObject = field(repr=False)
    url: str = ""
    response: HttpResponse | None = field(default=None, repr=False)
    body: JsonValue = field(default=None, repr=False)


def value_of(template: JsonValue, made: Made) -> JsonValue:
    """What a template comes to: expressions evaluated, all else as it stands.

    Args:
        template: an expression, a text with expressions in braces, or JSON of such.
        made: the call.

    Raises:
        NowhereError: an expression leads to no value.
    """
    return _Evaluation(made).value(template, _MOST_DEPTH)


def broken(template: JsonValue) -> str | None:
    """The first text in a template that looks like an expression and is none, None where all are well."""
    return next((text for text in _expressions(template, _MOST_DEPTH) if not _FORM.fullmatch(text)), None)


def needs_answer(template: JsonValue) -> bool:
    """Whether a template takes something from the answer."""
    return any(text.startswith(("$response", "$statusCode")) for text in _expressions(template, _MOST_DEPTH))


def argument(made: Made, place: Place, name: str) -> JsonValue:
    """What a call said at a place of its request.

    Args:
        made: the call.
        place: the place.
        name: the name there on the wire.

    Raises:
        NowhereError: it said nothing there.
    """
    for one in made.plan.arguments.values():
        same = one.name.lower() == name.lower() if place == "header" else one.name == name
        if one.place == place and same:
            return _some(made.arguments.get(one.key, one.default))
    raise NowhereError


@dataclass(slots=True)
class _Evaluation:
    """What a template comes to, as long as there is room for it."""

    made: Made
    room: int = _MOST_CHARACTERS

    def value(self, template: JsonValue, depth: int) -> JsonValue:
        if depth == 0:
            raise NowhereError
        if isinstance(template, list):
            return [self.value(item, depth - 1) for item in template]
        if isinstance(template, dict):
            return {name: self.value(item, depth - 1) for name, item in template.items()}
        if not isinstance(template, str):
            return template
        if template.startswith("$"):
            return self._taken(template)
        whole = _EMBEDDED.fullmatch(template)
        if whole is not None:
            return self._taken(whole[1])
        return _EMBEDDED.sub(lambda found: _text(self._taken(found[1])), template)

    def _taken(self, expression: str) -> JsonValue:
        value = _evaluated(expression, self.made)
        self.room -= len(value) if isinstance(value, str) else len(json.dumps(value))
        if self.room < 0:
            raise NowhereError
        return value


def _expressions(template: JsonValue, depth: int) -> list[str]:
    if depth == 0:
        return ["$"]  # none that is one: what nests so deep is not looked into
    if isinstance(template, str):
        return [template] if template.startswith("$") else _EMBEDDED.findall(template)
    items = template if isinstance(template, list) else list(template.values()) if isinstance(template, dict) else []
    return [text for item in items for text in _expressions(item, depth - 1)]


def _evaluated(expression: str, made: Made) -> JsonValue:
    if not _FORM.fullmatch(expression):
        raise NowhereError
    if expression == "$method":
        return made.plan.tool.method
    if expression == "$statusCode":
        return _answer(made).status
    side, source = expression[1:].split(".", 1)
    if source.partition("#")[0] == "body":
        whole = _request_body(made) if side == "request" else _answered_body(made)
        return _some(_at(whole, source.partition("#")[2]))
    place, name = source.split(".", 1)
    if side == "request":
        return argument(made, cast("Place", place), name)
    return _some(_answer(made).header(name))


def _answer(made: Made) -> HttpResponse:
    if made.response is None:
        raise NowhereError
    return made.response


def _answered_body(made: Made) -> JsonValue:
    _answer(made)
    return made.body


def _request_body(made: Made) -> JsonValue:
    body = made.plan.body
    if body is None:
        return None
    if not body.flat:
        key = next((one.key for one in made.plan.arguments.values() if one.place == "body"), "")
        return made.arguments.get(key)
    members = [one for one in made.plan.arguments.values() if one.place == "member"]
    return {one.name: made.arguments[one.key] for one in members if one.key in made.arguments}


def _at(value: JsonValue, pointer: str) -> JsonValue:
    """The value at a JSON Pointer; None where it leads nowhere."""
    for token in pointer.split("/")[1:]:
        name = unquote(token).replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = cast("Mapping[str, JsonValue]", value).get(name)
        elif isinstance(value, list) and name.isascii() and name.isdecimal() and len(name) < _MOST_DEPTH:
            value = value[int(name)] if int(name) < len(value) else None
        else:
            return None
    return value


def _some(value: JsonValue) -> JsonValue:
    if value is None:
        raise NowhereError
    return value


def _text(value: JsonValue) -> str:
    """A value within a text; only what is written in one way can stand there."""
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return str(value)
    raise NowhereError
