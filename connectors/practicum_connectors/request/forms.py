"""Bodies as form fields (`application/x-www-form-urlencoded`).

What a document says of a field (`encoding`) is followed. Where it says nothing, lists are repeated (`l=x&l=y`) and
objects are written in brackets: OpenAPI's own default, JSON text in a field, is what no form server reads.
"""

import json
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ArrayStyle
from practicum_connectors.catalogue.plan import Encoding
from practicum_connectors.request.brackets import bracketed
from practicum_connectors.request.texts import UnwritableError, encoded_field, filled, text_of_scalar

FORM = "application/x-www-form-urlencoded"
_JSON_TYPES = ("/json", "+json")
_BETWEEN = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}


def write_form(value: JsonValue, encoding: Mapping[str, Encoding], arrays: ArrayStyle) -> bytes:
    """The fields of a form.

    Args:
        value: the body.
        encoding: what the document says of single fields.
        arrays: how lists inside of objects are written.

    Raises:
        UnwritableError: it is no object, or a field has no form; its text names the field.
    """
    if not isinstance(value, dict):
        raise UnwritableError("a form is an object")
    pairs: list[str] = []
    for name, member in value.items():
        try:
            pairs.extend(_field(name, member, encoding.get(name), arrays))
        except UnwritableError as error:
            raise error.inside(name) from None
    return "&".join(pairs).encode("ascii")


def is_json(media_type: str | None) -> bool:
    """Whether values of a media type are JSON."""
    return (media_type or "").partition(";")[0].strip().lower().endswith(_JSON_TYPES)


def _field(name: str, value: JsonValue, encoding: Encoding | None, arrays: ArrayStyle) -> Iterator[str]:
    style = encoding.style if encoding else None
    free = encoding is not None and encoding.allow_reserved
    if encoding is not None and style is None and is_json(encoding.content_type):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        yield f"{encoded_field(name)}={encoded_field(text)}"
    elif style in _BETWEEN and isinstance(value, list | dict):
        assert encoding is not None  # noqa: S101 (it has a style)
        yield from _styled(name, value, encoding)
    else:
        for key, text in _nested(name, value, style, arrays):
            yield f"{encoded_field(key)}={encoded_field(text, allow_reserved=free)}"


def _nested(name: str, value: JsonValue, style: str | None, arrays: ArrayStyle) -> Iterator[tuple[str, str]]:
    """A field that no delimiter holds: outermost lists of single values are repeated unless it is a `deepObject`."""
    if isinstance(value, list) and style is None and not any(isinstance(item, dict | list) for item in value):
        yield from ((name, text_of_scalar(item)) for item in filled(value))
    else:
        yield from bracketed(name, value, arrays)


def _styled(name: str, value: list[JsonValue] | JsonObject, encoding: Encoding) -> Iterator[str]:
    def text(item: JsonValue) -> str:
        return encoded_field(text_of_scalar(item), allow_reserved=encoding.allow_reserved)

    if isinstance(value, dict):
        pairs = [(encoded_field(key), text(item)) for key, item in filled([*value.items()])]
        texts = [part for pair in pairs for part in pair]
        apart = [f"{key}={item}" for key, item in pairs]
    else:
        texts = [text(item) for item in filled(value)]
        apart = [f"{encoded_field(name)}={item}" for item in texts]
    if encoding.explode:
        yield from apart
    else:
        yield f"{encoded_field(name)}={_BETWEEN[encoding.style or 'form'].join(texts)}"
