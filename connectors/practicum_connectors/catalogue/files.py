"""Files among the arguments: one shape wherever a system wants bytes, so that a model learns it once.

A file is given as text, as base64 or, so that a large one never passes through the model, by the id of an artifact.
"""

from typing import Any

from practicum.contracts.base import JsonObject
from practicum_connectors.document.pointers import Node, Pointers, as_list, as_node, is_node, text_of

SOURCES = ("text", "base64", "artifact")
"""What a file's bytes may be given as; exactly one of them."""

_KEYS = frozenset({*SOURCES, "name", "media_type"})
_DESCRIPTION = "A file: give exactly one of `text`, `base64` or `artifact` (the id of a stored one)."
_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/x-www-form-urlencoded"})


def file_schema(description: str = "") -> JsonObject:
    """What an argument may be that stands for a file.

    Args:
        description: what the document says of it.
    """
    return {
        "type": "object",
        "title": "File",
        "description": f"{description} {_DESCRIPTION}".strip(),
        "properties": {
            "text": {"type": "string", "description": "Its content as text, sent in UTF-8."},
            "base64": {"type": "string", "format": "byte", "description": "Its content as base64."},
            "artifact": {"type": "string", "description": "The id of a stored artifact."},
            "name": {"type": "string", "description": "Its file name."},
            "media_type": {"type": "string", "description": "Its media type, such as image/png."},
        },
        "oneOf": [{"required": [source]} for source in SOURCES],
        "additionalProperties": False,
    }


def is_file_schema(schema: object) -> bool:
    """Whether a converted schema is the one of a file."""
    return frozenset(as_node(as_node(schema).get("properties"))) == _KEYS


def means_bytes(raw: object, pointers: Pointers, content_type: str | None = None) -> bool:
    """Whether a schema of the document stands for bytes rather than for text.

    Args:
        raw: the schema as it stands.
        pointers: follows its references.
        content_type: what the document says the value is encoded as, if it does.

    Raises:
        DocumentError: a reference on the way is broken.
    """
    node = _followed(raw, pointers)
    members = [member for member in as_list(node.get("allOf")) if member]
    if len(members) == 1 and "type" not in node:
        return means_bytes(members[0], pointers, content_type)
    kinds = {kind for kind in as_list(node.get("type")) or [node.get("type")] if kind not in {None, "null"}}
    if kinds - {"string", "file"} or node.keys() & {"properties", "items", "anyOf", "oneOf", "enum"}:
        return False
    if kinds == {"file"} or text_of(node.get("format")) == "binary":
        return True
    if text_of(node.get("contentEncoding")) or text_of(node.get("format")):
        return False
    described = text_of(node.get("contentMediaType")) or content_type or ""
    return bool(described) and not _is_text(described)


def _is_text(media_types: str) -> bool:
    """Whether all media types of a list (`text/plain, application/json`) are text."""
    names = [name.partition(";")[0].strip().lower() for name in media_types.split(",")]
    return all(name.startswith("text/") or name.endswith(("+json", "+xml")) or name in _TEXT_TYPES for name in names)


def with_files(raw: Any, pointers: Pointers, content_types: dict[str, str], depth: int = 3) -> Any:
    """The schema of a form or multipart body with a file where it means bytes; the same object where it never does.

    Args:
        raw: the body's schema as it stands.
        pointers: follows its references.
        content_types: what the document says each member is encoded as.
        depth: how many levels of combinations are looked through.

    Raises:
        DocumentError: a reference on the way is broken.
    """
    if not is_node(raw) or depth < 0:
        return raw
    node = pointers.follow(raw)
    changed: dict[str, Any] = {}
    properties = as_node(node.get("properties"))
    replaced = {name: _member(schema, pointers, content_types.get(name)) for name, schema in properties.items()}
    if any(replaced[name] is not schema for name, schema in properties.items()):
        changed["properties"] = replaced
    for keyword in ("allOf", "anyOf", "oneOf"):
        members = as_list(node.get(keyword))
        seen = [with_files(member, pointers, content_types, depth - 1) for member in members]
        if any(new is not old for new, old in zip(seen, members, strict=True)):
            changed[keyword] = seen
    return {**node, **changed} if changed else as_node(raw)


def content_types(media: Node) -> dict[str, str]:
    """What the document says single fields are encoded as."""
    return {
        name: said
        for name, encoding in as_node(media.get("encoding")).items()
        if (said := text_of(as_node(encoding).get("contentType")))
    }


def _member(raw: object, pointers: Pointers, content_type: str | None) -> object:
    if means_bytes(raw, pointers, content_type):
        return _described(_followed(raw, pointers))
    node = _followed(raw, pointers)
    items = node.get("items")
    if items is not None and means_bytes(items, pointers, content_type):
        return {**node, "items": _described(_followed(items, pointers))}
    return raw


def _followed(raw: object, pointers: Pointers) -> Node:
    return pointers.follow(raw) if is_node(raw) else {}


def _described(node: Node) -> JsonObject:
    return file_schema(text_of(node.get("description")).strip())
