"""Request bodies: which media type is spoken, how it is made, and whether its properties can be arguments."""

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

from practicum.contracts.base import JsonObject
from practicum.errors import DocumentError
from practicum_connectors.catalogue.conventions import bracket_note, kinds_of, structures_in
from practicum_connectors.catalogue.files import content_types, file_schema, means_bytes, with_files
from practicum_connectors.catalogue.keywords import cut
from practicum_connectors.catalogue.media import LINES, Spoken, encodings_of, holds_files, spoken_by
from practicum_connectors.catalogue.names import safe_key
from practicum_connectors.catalogue.plan import Argument, BodyPlan, Encoding
from practicum_connectors.catalogue.schemas import Schema, SchemaConverter
from practicum_connectors.catalogue.xml_shape import xml_shape
from practicum_connectors.document.load import Document
from practicum_connectors.document.operations import Body, Operation
from practicum_connectors.document.pointers import Node, Pointers, as_list, as_node, is_node, text_of

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
_SINGLE = frozenset({"string", "integer", "number", "boolean"})


@dataclass(slots=True)
class BodyDraft:
    """What an operation's body becomes.

    Attributes:
        arguments: the body whole or its members, their keys not given yet.
        body: how it is made, None where none is sent.
        notes: what is lost, and what is written by convention.
        needs: definitions that its arguments refer to.
        behind: definitions that the body as a whole refers to, which no model need see where its members stand alone.
    """

    arguments: list[Argument] = field(default_factory=list[Argument])
    body: BodyPlan | None = None
    notes: list[str] = field(default_factory=list[str])
    needs: set[str] = field(default_factory=set[str])
    behind: set[str] = field(default_factory=set[str])


@dataclass(slots=True)
class Members:
    """The properties of an object body.

    Attributes:
        properties: their schemas as they stand, by wire name; several of them where `allOf` says it twice.
        required: names of those that must be there.
        gathered: the parts that were looked at, by identity, and whether all of their keys are known.
    """

    properties: dict[str, list[object]] = field(default_factory=dict[str, list[object]])
    required: list[str] = field(default_factory=list[str])
    gathered: dict[int, tuple[Node, bool]] = field(default_factory=dict[int, tuple[Node, bool]], repr=False)


def plan_body(operation: Operation, document: Document, schemas: SchemaConverter, taken: Container[str]) -> BodyDraft:
    """Plan the body of an operation.

    Args:
        operation: the operation.
        document: its document.
        schemas: converts its schemas.
        taken: safe keys of the arguments that are there already; where a member would meet one, the body stays whole.

    Raises:
        DocumentError: it needs a body that cannot be made, or a reference on the way is broken.
    """
    draft = BodyDraft()
    if operation.body is None:
        return draft
    spoken = spoken_by(operation.body, document.pointers)
    if not spoken:
        _refuse(operation.body, draft)
        return draft
    return _Planner(document, schemas, taken, operation.body, draft).plan(spoken)


def _refuse(body: Body, draft: BodyDraft) -> None:
    offered = ", ".join(body.content)
    if body.required:
        raise DocumentError(
            f"Its body is {offered}, whose parts have no names.",
            mend="Describe it as multipart/form-data or application/octet-stream if the system takes one of these.",
        )
    draft.notes.append(f"Its optional body ({offered}) is left out: its parts have no names.")


@dataclass(slots=True)
class _Planner:
    """Plans one body."""

    document: Document
    schemas: SchemaConverter
    taken: Container[str]
    body: Body
    draft: BodyDraft

    def plan(self, spoken: list[Spoken]) -> BodyDraft:
        chosen, others = spoken[0], spoken[1:]
        media, pointers = self.body.content[chosen.declared], self.document.pointers
        raw = media.get("schema", {})
        encoding: dict[str, Encoding] = {}
        if chosen.kind in {"form", "multipart"}:
            encoding = encodings_of(media, pointers)
            self._note_conventions(raw, chosen, encoding)
        if chosen.kind == "multipart":
            said = content_types(media)
            encoding |= _typed_files(raw, pointers, encoding)
            raw = with_files(raw, pointers, said)
        self._note_files(chosen, others)
        shape = xml_shape(raw, pointers) if chosen.kind == "xml" else None
        if chosen.kind == "binary" or (chosen.kind == "text" and not self._fits_text(raw, chosen)):
            schema: JsonObject = (
                file_schema(cut(self.body.description)) if chosen.kind == "binary" else {"type": "string"}
            )
            self._whole(schema)
            self.draft.body = BodyPlan(
                chosen.media_type, chosen.kind, schema, self.body.required, False, encoding, None
            )
            return self.draft
        whole = self.schemas.convert(raw)
        members = [] if chosen.kind == "text" else list(self._members(raw))
        if members:
            self.draft.arguments.extend(members)
        else:
            self.draft.needs |= whole.needs
            self.draft.notes.extend(whole.notes)
            self._whole(whole.schema)
        self.draft.behind |= whole.needs
        self.draft.body = BodyPlan(
            chosen.media_type, chosen.kind, whole.schema, self.body.required, bool(members), encoding, shape
        )
        return self.draft

    def _whole(self, schema: Schema) -> None:
        if self.body.description and isinstance(schema, dict) and "description" not in schema:
            schema = {**schema, "description": cut(self.body.description)}
        self.draft.arguments.append(Argument("", "body", "body", schema, self.body.required))

    def _fits_text(self, raw: object, chosen: Spoken) -> bool:
        """Whether a body of text is described as what text can carry."""
        kinds = kinds_of(raw, self.document.pointers)
        return bool(kinds) and kinds <= ({"array"} if chosen.media_type in LINES else _SINGLE)

    def _note_conventions(self, raw: object, chosen: Spoken, encoding: dict[str, Encoding]) -> None:
        pointers = self.document.pointers
        conventional: list[str] = []
        for name, member in _properties(raw, pointers).items():
            said, kinds = encoding.get(name), kinds_of(member, pointers)
            if said is None or (said.style is None and said.content_type is None):
                open_ended = chosen.kind == "form" and ("object" in kinds or structures_in(member, pointers))
            else:
                open_ended = said.style == "deepObject" and ("array" in kinds or structures_in(member, pointers))
            if open_ended:
                conventional.append(name)
        if conventional:
            self.draft.notes.append(bracket_note(conventional))

    def _note_files(self, chosen: Spoken, others: list[Spoken]) -> None:
        if chosen.kind in {"multipart", "binary"}:
            return
        for other in others:
            media = self.body.content[other.declared]
            if other.kind == "binary" or (other.kind == "multipart" and holds_files(media, self.document.pointers)):
                self.draft.notes.append(
                    f"Files can be sent as {other.declared} only; {chosen.declared} is spoken."
                    f" An overlay that removes {chosen.declared} from the body chooses the other."
                )
                return

    def _members(self, raw: object) -> Iterator[Argument]:
        """The body's properties as arguments; none where they would lose something or meet another argument."""
        members = None if self.schemas.polymorphic(raw) else members_of(raw, self.document.pointers)
        if members is None or any(name not in members.properties for name in members.required):
            return  # asks for what it does not describe
        shown = {
            name: said[0] if len(said) == 1 else {"allOf": said}
            for name, said in members.properties.items()
            if not any(self.schemas.hidden(schema) for schema in said)
        }
        if any(safe_key(name) in self.taken for name in shown):
            return
        converted = {name: self.schemas.convert(schema) for name, schema in shown.items()}
        asked = {name: _default(found.schema) for name, found in converted.items() if name in members.required}
        if not self.body.required and any(default is None for default in asked.values()):
            return  # all or nothing cannot be said of single arguments
        for name, found in converted.items():
            self.draft.needs |= found.needs
            self.draft.notes.extend(found.notes)
            default = asked.get(name)
            yield Argument("", name, "member", found.schema, name in asked and default is None, None, default)


def _default(schema: Schema) -> Any:
    return schema.get("default") if isinstance(schema, dict) else None


def _typed_files(raw: object, pointers: Pointers, encoding: dict[str, Encoding]) -> dict[str, Encoding]:
    """What the schemas of files themselves say that these are (`contentMediaType`), where `encoding` does not."""
    found: dict[str, Encoding] = {}
    for name, member in _properties(raw, pointers).items():
        if name not in encoding and means_bytes(member, pointers):
            said = text_of(pointers.follow(member).get("contentMediaType"))
            if said:
                found[name] = Encoding(said, None, explode=True, allow_reserved=False, headers={})
    return found


def _properties(raw: object, pointers: Pointers) -> Node:
    members = Members()
    _gather(raw, pointers, members, 0)
    return {name: said[0] for name, said in members.properties.items()}


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
    if id(node) in members.gathered:
        return members.gathered[id(node)][1]
    if not _is_plain(node):
        return False
    for name, schema in as_node(node.get("properties")).items():
        known = members.properties.setdefault(name, [])
        if schema not in known:
            known.append(schema)
    for name in as_list(node.get("required")):
        if isinstance(name, str) and name not in members.required:
            members.required.append(name)
    whole = all(_gather(member, pointers, members, depth + 1) for member in as_list(node.get("allOf")))
    members.gathered[id(node)] = (node, whole)  # once, however many ways lead there
    return whole


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
