"""Bodies in parts (`multipart/form-data`, RFC 7578): fields as text, objects as JSON, files as files."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from practicum.contracts.connectors import ArrayStyle
from practicum_connectors.catalogue.plan import Encoding
from practicum_connectors.exchange import Payload
from practicum_connectors.request.brackets import bracketed
from practicum_connectors.request.forms import is_json
from practicum_connectors.request.texts import UnwritableError, filled, text_of_scalar


@dataclass(frozen=True, slots=True)
class _Part:
    name: str
    content: bytes
    media_type: str | None = None
    file_name: str | None = None


def write_multipart(
    value: Any, encoding: Mapping[str, Encoding], arrays: ArrayStyle, media_type: str
) -> tuple[str, bytes]:
    """The content type, with its boundary, and the parts.

    Args:
        value: the body, files in it as payloads with media type and name.
        encoding: what the document says of single parts.
        arrays: how lists inside of objects are written where parts are named with brackets.
        media_type: the media type without a boundary.

    Raises:
        UnwritableError: it is no object, or a part has no form; its text names the part.
    """
    if not isinstance(value, dict):
        raise UnwritableError("a body in parts is an object")
    parts: list[bytes] = []
    for name, member in cast("dict[str, Any]", value).items():
        said = encoding.get(name)
        try:
            parts.extend(_written(part, said) for part in _parts(name, member, said, arrays))
        except UnwritableError as error:
            raise error.inside(name) from None
    boundary = _boundary(parts)
    mark = f"--{boundary}".encode()
    body = b"".join(b"%b\r\n%b\r\n" % (mark, part) for part in parts)
    return f"{media_type}; boundary={boundary}", b"%b%b--\r\n" % (body, mark)


def _parts(name: str, value: Any, said: Encoding | None, arrays: ArrayStyle) -> Iterator[_Part]:
    if said is not None and said.style == "deepObject" and isinstance(value, dict | list):
        for key, text in bracketed(name, cast("Any", value), arrays):
            yield _Part(key, text.encode())
    elif isinstance(value, list):
        for item in filled(cast("list[Any]", value)):
            yield _part(name, item, said)
    else:
        yield _part(name, value, said)


def _part(name: str, value: Any, said: Encoding | None) -> _Part:
    content_type = said.content_type if said else None
    if isinstance(value, Payload):
        return _Part(name, value.content, value.media_type, value.name)
    if isinstance(value, dict | list) or is_json(content_type):
        shown = content_type if is_json(content_type) else "application/json"
        return _Part(name, json.dumps(value, ensure_ascii=False).encode(), shown)
    return _Part(name, text_of_scalar(value).encode(), content_type)


def _written(part: _Part, said: Encoding | None) -> bytes:
    disposition = f'form-data; name="{_escaped(part.name)}"'
    if part.file_name is not None:
        disposition += f'; filename="{_escaped(part.file_name)}"'
    headers = [("Content-Disposition", disposition)]
    if part.media_type is not None:
        headers.append(("Content-Type", part.media_type))
    headers.extend(said.headers.items() if said else ())
    head = "".join(f"{name}: {text}\r\n" for name, text in headers)
    return b"%b\r\n%b" % (head.encode(), part.content)


def _escaped(text: str) -> str:
    """A name inside quotes, as browsers write it; servers disagree about backslashes, and nobody needs line ends."""
    if "\\" in text or not text.isprintable():
        raise UnwritableError(f"{text!r} holds characters that no name can carry")
    return text.replace('"', "%22")


def _boundary(parts: list[bytes]) -> str:
    """Made of the content, so that the same call is the same request; not in it."""
    digest = hashlib.sha256(b"\0".join(parts))
    while any(digest.hexdigest().encode() in part for part in parts):
        digest.update(b"\0")
    return digest.hexdigest()[:48]
