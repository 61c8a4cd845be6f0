"""Files among the arguments: their bytes found before a request is written, and their marks when it is read back."""

import base64
import binascii
import hashlib
import mimetypes
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.catalogue.files import SOURCES, is_file_schema
from practicum_connectors.exchange import Payload
from practicum_connectors.request.texts import UnwritableError
from practicum_connectors.request.views import SchemaView

OCTETS = "application/octet-stream"
"""What bytes are when nobody says more."""

DEFAULT_NAME = "file"
"""What a file among others is called when nobody says more: servers take a part for a file only if it has a name."""

_MEDIA_TYPE = re.compile(
    r"[\w!#$&^.+*-]+/[\w!#$&^.+*-]+([ \t]*;[ \t]*[\w-]+=(\"[\x20\x21\x23-\x7e]*\"|[\w!#$&^.+-]+))*", re.ASCII
)
_TYPES = mimetypes.MimeTypes()  # the built-in table: what a file is called must mean the same on every machine


def resolved(value: JsonValue, schema: object, view: SchemaView, files: Mapping[str, Payload]) -> Any:
    """A value with the files in it as payloads; a new one where there are any.

    Args:
        value: the value.
        schema: what it may be; it says where files stand.
        view: looks into it.
        files: stored artifacts by id.

    Raises:
        UnwritableError: a file names no bytes.
    """
    if isinstance(value, dict):
        if any(is_file_schema(branch) for branch in view.branches(schema)):
            return _payload(value, files)
        return {name: _inside(name, item, view.member(schema, name), view, files) for name, item in value.items()}
    if isinstance(value, list):
        inner = view.items(schema)
        return [_inside(str(number), item, inner, view, files) for number, item in enumerate(value)]
    return value


def _inside(name: str, value: JsonValue, schema: object, view: SchemaView, files: Mapping[str, Payload]) -> Any:
    try:
        return resolved(value, schema, view, files)
    except UnwritableError as error:
        raise error.inside(name) from None


def artifacts_in(value: JsonValue, schema: object, view: SchemaView) -> Iterator[str]:
    """The ids of the artifacts that a value names.

    Args:
        value: the value.
        schema: what it may be; it says where files stand.
        view: looks into it.
    """
    if isinstance(value, dict):
        if any(is_file_schema(branch) for branch in view.branches(schema)):
            named = value.get("artifact")
            if isinstance(named, str):
                yield named
            return
        for name, item in value.items():
            yield from artifacts_in(item, view.member(schema, name), view)
    elif isinstance(value, list):
        for item in value:
            yield from artifacts_in(item, view.items(schema), view)


def settled(value: Any, allowed: str | None) -> Any:
    """A member of a body with the media type and name of each file in it decided.

    Args:
        value: the member, files in it as payloads.
        allowed: the media types that the system takes there, None where it does not say.

    Raises:
        UnwritableError: a file is of none of them.
    """
    if isinstance(value, Payload):
        return Payload(chosen_type(value, allowed), value.name or DEFAULT_NAME, value.content, complete=True)
    if isinstance(value, list):
        return [settled(item, allowed) for item in cast("list[Any]", value)]
    return value


def marked(value: Any) -> JsonValue:
    """A value with a mark of each payload in it: a file whose artifact is the digest of its bytes."""
    if isinstance(value, Payload):
        return mark_of(value.content, value.media_type, value.name)
    if isinstance(value, dict):
        return {name: marked(item) for name, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [marked(item) for item in cast("list[Any]", value)]
    return value


def mark_of(content: bytes, media_type: str, name: str | None) -> JsonObject:
    """What stands for a file while a request is proved: equal for the same bytes, type and name only."""
    mark: JsonObject = {"artifact": hashlib.sha256(content).hexdigest(), "media_type": media_type}
    return mark if name is None else {**mark, "name": name}


def chosen_type(payload: Payload, allowed: str | None) -> str:
    """The media type under which a file is sent.

    Args:
        payload: the file; its media type is empty where nobody gave one.
        allowed: the media types that the system takes, separated by commas; None where it does not say.

    Raises:
        UnwritableError: it is of none of them.
    """
    guess = payload.media_type or _TYPES.guess_type(payload.name or "")[0]
    ranges = [text.strip() for text in (allowed or "").split(",") if text.strip()]
    if not ranges:
        return guess or OCTETS
    if guess and any(covers(each, guess) for each in ranges):
        return guess
    concrete = [text for text in ranges if "*" not in text]
    if any(covers(each, OCTETS) for each in ranges):
        return OCTETS
    if payload.media_type or not concrete:
        raise UnwritableError(f"its media_type must be one of {', '.join(ranges)}")
    return concrete[0]


def covers(media_range: str, media_type: str) -> bool:
    """Whether a media type is of a range such as `image/*`; parameters do not count."""
    wanted, given = (text.partition(";")[0].strip().lower() for text in (media_range, media_type))
    kind, _, rest = wanted.partition("/")
    return wanted in {given, "*/*"} or (rest == "*" and given.startswith(f"{kind}/"))


def _payload(value: JsonObject, files: Mapping[str, Payload]) -> Payload:
    stored = _bytes(value, files)
    name = cast("str | None", value.get("name") or stored.name)
    media_type = cast("str", value.get("media_type") or stored.media_type)
    if media_type and (not _MEDIA_TYPE.fullmatch(media_type) or "*" in media_type):
        raise UnwritableError(f"{media_type!r} is no media type such as image/png")
    return Payload(media_type, name, stored.content, complete=True)


def _bytes(value: JsonObject, files: Mapping[str, Payload]) -> Payload:
    given = {source: text for source in SOURCES if isinstance(text := value.get(source), str)}
    if len(given) != 1:
        raise UnwritableError(f"give exactly one of {', '.join(SOURCES)}")
    ((source, text),) = given.items()
    if source == "text":
        return Payload("", None, _utf8(text), complete=True)
    if source == "base64":
        try:
            return Payload("", None, base64.b64decode(text, validate=True), complete=True)
        except (binascii.Error, ValueError):
            raise UnwritableError("`base64` is not valid base64") from None
    stored = files.get(text)
    if stored is None:
        raise UnwritableError(f"there is no artifact {text!r}")
    if not stored.complete:
        raise UnwritableError(f"the artifact {text!r} was cut when it was stored; a part of a file is not sent")
    return stored


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UnwritableError("its text holds half of a character (a lone surrogate)") from None
