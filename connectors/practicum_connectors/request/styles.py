"""Parameter values as text on the wire, in each of OpenAPI's styles."""

import json

from pydantic import JsonValue

from practicum.contracts.connectors import ArrayStyle
from practicum_connectors.document.operations import Parameter
from practicum_connectors.request.brackets import bracketed
from practicum_connectors.request.forms import FORM, is_json, write_form
from practicum_connectors.request.texts import UnwritableError, encoded, filled, text_of_scalar

_DELIMITERS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


def write_path(parameter: Parameter, value: JsonValue, arrays: ArrayStyle) -> str:
    """What stands in the path in place of the variable, percent-encoded so that it stays one segment.

    Raises:
        UnwritableError: it would be empty, or has no form.
    """
    written = encoded(_content(parameter, value, arrays)) if parameter.media_type else _path(parameter, value)
    if not written:
        raise UnwritableError("it stands in the path and must not be empty")
    return written


def _path(parameter: Parameter, value: JsonValue) -> str:
    lead = {"simple": "", "label": ".", "matrix": f";{encoded(parameter.name)}="}[parameter.style]
    if isinstance(value, list):
        items = filled([encoded(text_of_scalar(item)) for item in value])
        between = {"simple": ",", "label": ".", "matrix": lead}[parameter.style] if parameter.explode else ","
        return lead + between.join(items)
    if isinstance(value, dict):
        pairs = filled([(encoded(key), encoded(text_of_scalar(item))) for key, item in value.items()])
        if not parameter.explode:
            return lead + ",".join(part for pair in pairs for part in pair)
        between = {"simple": ",", "label": ".", "matrix": ";"}[parameter.style]
        return lead[:1] + between.join(f"{key}={item}" for key, item in pairs)
    text = text_of_scalar(value)
    return lead + encoded(text) if text else ""


def write_query(parameter: Parameter, value: JsonValue, arrays: ArrayStyle) -> list[str]:
    """The pairs `name=value` of the query string, percent-encoded.

    Raises:
        UnwritableError: the value has no form in the parameter's style.
    """
    name = encoded(parameter.name)
    if parameter.media_type is not None:
        return [f"{name}={encoded(_content(parameter, value, arrays))}"]
    if parameter.style == "deepObject" and isinstance(value, dict | list):
        pairs = bracketed(parameter.name, value, arrays)
        return [f"{encoded(key)}={_value(parameter, text)}" for key, text in pairs]
    if isinstance(value, list):
        items = filled([_value(parameter, text_of_scalar(item)) for item in value])
        return [f"{name}={item}" for item in items] if parameter.explode else [f"{name}={_joined(parameter, items)}"]
    if isinstance(value, dict):
        pairs = filled([(encoded(key), _value(parameter, text_of_scalar(item))) for key, item in value.items()])
        if parameter.explode:
            return [f"{key}={item}" for key, item in pairs]
        return [f"{name}={_joined(parameter, [part for pair in pairs for part in pair])}"]
    return [f"{name}={_value(parameter, text_of_scalar(value))}"]


def write_header(parameter: Parameter, value: JsonValue, arrays: ArrayStyle) -> str:
    """A header's value; nothing is encoded in headers.

    Raises:
        UnwritableError: it holds what no header can carry.
    """
    if parameter.media_type is not None:
        text = _content(parameter, value, arrays)
    elif isinstance(value, list):
        text = ",".join(filled([text_of_scalar(item) for item in value]))
    elif isinstance(value, dict):
        between = "=" if parameter.explode else ","
        text = ",".join(filled([f"{key}{between}{text_of_scalar(item)}" for key, item in value.items()]))
    else:
        text = text_of_scalar(value)
    if not text.isascii() or not text.isprintable():
        raise UnwritableError("a header can carry printable ASCII characters only")
    if text != text.strip():
        raise UnwritableError("a header cannot begin or end with a space")
    return text


def write_cookie(parameter: Parameter, value: JsonValue, arrays: ArrayStyle) -> list[str]:
    """The pairs `name=value` of the Cookie header.

    In the style `form` values are percent-encoded, and lists and objects joined by commas whatever `explode` says; in
    the style `cookie` nothing is encoded.

    Raises:
        UnwritableError: the value has no form in the parameter's style.
    """
    name, bare = parameter.name, parameter.style == "cookie"
    write = _cookie_text if bare else encoded
    if parameter.media_type is not None:
        return [f"{name}={encoded(_content(parameter, value, arrays))}"]
    if isinstance(value, list):
        items = [write(text_of_scalar(item)) for item in filled(value)]
        return [f"{name}={item}" for item in items] if bare and parameter.explode else [f"{name}={','.join(items)}"]
    if isinstance(value, dict):
        pairs = [(write(key), write(text_of_scalar(item))) for key, item in filled([*value.items()])]
        if bare and parameter.explode:
            return [f"{key}={item}" for key, item in pairs]
        return [f"{name}={','.join(part for pair in pairs for part in pair)}"]
    return [f"{name}={write(text_of_scalar(value))}"]


def _cookie_text(text: str) -> str:
    if not text.isascii() or not text.isprintable() or set(text) & set(' ",;\\'):
        raise UnwritableError("a cookie cannot carry spaces, quotes, commas, semicolons or backslashes")
    return text


def _joined(parameter: Parameter, items: list[str]) -> str:
    return _DELIMITERS.get(parameter.style, ",").join(items)


def _value(parameter: Parameter, text: str) -> str:
    return encoded(text, allow_reserved=parameter.allow_reserved)


def _content(parameter: Parameter, value: JsonValue, arrays: ArrayStyle) -> str:
    """The value of a parameter that is described by a media type."""
    if parameter.media_type == FORM:
        return write_form(value, {}, arrays).decode("ascii")
    if is_json(parameter.media_type) or isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text_of_scalar(value)
