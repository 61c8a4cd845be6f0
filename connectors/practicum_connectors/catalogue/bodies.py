"""Request bodies: which media type is spoken, and whether a body's properties can stand among the arguments."""

from dataclasses import dataclass, field
from typing import Any

from practicum_connectors.document.operations import Body
from practicum_connectors.document.pointers import Node, Pointers, as_list, as_node, is_node

_MOST_LEVELS = 20  # of `allOf`, which may lead to itself
_PLAIN = frozenset(
    {
        "type",
        "properties",
        "required",
        "allOf",
        "additionalProperties",
        "title",
        "description",
        "example",
        "examples",
        "deprecated",
        "externalDocs",
        "xml",
        "default",
        "minProperties",
        "maxProperties",
        "readOnly",
        "writeOnly",
        "$schema",
        "$comment",
        "$defs",
        "definitions",
    }
)
"""What an object may say of itself and still be nothing but its members."""


@dataclass(slots=True)
class Members:
    """The properties of an object body.

    Attributes:
        properties: their schemas as they stand, by wire name; several of them where `allOf` says it twice.
        required: names of those that must be there.
    """

    properties: dict[str, list[object]] = field(default_factory=dict[str, list[object]])
    required: list[str] = field(default_factory=list[str])


def json_media_type(body: Body) -> str | None:
    """The media type under which the body can be sent as JSON, best first; None if there is none."""
    ranked = sorted((rank, name) for name in body.content if (rank := _rank(name)) is not None)
    return ranked[0][1] if ranked else None


def _rank(media_type: str) -> int | None:
    name = media_type.partition(";")[0].strip().lower()
    if name == "application/json":
        return 0
    if name in {"application/merge-patch+json", "text/json"}:
        return 1
    if name.endswith("+json"):
        return 2
    return 3 if name in {"*/*", "application/*"} else None


def members_of(raw: object, pointers: Pointers) -> Members | None:
    """The members of a body whose keys are all known.

    Free-form objects, unions and polymorphic bodies give None: they are handed over whole, so that nothing is lost.

    Raises:
        DocumentError: a reference on the way is broken.
    """
    members = Members()
    return members if _gather(raw, pointers, members, 0) and members.properties else None


def _gather(raw: object, pointers: Pointers, members: Members, depth: int) -> bool:
    if depth > _MOST_LEVELS or not is_node(raw):
        return False
    node = pointers.follow(raw)
    if not _is_plain(node):
        return False
    for name, schema in as_node(node.get("properties")).items():
        known = members.properties.setdefault(name, [])
        if schema not in known:
            known.append(schema)
    for name in as_list(node.get("required")):
        if isinstance(name, str) and name not in members.required:
            members.required.append(name)
    return all(_gather(member, pointers, members, depth + 1) for member in as_list(node.get("allOf")))


def _is_plain(node: Node) -> bool:
    for keyword, value in node.items():
        if keyword not in _PLAIN and not keyword.startswith("x-") and not _only_requires(keyword, value):
            return False
    kinds: Any = node.get("type", "object")
    if kinds not in ("object", ["object"]):
        return False
    return node.get("additionalProperties", False) is False


def _only_requires(keyword: str, value: object) -> bool:
    """`anyOf: [{required: [a]}, {required: [b]}]`: the finished body is checked against it, the members stay flat."""
    members = as_list(value)
    return keyword in {"anyOf", "oneOf"} and bool(members) and all(set(as_node(m)) == {"required"} for m in members)
