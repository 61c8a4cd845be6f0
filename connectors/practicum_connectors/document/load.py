"""A document from wherever it comes, parsed and known to be OpenAPI 3."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from urllib.parse import urljoin, urlsplit

from practicum.errors import DocumentError
from practicum.halves import without_halves
from practicum_connectors.document.anchors import needs_pointers, with_pointers
from practicum_connectors.document.items import has_item_schemas, with_lists
from practicum_connectors.document.parse import no_number, parse, read_file
from practicum_connectors.document.pointers import Node, Pointers, as_node, is_node, text_of
from practicum_connectors.document.swagger import is_swagger, upgraded

_COMPACT = json.JSONEncoder(separators=(",", ":"))
_LEVELS = 3
"""So deep stand the schemas and the path items."""
_VERSION = re.compile(r"3\.([012])(\.\d+)?([-.].*)?")


@dataclass(frozen=True)
class Document:
    """One OpenAPI document.

    Attributes:
        root: the parsed document; never changed.
        minor: 0 for 3.0, 1 for 3.1, 2 for 3.2.
        digest: SHA-256 of the canonical text, hexadecimal.
        source: URL or path it came from, if any; relative server URLs are resolved against it.
        notes: what has to be said about the document as a whole.
    """

    root: Node
    minor: int
    digest: str
    source: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The document's title, or a stand-in."""
        return str(as_node(self.root.get("info")).get("title") or "Untitled")

    @property
    def version(self) -> str:
        """The version of the API that the document describes."""
        return str(as_node(self.root.get("info")).get("version") or "")

    @property
    def canonical(self) -> bytes:
        """The document as compact JSON, written anew each time; parsing it gives the same document and digest."""
        return b"".join(_written(self.root))

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
        DocumentError: it cannot be read, or is neither OpenAPI 3.0 to 3.2 nor Swagger 2.0.
    """
    if isinstance(source, Path):
        return document_of(parse(read_file(source)), origin or source.resolve().as_uri())
    if isinstance(source, Mapping):
        return document_of(owned(source), origin)
    return document_of(parse(source.encode() if isinstance(source, str) else source), origin)


def document_of(root: object, origin: str | None, notes: tuple[str, ...] = ()) -> Document:
    """A parsed document, checked and said as OpenAPI 3 with references that are JSON Pointers.

    Args:
        root: the parsed document, not to be changed by anybody else.
        origin: where it came from.
        notes: what is already to be said about it.

    Raises:
        DocumentError: it is neither OpenAPI 3.0 to 3.2 nor Swagger 2.0.
    """
    try:
        return _said_as_three(as_object(root), origin, notes)
    except RecursionError:
        raise DocumentError("The document nests too deep.", mend="Flatten it.") from None


def as_object(root: object) -> Node:
    """The document, if it is an object.

    Raises:
        DocumentError: it is none.
    """
    if not isinstance(root, dict):
        raise DocumentError("The document is not an object.", mend="An OpenAPI document begins with `openapi: 3...`.")
    return cast("Node", root)


def owned(source: Mapping[str, Any]) -> object:
    """A copy that nobody else can change, with text keys.

    Raises:
        DocumentError: it holds what is no JSON.
    """
    try:
        return json.loads(without_halves(json.dumps(source, default=str).encode()), parse_constant=no_number)
    except (TypeError, ValueError, RecursionError) as error:
        raise DocumentError(f"The document is not JSON: {error}.", mend="Give plain JSON values.") from None


def address_of(root: Node, origin: str | None) -> str | None:
    """The address that relative addresses in a document are resolved against: what it says of itself, or its origin."""
    named = text_of(root.get("$self"))
    address = urljoin(origin or "", named) if named else ""
    return address if urlsplit(address).scheme in {"http", "https"} else origin


def _said_as_three(node: Node, origin: str | None, notes: tuple[str, ...]) -> Document:
    if is_swagger(node):
        node = upgraded(node, origin)
    _check(node)
    minor = int(cast("re.Match[str]", _VERSION.fullmatch(str(node["openapi"])))[1])
    source = address_of(node, origin)
    digest, named, streamed = hashlib.sha256(), False, False
    for part in _written(node):
        digest.update(part)
        named = named or needs_pointers(part)
        streamed = streamed or has_item_schemas(part)
    root = with_pointers(node, source or "") if named else node
    root = with_lists(root) if streamed else root
    if root is not node:
        digest = hashlib.sha256(b"".join(_written(root)))
    return Document(root=root, minor=minor, digest=digest.hexdigest(), source=source, notes=notes)


def _written(value: object, levels: int = _LEVELS) -> Iterator[bytes]:
    """A value as compact JSON, its upper levels member by member: the whole at once takes several times its size."""
    if levels == 0 or not value or not is_node(value):
        yield _COMPACT.encode(value).encode()
        return
    before = "{"
    for key, member in as_node(value).items():
        name = f"{before}{_COMPACT.encode(key)}:".encode()
        first, *rest = _written(member, levels - 1)
        yield name + first
        yield from rest
        before = ","
    yield b"}"


def _check(node: Node) -> None:
    if "swagger" in node and "openapi" not in node:
        raise DocumentError(
            f"The version of Swagger {node['swagger']!r} is not known.",
            mend="Use Swagger 2.0 or OpenAPI 3; what is older has to be converted.",
        )
    if "openapi" not in node:
        raise DocumentError(
            "The document has no `openapi` field at its top.",
            mend="Give an OpenAPI 3 document; a schema or a part of a document is not enough.",
        )
    if _VERSION.fullmatch(str(node["openapi"])) is None:
        raise DocumentError(f"OpenAPI version {node['openapi']!r} is not known.", mend="Use OpenAPI 3.0, 3.1 or 3.2.")
    for field in ("paths", "components"):
        if not isinstance(node.get(field, {}), dict | None):
            raise DocumentError(f"`{field}` is not an object.", mend="Mend it in the document.")
