"""Reading a body in parts back with the standard library's mail parser, which knows nothing of the writer.

openapi-core asks the same parser, but takes neither file names nor media types from it, and reads bytes as text.
"""

import json
from collections.abc import Mapping
from email import policy
from email.message import Message
from email.parser import BytesParser
from typing import Any, cast

from pydantic import JsonValue

from practicum_connectors.catalogue.files import is_file_schema
from practicum_connectors.catalogue.plan import Encoding
from practicum_connectors.request.files import mark_of
from practicum_connectors.request.parse import Shape
from practicum_connectors.request.parse_brackets import read_brackets
from practicum_connectors.request.views import SchemaView

_Part = Message


class MultipartReader:
    """Reads the bodies in parts of one operation."""

    def __init__(self, schema: object, encoding: Mapping[str, Encoding], view: SchemaView) -> None:
        """Read nothing yet.

        Args:
            schema: the body's schema, files in it as files.
            encoding: what the document says of single parts.
            view: looks into the schema.
        """
        self._schema = schema
        self._encoding = encoding
        self._view = view
        self._deep = [name for name, said in encoding.items() if said.style == "deepObject"]

    def read(self, content_type: str, raw: bytes, shapes: Mapping[str, Shape]) -> JsonValue:
        """The object that the parts stand for, files in it as their marks.

        Args:
            content_type: the header, with the boundary.
            raw: the body.
            shapes: kind of value of each part, where the document leaves it open.

        Raises:
            ValueError: they cannot be read, or contradict each other.
        """
        whole = BytesParser(policy=policy.compat32).parsebytes(_headed(content_type, raw))
        if raw == f"--{whole.get_boundary()}--\r\n".encode():
            return {}
        if not whole.is_multipart() or whole.defects:
            raise ValueError("the parts cannot be told from each other")
        named: dict[str, list[_Part]] = {}
        for part in cast("list[_Part]", whole.get_payload()):
            named.setdefault(_disposed(part, "name") or "", []).append(part)
        read: dict[str, JsonValue] = {}
        for name in self._deep:
            keys = [key for key in named if key == name or key.startswith(f"{name}[")]
            pairs = [(key, _text(part)) for key in keys for part in named.pop(key)]
            if pairs:
                schema = self._view.member(self._schema, name)
                read[name] = self._view.typed(read_brackets(name, pairs, schema, self._view), schema)
        for name, parts in named.items():
            read[name] = self._member(name, parts, shapes.get(name, "single"))
        return read

    def _member(self, name: str, parts: list[_Part], shape: Shape) -> JsonValue:
        schema = self._view.member(self._schema, name)
        said = self._encoding.get(name)
        if said is not None and any(
            part.get(header) != value for part in parts for header, value in said.headers.items()
        ):
            raise ValueError(f"a header of {name} is missing")
        if self._view.only(schema, "array") or (shape == "list" and not self._view.only(schema, "object")):
            return [self._value(part, self._view.items(schema)) for part in parts]
        if len(parts) > 1:
            raise ValueError(f"{name} stands there twice")
        return self._value(parts[0], schema)

    def _value(self, part: _Part, schema: object) -> JsonValue:
        content = cast("bytes", part.get_payload(decode=True))
        media_type = part.get("Content-Type")
        if any(is_file_schema(branch) for branch in self._view.branches(schema)):
            return mark_of(content, media_type or "", _disposed(part, "filename"))
        if media_type is not None and part.get_content_subtype().endswith("json"):
            return cast("JsonValue", json.loads(content))
        return self._view.typed(content.decode(), schema)


def _headed(content_type: str, raw: bytes) -> bytes:
    return b"Content-Type: %b\r\n\r\n%b" % (content_type.encode("ascii"), raw)


def _text(part: _Part) -> str:
    return cast("bytes", part.get_payload(decode=True)).decode()


def _disposed(part: _Part, name: str) -> str | None:
    """A parameter of the disposition; names outside ASCII stand there as they are, quotes escaped."""
    raw = next((text for key, text in part.raw_items() if key.lower() == "content-disposition"), "")
    alone = Message()
    alone["Content-Disposition"] = raw.encode("ascii", "surrogateescape").decode()
    found: Any = alone.get_param(name, header="Content-Disposition")
    if found is None:
        return None
    return str(found).replace("%22", '"')
