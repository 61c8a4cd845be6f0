"""Bodies as XML, by what the document's `xml` objects say."""

import re
from collections.abc import Iterator
from typing import cast
from xml.sax.saxutils import escape, quoteattr

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.catalogue.xml_shape import XmlShape
from practicum_connectors.request.texts import UnwritableError, text_of_scalar

_NAME = re.compile(r"[^\W\d][\w.-]*")
_ANY = XmlShape()
_TEXT_ESCAPES = {"\r": "&#13;"}  # a reader would take it for a line's end


def write_xml(value: JsonValue, shape: XmlShape) -> bytes:
    """A document with the value as its outermost element.

    Args:
        value: the body.
        shape: how it is written.

    Raises:
        UnwritableError: it holds what XML cannot carry.
    """
    try:
        text = "".join(_element(shape.name or "", value, shape))
        return f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode()
    except UnicodeEncodeError:
        raise UnwritableError("it holds half of a character (a lone surrogate)") from None


def _element(name: str, value: JsonValue, shape: XmlShape) -> Iterator[str]:
    tag = _qualified(name, shape)
    declared = (
        f" xmlns{':' if shape.prefix else ''}{shape.prefix}={quoteattr(shape.namespace)}" if shape.namespace else ""
    )
    if isinstance(value, list):
        yield f"<{tag}{declared}>"
        for item in value:
            yield from _item(name, item, shape)
        yield f"</{tag}>"
    elif isinstance(value, dict):
        attributes = "".join(_attributes(value, shape))
        yield f"<{tag}{declared}{attributes}>"
        yield from _content(value, shape)
        yield f"</{tag}>"
    else:
        yield f"<{tag}{declared}>{escape(text_of_scalar(value), _TEXT_ESCAPES)}</{tag}>"


def _item(name: str, value: JsonValue, array: XmlShape) -> Iterator[str]:
    shape = array.items or _ANY
    if isinstance(value, list) and not shape.wrapped:
        raise UnwritableError("a list directly inside a list cannot be written as XML")
    yield from _element(shape.name or name, value, shape)


def _attributes(value: JsonObject, shape: XmlShape) -> Iterator[str]:
    for name, member in value.items():
        inner = shape.members.get(name)
        if inner is not None and inner.attribute:
            declared = f" xmlns:{inner.prefix}={quoteattr(inner.namespace)}" if inner.namespace and inner.prefix else ""
            yield f"{declared} {_qualified(inner.name or name, inner)}={quoteattr(text_of_scalar(member))}"


def _content(value: JsonObject, shape: XmlShape) -> Iterator[str]:
    """The elements inside, in the order of the document, which XML's own schemas often ask for."""
    known = [name for name in shape.members if name in value]
    for name in dict.fromkeys((*known, *value)):
        member, inner = value[name], shape.members.get(name) or shape.others or _ANY
        if inner.attribute and name in shape.members:
            continue
        if inner.text:
            yield escape(text_of_scalar(member), _TEXT_ESCAPES)
        elif isinstance(member, list) and not inner.wrapped:
            if not member:
                raise UnwritableError("an empty list cannot be written here; leave it out", (name,))
            for item in cast("list[JsonValue]", member):
                yield from _item(name, item, inner)
        else:
            yield from _element(inner.name or name, member, inner)


def _qualified(name: str, shape: XmlShape) -> str:
    if not _NAME.fullmatch(name):
        raise UnwritableError(f"{name!r} cannot be the name of an element")
    return f"{shape.prefix}:{name}" if shape.prefix else name
