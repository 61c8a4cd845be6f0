"""The result of a tool as an answer of HTTP, so that it is told, bounded, checked and kept like every other.

::

    structuredContent                    JSON
    text, resource with text             text, or JSON where it is some
    image, audio, resource with bytes    artifacts
    resource_link                        a line that names it
    isError                              the status by which a system refuses: 400
"""

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from practicum_connectors.document.pointers import Node, as_list, as_node, text_of
from practicum_connectors.exchange import HttpResponse, Payload

_OK: Final = 200
_REFUSED: Final = 400
_MOST_PARTS: Final = 500
_MOST_NAME: Final = 120
_OF_BYTES: Final = frozenset({"image", "audio", "resource"})
_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"


def answer_of(result: Node) -> tuple[HttpResponse, tuple[Payload, ...]]:
    """A result as an answer, and the bytes that come with it.

    Args:
        result: the result of `tools/call`.
    """
    if result.get("resultType") == "input_required":
        return _said("The tool asks for more input in mid-call, which nobody here can give.", _REFUSED), ()
    status = _REFUSED if result.get("isError") is True else _OK
    parts = as_list(result.get("content"))
    payloads = tuple(payload for part in parts[:_MOST_PARTS] if (payload := _payload(as_node(part))) is not None)
    texts = list(_texts(parts))
    structured = result.get("structuredContent")
    if structured is not None:
        same = _sayings(structured)
        beside = [text for text in texts if not _says_the_same(text, structured, same)]
        if status == _OK or not beside:
            return HttpResponse(status, (("content-type", _JSON),), json.dumps(structured).encode()), payloads
    return _said("\n".join(texts), status), payloads


def error_answer(error: Node, status: int) -> HttpResponse:
    """An error of the protocol as an answer.

    Args:
        error: it, as it stands in the message.
        status: the HTTP status that means the same.
    """
    return HttpResponse(status, (("content-type", _JSON),), json.dumps(error).encode())


def _said(text: str, status: int) -> HttpResponse:
    return HttpResponse(status, (("content-type", _TEXT),), text.encode(errors="replace"))


def _texts(parts: list[Any]) -> Iterator[str]:
    """What can be read of a result."""
    for part in map(as_node, parts[:_MOST_PARTS]):
        kind, resource = part.get("type"), as_node(part.get("resource"))
        if kind == "text":
            yield text_of(part.get("text"))
        elif kind == "resource" and isinstance(resource.get("text"), str):
            yield text_of(resource.get("text"))
        elif kind == "resource_link":
            named = text_of(part.get("title")) or text_of(part.get("name"))
            yield f"[{named or 'resource'}: {text_of(part.get('uri'))}]"
        elif kind in _OF_BYTES and _payload(part) is None:
            yield f"[{kind}: its bytes cannot be read]"
    if len(parts) > _MOST_PARTS:
        yield f"[{len(parts) - _MOST_PARTS} more parts are left out]"


def _sayings(structured: object) -> frozenset[str]:
    """The only value of structured content that has one, as a text."""
    members = as_node(structured)
    return frozenset(map(_plain, members.values())) if len(members) == 1 else frozenset()


def _says_the_same(text: str, structured: object, same: frozenset[str]) -> bool:
    """Whether a text is what the structured content says: as JSON, or as its only value."""
    try:
        return text in same or json.loads(text) == structured
    except (ValueError, RecursionError):
        return False


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _payload(part: Node) -> Payload | None:
    """The bytes that a part holds, if it holds any that can be read."""
    resource = as_node(part.get("resource"))
    held = part if part.get("type") in {"image", "audio"} else resource
    packed = held.get("blob") if held is resource else part.get("data")
    if not isinstance(packed, str):
        return None
    try:
        content = base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        return None
    media_type = text_of(held.get("mimeType")).partition(";")[0].strip().lower()
    name = text_of(resource.get("uri")).rstrip("/").rpartition("/")[2]
    return Payload(media_type if _is_token(media_type) else "application/octet-stream", _name(name), content)


def _name(text: Iterable[str]) -> str | None:
    name = "".join(sign for sign in text if sign.isprintable())[-_MOST_NAME:]
    return None if name in {"", ".", ".."} else name


def _is_token(media_type: str) -> bool:
    kind, mark, rest = media_type.partition("/")
    return (
        bool(kind and mark and rest)
        and len(media_type) <= _MOST_NAME
        and media_type.isascii()
        and media_type.isprintable()
        and " " not in media_type
    )
