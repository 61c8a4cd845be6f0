"""Streams of OpenAPI 3.2: a media type with an `itemSchema` described as the list of its items."""

from typing import Any

from practicum_connectors.document.pointers import Node, as_node, is_node
from practicum_connectors.document.structure import Kind, Tokens, changed


def has_item_schemas(canonical: bytes) -> bool:
    """Whether a document, as compact JSON, may describe streams."""
    return b'"itemSchema":' in canonical


def with_lists(root: Node) -> Node:
    """A document whose streams have a `schema` too: a list of what `itemSchema` describes."""
    return _rewritten("root", root, ())


def _rewritten(kind: Kind, value: Any, _: Tokens) -> Any:
    if not is_node(value):
        return value
    out = changed(kind, as_node(value), _rewritten)
    if kind == "media_type" and "itemSchema" in out:
        out.setdefault("schema", {"type": "array", "items": out["itemSchema"]})
    return out
