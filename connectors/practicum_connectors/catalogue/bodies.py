"""Request bodies: which media type is spoken, and whether a body's properties can stand among the arguments."""

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

from practicum.errors import DocumentError
from practicum_connectors.catalogue.keywords import cut
from practicum_connectors.catalogue.names import safe_key
from practicum_connectors.catalogue.plan import Argument, BodyPlan
from practicum_connectors.catalogue.schemas import Converted, Schema, SchemaConverter
from practicum_connectors.document.load import Document
from practicum_connectors.document.operations import Body, Operation
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


@dataclass(slots=True)
class BodyDraft:
    """What an operation's body adds to its tool.

    Attributes:
        arguments: the body whole or its members, their keys not given yet.
        body: how it is made, None where none is sent.
        notes: what was lost.
        needs: definitions that its arguments refer to.
        behind: definitions that the body as a whole refers to, which no model need see where its members stand alone.
    """

    arguments: list[Argument] = field(default_factory=list[Argument])
    body: BodyPlan | None = None
    notes: list[str] = field(default_factory=list[str])
    needs: set[str] = field(default_factory=set[str])
    behind: set[str] = field(default_factory=set[str])

    def take(self, converted: Converted) -> Schema:
        """A schema that an argument shows, its needs and losses noted."""
        self.needs |= converted.needs
        self.notes.extend(converted.notes)
        return converted.schema


def plan_body(operation: Operation, document: Document, schemas: SchemaConverter, taken: Container[str]) -> BodyDraft:
    """The body of an operation.

    Args:
        operation: the operation.
        document: its document.
        schemas: converts the document's schemas.
        taken: safe keys of the arguments that are there already; where a member would meet one, the body stays whole.

    Raises:
        DocumentError: it has a body that must be sent and cannot be.
    """
    draft = BodyDraft()
    body = operation.body
    if body is None:
        return draft
    media_type = json_media_type(body)
    if media_type is None:
        offered = ", ".join(body.content)
        if body.required:
            raise DocumentError(f"Its body is {offered}; only JSON bodies can be sent yet.")
        draft.notes.append(f"Its optional body ({offered}) is left out: only JSON bodies can be sent yet.")
        return draft
    raw = body.content[media_type].get("schema", {})
    whole = schemas.convert(raw)
    draft.arguments.extend(_members(raw, document, schemas, draft, taken, required=body.required))
    flat = bool(draft.arguments)
    if not flat:
        schema = _described(draft.take(whole), body.description)
        draft.arguments.append(Argument("", "body", "body", schema, body.required))
    concrete = "application/json" if "*" in media_type else media_type
    draft.behind |= whole.needs
    draft.body = BodyPlan(concrete, "json", whole.schema, body.required, flat, {}, raw)
    return draft


def _members(
    raw: object,
    document: Document,
    schemas: SchemaConverter,
    draft: BodyDraft,
    taken: Container[str],
    *,
    required: bool,
) -> Iterator[Argument]:
    """The body's properties as arguments; none where they would lose something or meet another argument."""
    members = None if schemas.polymorphic(raw) else members_of(raw, document.pointers)
    if members is None:
        return
    shown = {
        name: said[0] if len(said) == 1 else {"allOf": said}
        for name, said in members.properties.items()
        if not any(schemas.hidden(schema) for schema in said)
    }
    asked = [name for name in members.required if name in shown]
    if asked and not required:
        return  # all or nothing cannot be said of single arguments
    if any(name in members.required and name not in members.properties for name in members.required):
        return  # asks for what it does not describe
    if any(safe_key(name) in taken for name in shown):
        return
    for name, schema in shown.items():
        yield Argument("", name, "member", draft.take(schemas.convert(schema)), name in asked)


def _described(schema: Schema, text: str) -> Schema:
    if text and isinstance(schema, dict) and "description" not in schema:
        return {**schema, "description": cut(text)}
    return schema


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
