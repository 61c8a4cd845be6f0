"""A document from wherever it comes, parsed and known to be OpenAPI 3."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from practicum.errors import DocumentError
from practicum_connectors.document.limits import MAX_BYTES
from practicum_connectors.document.pointers import Node, Pointers, as_node
from practicum_connectors.document.yaml_reader import read_yaml

_VERSION = re.compile(r"3\.([012])(\.\d+)?([-.].*)?")


@dataclass(frozen=True)
class Document:
    """One OpenAPI document.

    Attributes:
        root: the parsed document; never changed.
        minor: 0 for 3.0, 1 for 3.1, 2 for 3.2.
        source: URL or path it came from, if any; relative server URLs are resolved against it.
    """

    root: Node
    minor: int
    source: str | None = None

    @property
    def title(self) -> str:
        """The document's title, or a stand-in."""
        return str(as_node(self.root.get("info")).get("title") or "Untitled")

    @property
    def version(self) -> str:
        """The version of the API that the document describes."""
        return str(as_node(self.root.get("info")).get("version") or "")

    @cached_property
    def canonical(self) -> bytes:
        """The document as compact JSON; parsing it again gives the same document and digest."""
        return json.dumps(self.root, separators=(",", ":")).encode()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical text, hexadecimal."""
        return hashlib.sha256(self.canonical).hexdigest()

    @cached_property
    def pointers(self) -> Pointers:
        """Follows the document's references."""
        return Pointers(self.root)


def load_document(source: bytes | str | Path | Mapping[str, Any], *, origin: str | None = None) -> Document:
    """Read a document.

    Args:
        source: its text as bytes or str, a path, or the parsed document.
        origin: where it came from, for relative URLs in it.

    Raises:
        DocumentError: it cannot be read, or is not OpenAPI 3.0 to 3.2.
    """
    if isinstance(source, Path):
        return _checked(_parse(_read(source)), origin or source.resolve().as_uri())
    if isinstance(source, Mapping):
        return _checked(_owned(source), origin)
    return _checked(_parse(source.encode() if isinstance(source, str) else source), origin)


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DocumentError(f"{path} is larger than {MAX_BYTES} bytes.", mend="Leave out what is not needed.")
        return path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}.", mend="Check the path.") from None


def _parse(data: bytes) -> object:
    if len(data) > MAX_BYTES:
        raise DocumentError(f"The document is larger than {MAX_BYTES} bytes.", mend="Leave out what is not needed.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"The document is not UTF-8 (byte {error.start}).", mend="Save it as UTF-8.") from None
    start = text.lstrip()[:1]
    return _parse_json(text) if start in {"{", "["} else _parse_text(text, start)


def _parse_json(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise DocumentError("The document nests too deep.", mend="Flatten it.") from None
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("{") and '"' in text[:200].partition(":")[0]:
            place = f"line {error.lineno}, column {error.colno}"
            raise DocumentError(
                f"The document is not valid JSON: {error.msg} ({place}).", mend="Mend it there."
            ) from None
        return read_yaml(text)  # YAML in flow style also begins with a brace
    except ValueError as error:
        raise DocumentError(f"The document is not valid JSON: {error}.", mend="Mend it there.") from None


def _parse_text(text: str, start: str) -> object:
    if start == "<":
        raise DocumentError(
            "This is HTML or XML, not an OpenAPI document.",
            mend="Give the address of the JSON or YAML document itself, not of the page that shows it.",
        )
    return read_yaml(text)


def _no_number(_: str) -> None:
    """NaN and infinities are no JSON; in an example they mean nothing."""


def _owned(source: Mapping[str, Any]) -> object:
    """A copy that nobody else can change, with text keys."""
    try:
        return json.loads(json.dumps(source, default=str), parse_constant=_no_number)
    except (TypeError, ValueError, RecursionError) as error:
        raise DocumentError(f"The document is not JSON: {error}.", mend="Give plain JSON values.") from None


def _checked(root: object, origin: str | None) -> Document:
    if not isinstance(root, dict):
        raise DocumentError("The document is not an object.", mend="An OpenAPI document begins with `openapi: 3...`.")
    node = cast("dict[str, Any]", root)
    if "swagger" in node and "openapi" not in node:
        raise DocumentError(
            f"This is Swagger {node['swagger']}, which is not read yet.",
            mend="Convert it to OpenAPI 3, for instance with `swagger2openapi`.",
        )
    if "openapi" not in node:
        raise DocumentError(
            "The document has no `openapi` field at its top.",
            mend="Give an OpenAPI 3 document; a schema or a part of a document is not enough.",
        )
    match = _VERSION.fullmatch(str(node["openapi"]))
    if match is None:
        raise DocumentError(f"OpenAPI version {node['openapi']!r} is not known.", mend="Use OpenAPI 3.0, 3.1 or 3.2.")
    for field, kind in (("paths", dict), ("components", dict)):
        if not isinstance(node.get(field, {}), kind | None):
            raise DocumentError(f"`{field}` is not an object.", mend="Mend it in the document.")
    return Document(root=node, minor=int(match[1]), source=origin)
