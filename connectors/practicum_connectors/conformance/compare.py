"""What arrived against what had to arrive: differences in words, none where all is well."""

import json
from collections.abc import Iterator
from email import policy
from email.parser import BytesParser
from typing import Any, cast
from urllib.parse import urlsplit
from xml.etree.ElementTree import ParseError, canonicalize

from practicum_connectors.conformance.case import Content, FormPart, Wire
from practicum_connectors.conformance.system import Arrived
from practicum_connectors.exchange import HttpRequest


def same_json(left: object, right: object) -> bool:
    """Whether two values are the same JSON: 1 is neither true nor 1.0, and the order of members says nothing."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def as_arrived(request: HttpRequest, *, absolute: bool) -> Arrived:
    """A request that is not sent, as it would arrive.

    Args:
        request: what was built.
        absolute: whether its line holds the whole URL.
    """
    parts = urlsplit(request.url)
    target = request.url if absolute else f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    return Arrived(f"{request.method} {target}", request.headers, request.body or b"")


def wire_differences(expected: Wire, arrived: Arrived) -> Iterator[str]:
    """How a request differs from the one that had to arrive.

    Args:
        expected: what had to.
        arrived: what did.
    """
    if arrived.line != expected.line:
        yield f"the request line is {arrived.line!r}, not {expected.line!r}"
    for name, value in expected.headers.items():
        if arrived.header(name) != value:
            yield f"the header {name} is {arrived.header(name)!r}, not {value!r}"
    yield from _body_differences(expected, arrived)


def _body_differences(expected: Wire, arrived: Arrived) -> Iterator[str]:
    if expected.parts is not None:
        yield from _part_differences(expected.parts, arrived)
    elif expected.xml is not None:
        try:
            given = canonicalize(arrived.body.decode(), strip_text=True)
        except (ParseError, UnicodeDecodeError) as error:
            yield f"the body is no XML ({error}): {arrived.body!r}"
            return
        if given != canonicalize(expected.xml, strip_text=True):
            yield f"the body is {given!r}"
    else:
        yield from content_differences("the body", expected, arrived.body)


def content_differences(what: str, expected: Content, given: bytes) -> Iterator[str]:
    """How some bytes differ from what they had to be; nothing expected means that there are none.

    Args:
        what: what the bytes are.
        expected: what they had to be.
        given: what they are.
    """
    if not expected.is_json:
        if given != (expected.content or b""):
            yield f"{what} is {given!r}, not {expected.content or b''!r}"
        return
    try:
        value: Any = json.loads(given)
    except ValueError:
        yield f"{what} is no JSON: {given!r}"
        return
    if not same_json(value, expected.value):
        yield f"{what} is {json.dumps(value)}, not {json.dumps(expected.value)}"


def _part_differences(expected: tuple[FormPart, ...], arrived: Arrived) -> Iterator[str]:
    """Parts as RFC 7578 has them, read with the standard library's reader of MIME."""
    kind = arrived.header("content-type") or ""
    if not kind.lower().startswith("multipart/form-data"):
        yield f"the body is not multipart but {kind!r}"
        return
    head = f"Content-Type: {kind}\r\nMIME-Version: 1.0\r\n\r\n".encode()
    message = BytesParser(policy=policy.HTTP).parsebytes(head + arrived.body)
    parts = [cast("Any", part) for part in message.iter_parts()]
    names = [part.get_param("name", header="content-disposition") for part in parts]
    if names != [part.name for part in expected]:
        yield f"the parts are {names}, not {[part.name for part in expected]}"
        return
    for wanted, part in zip(expected, parts, strict=True):
        what = f"the part {wanted.name}"
        if part.get_filename() != wanted.filename:
            yield f"{what} has the file name {part.get_filename()!r}, not {wanted.filename!r}"
        if wanted.media_type is not None and part.get_content_type() != wanted.media_type:
            yield f"{what} is {part.get_content_type()}, not {wanted.media_type}"
        yield from content_differences(what, wanted, part.get_payload(decode=True))
