"""Parameter values as text on the wire, in each of OpenAPI's styles."""

import json
from collections.abc import Iterable
from typing import TypeVar, cast
from urllib.parse import quote

from pydantic import JsonValue

from practicum_connectors.document.operations import Parameter

_KEPT_RESERVED = ":/?@!$'()*,;"
"""Reserved characters that mean nothing inside a query; `#[]&=+` stay encoded even where reserved is allowed."""
_T = TypeVar("_T")
_DELIMITERS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


class UnwritableError(Exception):
    """A value has no form on the wire; its text says why, for the model."""


def text_of_scalar(value: JsonValue) -> str:
    """A single value as text.

    Raises:
        UnwritableError: it is null, a list or an object.
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value)
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case None:
            raise UnwritableError("null cannot be written here")
        case _:
            raise UnwritableError("only single values can be written at this depth")


def write_path(parameter: Parameter, value: JsonValue) -> str:
    """What stands in the path in place of the variable, percent-encoded so that it stays one segment.

    Raises:
        UnwritableError: it would be empty, or has no form.
    """
    if parameter.media_type is not None:
        return _encoded(_json(value))
    lead = {"simple": "", "label": ".", "matrix": f";{_encoded(parameter.name)}="}[parameter.style]
    if isinstance(value, list):
        items = _filled([_encoded(text_of_scalar(item)) for item in value])
        between = {"simple": ",", "label": ".", "matrix": lead}[parameter.style] if parameter.explode else ","
        return lead + between.join(items)
    if isinstance(value, dict):
        pairs = _filled([(_encoded(key), _encoded(text_of_scalar(item))) for key, item in value.items()])
        if not parameter.explode:
            return lead + ",".join(part for pair in pairs for part in pair)
        between = {"simple": ",", "label": ".", "matrix": ";"}[parameter.style]
        return lead[:1] + between.join(f"{key}={item}" for key, item in pairs)
    text = text_of_scalar(value)
    if not text:
        raise UnwritableError("it stands in the path and must not be empty")
    return lead + _encoded(text)


def write_query(parameter: Parameter, value: JsonValue) -> list[str]:
    """The pairs `name=value` of the query string, percent-encoded.

    Raises:
        UnwritableError: the value has no form in the parameter's style.
    """
    name = _encoded(parameter.name)
    if parameter.media_type is not None:
        return [f"{name}={_encoded(_json(value))}"]
    if parameter.style == "deepObject" and isinstance(value, dict | list):
        return _filled([f"{_encoded(key)}={_value(parameter, text)}" for key, text in _deep(parameter.name, value)])
    if isinstance(value, list):
        items = _filled([_value(parameter, text_of_scalar(item)) for item in value])
        return [f"{name}={item}" for item in items] if parameter.explode else [f"{name}={_joined(parameter, items)}"]
    if isinstance(value, dict):
        pairs = _filled([(_encoded(key), _value(parameter, text_of_scalar(item))) for key, item in value.items()])
        if parameter.explode:
            return [f"{key}={item}" for key, item in pairs]
        return [f"{name}={_joined(parameter, [part for pair in pairs for part in pair])}"]
    return [f"{name}={_value(parameter, text_of_scalar(value))}"]


def write_header(parameter: Parameter, value: JsonValue) -> str:
    """A header's value; nothing is encoded in headers.

    Raises:
        UnwritableError: it holds what no header can carry.
    """
    if parameter.media_type is not None:
        text = _json(value)
    elif isinstance(value, list):
        text = ",".join(_filled([text_of_scalar(item) for item in value]))
    elif isinstance(value, dict):
        between = "=" if parameter.explode else ","
        text = ",".join(_filled([f"{key}{between}{text_of_scalar(item)}" for key, item in value.items()]))
    else:
        text = text_of_scalar(value)
    if not text.isascii() or not text.isprintable():
        raise UnwritableError("a header can carry printable ASCII characters only")
    if text != text.strip():
        raise UnwritableError("a header cannot begin or end with a space")
    return text


def write_cookie(parameter: Parameter, value: JsonValue) -> str:
    """A cookie's value, percent-encoded; lists are joined by commas whatever `explode` says.

    Raises:
        UnwritableError: it has no form.
    """
    if parameter.media_type is not None:
        return _encoded(_json(value))
    if isinstance(value, list):
        return ",".join(_filled([_encoded(text_of_scalar(item)) for item in value]))
    if isinstance(value, dict):
        pairs = _filled([(_encoded(key), _encoded(text_of_scalar(item))) for key, item in value.items()])
        return ",".join(part for pair in pairs for part in pair)
    return _encoded(text_of_scalar(value))


def _deep(prefix: str, value: JsonValue) -> Iterable[tuple[str, str]]:
    """`filter[a][b]=1`, and `filter[ids][]=1` for lists: what PHP, Rails, Stripe and `qs` read."""
    if isinstance(value, dict):
        for key, item in _filled(list(value.items())):
            yield from _deep(f"{prefix}[{key}]", item)
    elif isinstance(value, list):
        for item in _filled(value):
            if isinstance(item, dict | list):
                raise UnwritableError("a list of objects cannot be written in the query")
            yield f"{prefix}[]", text_of_scalar(item)
    else:
        yield prefix, text_of_scalar(value)


def _filled(items: list[_T]) -> list[_T]:
    if not items:
        raise UnwritableError("an empty list or object cannot be written here; leave it out")
    return items


def _joined(parameter: Parameter, items: list[str]) -> str:
    return _DELIMITERS.get(parameter.style, ",").join(items)


def _value(parameter: Parameter, text: str) -> str:
    return quote(text, safe=_KEPT_RESERVED if parameter.allow_reserved else "")


def _encoded(text: str) -> str:
    return quote(text, safe="")


def _json(value: JsonValue) -> str:
    return json.dumps(cast("object", value), ensure_ascii=False, separators=(",", ":"))
