"""Where references may lead: other files of the same folder, documents handed over, or addresses on the web."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from practicum.errors import DocumentError
from practicum_connectors.document.parse import read_file
from practicum_connectors.document.pointers import Node, as_node, reference_of, text_of
from practicum_connectors.document.structure import Kind

DocumentSource = Callable[[str], Awaitable[bytes]]
"""Reads what stands at an absolute address; a DocumentError says why it cannot."""

NOWHERE = "file:///document/root"
"""The address of a document that came from nowhere: others are told apart by their path beside it."""

_WEB = frozenset({"http", "https"})


def absolute(reference: str, base: str) -> tuple[str, str]:
    """The address of a document that a reference leads to, and the fragment in it.

    Raises:
        ValueError: it is no address.
    """
    address, fragment = urldefrag(urljoin(base, reference))
    return address, fragment


def may_lead(base: str, address: str) -> bool:
    """Whether a document may refer to an address: a file to files and the web, the web to the web only."""
    scheme = urlsplit(address).scheme
    return scheme in _WEB or (scheme == "file" and urlsplit(base).scheme == "file")


def folder_source(folder: Path) -> DocumentSource:
    """Reads files of a folder and of what lies in it, never above it, not through links either.

    Args:
        folder: where the document lies.
    """
    top = folder.resolve()

    async def read(address: str) -> bytes:
        return await asyncio.to_thread(_read_below, top, address)

    return read


def _read_below(top: Path, address: str) -> bytes:
    parts = urlsplit(address)
    path = Path(unquote(parts.path)).resolve()
    if parts.scheme != "file" or not path.is_relative_to(top):
        raise DocumentError(f"{address} is outside the folder of the document.", mend=f"Put it below {top}.")
    return read_file(path)


def references_in(kind: Kind, node: Node) -> list[str]:
    """The references that an object itself makes: its `$ref` and, for a schema, what its discriminator maps to."""
    reference = reference_of(node)
    found = [] if reference is None else [reference]
    if kind == "schema":
        mapping = as_node(as_node(node.get("discriminator")).get("mapping"))
        found.extend(text for value in mapping.values() if _leads(text := text_of(value)))
    return found


def _leads(text: str) -> bool:
    """Whether a value of a mapping is a reference and not the bare name of a component."""
    return "/" in text or "#" in text or text.endswith((".json", ".yaml", ".yml"))


def given(documents: Mapping[str, Any], base: str) -> dict[str, Any]:
    """Documents handed over, by address; their keys are paths relative to the document's own address."""
    return {absolute(path, base)[0]: value for path, value in documents.items()}
