"""Schemas of a document as JSON Schema 2020-12: the one form from which tools, checks and warnings are made.

References stay references (`#/$defs/...`), so recursion is kept and nothing is unfolded; definitions are converted once
and shared by every tool that reaches them. What a document says in the manner of 3.0 is said in that of 2020-12.
"""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.catalogue import keywords
from practicum_connectors.catalogue.inheritance import Inheritance, Variant, variants_of
from practicum_connectors.document.load import Document
from practicum_connectors.document.pointers import Node, as_list, as_node, is_node, reference_of, text_of

Direction = Literal["write", "read"]
"""Whether a schema describes what is sent to a system or what comes back."""

Schema = JsonObject | bool
"""A schema of JSON Schema 2020-12."""

_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_OF_SUBTYPES = frozenset({"oneOf", "anyOf", "discriminator"})
_COMBINATORS = frozenset({"$ref", "allOf", "anyOf", "oneOf", "not", "const"})


@dataclass(frozen=True, slots=True)
class Converted:
    """A converted schema.

    Attributes:
        schema: the schema, its references into `$defs`.
        needs: names of the definitions it refers to directly.
        notes: what of the original had to be left out.
    """

    schema: Schema
    needs: frozenset[str]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Notebook:
    """What is gathered while one schema is converted."""

    needs: set[str] = field(default_factory=set[str])
    notes: list[str] = field(default_factory=list[str])

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


class SchemaConverter:
    """Converts the schemas of one document for one direction; not for use by several threads at once."""

    def __init__(self, document: Document, direction: Direction) -> None:
        """Convert nothing yet.

        Args:
            document: the document.
            direction: `write` leaves out what only the system may set, `read` what it never shows.
        """
        self._document = document
        self._direction: Direction = direction
        self._hiding = "readOnly" if direction == "write" else "writeOnly"
        self._names: dict[str, str] = {}
        self._references: dict[str, str] = {}
        self._converted: dict[int, tuple[object, Converted]] = {}
        self._definitions: dict[str, Converted] = {}
        self._bases: set[str] = set()
        self._inheritance = Inheritance(document)

    def convert(self, raw: object) -> Converted:
        """A schema of the document, converted once wherever it stands; nobody may change what it became.

        Raises:
            DocumentError: a reference in it is broken or points outside the document.
        """
        known = self._converted.get(id(raw))
        if known is None:
            book = _Notebook()
            schema = self._schema(raw, book)
            known = raw, Converted(schema, frozenset(book.needs), tuple(book.notes))
            self._converted[id(raw)] = known  # with the schema itself, so that its identity stays its own
        return known[1]

    def hidden(self, raw: object) -> bool:
        """Whether a property is left out in this direction."""
        node = as_node(raw)
        if node.get(self._hiding) is True:
            return True
        reference = reference_of(node)
        return reference is not None and as_node(self._document.pointers.at(reference)).get(self._hiding) is True

    def polymorphic(self, raw: object) -> bool:
        """Whether a schema stands for its subtypes, told apart by a discriminator."""
        reference = reference_of(raw)
        return reference is not None and bool(self._inheritance.subtypes(reference))

    def definition(self, name: str) -> Converted:
        """A definition that some schema needs, converted once.

        Raises:
            DocumentError: a reference in it is broken or points outside the document.
        """
        known = self._definitions.get(name)
        if known is None:
            raw: Any = self._document.pointers.at(self._references[name])
            if name in self._bases:
                raw = {key: value for key, value in as_node(raw).items() if key not in _OF_SUBTYPES}
            known = self._definitions[name] = self.convert(raw)
        return known

    def _base_name(self, reference: str) -> str:
        """The name of a supertype without the list of its subtypes."""
        name = f"{self._name(reference)}_base"
        while name in self._references and name not in self._bases:
            name = f"{name}_"
        self._bases.add(name)
        self._references[name] = reference
        return name

    def _name(self, reference: str) -> str:
        name = self._names.get(reference)
        if name is None:
            self._document.pointers.at(reference)
            name = _NOT_IN_NAME.sub("_", reference.rsplit("/", 1)[-1])[: keywords.MOST_NAME_CHARACTERS] or "root"
            if name in self._references:
                name = f"{name}_{hashlib.sha256(reference.encode()).hexdigest()[:8]}"
            self._names[reference], self._references[name] = name, reference
        return name

    def _schema(
        self, raw: object, book: _Notebook, hidden: frozenset[str] = frozenset(), *, part: bool = False
    ) -> Schema:
        """Convert one schema.

        Args:
            raw: the schema as it stands.
            book: takes the definitions it needs and the notes.
            hidden: names of properties that an enclosing `allOf` hides.
            part: whether it is a member of an `allOf`, where a supertype means itself and not its subtypes.
        """
        if isinstance(raw, bool):
            return raw
        if not isinstance(raw, dict):
            book.note("A schema that is no object accepts anything.")
            return {}
        node = cast("Node", raw)
        if (reference := reference_of(node)) is not None:
            return self._reference(reference, node, book, part=part)
        hidden |= self._hidden_names(node)
        out: JsonObject = {}
        for keyword, value in node.items():
            self._keyword(keyword, value, out, book, hidden)
        _fix_bounds(node, out)
        self._fix_type(node, out, book)
        if "discriminator" in node:
            self._tag_branches(node, out, book)
        return _nullable(out) if node.get("nullable") is True else out

    def _keyword(self, keyword: str, value: Any, out: JsonObject, book: _Notebook, hidden: frozenset[str]) -> None:
        if keyword in keywords.SCHEMA_MAPS:
            shown = as_node(value).items()
            if keyword == "properties" and self._direction == "write":
                shown = [(name, schema) for name, schema in shown if not self.hidden(schema)]
            out[keyword] = {name: self._schema(schema, book) for name, schema in shown}
        elif keyword in keywords.SCHEMAS:
            if isinstance(value, list):  # tuples before 2020-12
                out["prefixItems"] = [self._schema(schema, book) for schema in cast("list[Any]", value)]
            else:
                out[keyword] = self._schema(value, book)
        elif keyword in keywords.SCHEMA_LISTS:
            part = keyword == "allOf"
            inner = hidden if part else frozenset[str]()
            members = [self._schema(schema, book, inner, part=part) for schema in as_list(value)]
            if members:
                out[keyword] = cast("JsonValue", members)
        elif keyword == "required":
            names = [name for name in as_list(value) if isinstance(name, str) and name not in hidden]
            if names:
                out[keyword] = cast("JsonValue", list(dict.fromkeys(names)))
        elif keyword in keywords.ASSERTIONS:
            self._assertion(keyword, value, out, book)
        else:
            self._rest(keyword, value, out, book)

    @staticmethod
    def _assertion(keyword: str, value: Any, out: JsonObject, book: _Notebook) -> None:
        read = keywords.ASSERTIONS[keyword](value)
        if read is not None:
            out[keyword] = read
        elif not (keyword.startswith("exclusive") and isinstance(value, bool)) and keyword != "description":
            book.note(f"`{keyword}: {keywords.cut(repr(value), 60)}` is not valid and left out.")

    @staticmethod
    def _rest(keyword: str, value: Any, out: JsonObject, book: _Notebook) -> None:
        if keyword in {"const", "default"}:
            out[keyword] = value
        elif keyword == "enum":
            if isinstance(value, list) and value:
                out[keyword] = cast("JsonValue", value)
            else:
                book.note("An empty `enum` is left out.")
        elif keyword == "example" and keywords.small_example(value):
            out.setdefault("examples", [value])
        elif keyword == "examples" and isinstance(value, list) and keywords.small_example(cast("JsonValue", value)):
            out["examples"] = cast("JsonValue", value)
        elif keyword in {"$dynamicRef", "$recursiveRef"}:
            book.note(f"`{keyword}` is not supported and left out.")

    def _reference(self, reference: str, node: Node, book: _Notebook, *, part: bool) -> Schema:
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        if self._document.minor == 0:  # 3.0 ignores what stands beside a reference; a description does no harm
            siblings = {key: siblings[key] for key in ("description", "nullable") if key in siblings}
        may_be_null = siblings.pop("nullable", None) is True  # strictly ignored too, and meant by all who write it
        beside = self._schema(siblings, book) if siblings else {}
        out: JsonObject = dict(beside) if isinstance(beside, dict) else {}
        subtypes = () if part else self._inheritance.subtypes(reference)
        if subtypes:
            branches = [self._branch(variant, book) for variant in subtypes]
            both = {"allOf": [{"anyOf": branches}]} if "anyOf" in out else {"anyOf": branches}
            out = {**out, **cast("JsonObject", both)}
            return _nullable(out) if may_be_null else out
        name = (
            self._base_name(reference) if part and self._inheritance.lists_heirs(reference) else self._name(reference)
        )
        book.needs.add(name)
        out = {"$ref": f"#/$defs/{name}", **out}
        return _nullable(out) if may_be_null else out

    def _branch(self, variant: Variant, book: _Notebook) -> JsonObject:
        """One subtype, together with the tag value that names it."""
        name = self._name(variant.reference)
        book.needs.add(name)
        tags = cast("JsonValue", list(variant.tags))
        return {
            "$ref": f"#/$defs/{name}",
            "properties": {variant.property: {"enum": tags}},
            "required": [variant.property],
        }

    def _tag_branches(self, node: Node, out: JsonObject, book: _Notebook) -> None:
        """Say in plain JSON Schema what a discriminator says: the tag decides, whatever else might match too."""
        for keyword in ("oneOf", "anyOf"):
            variants = variants_of(node, keyword)
            if variants is None or keyword not in out:
                continue
            del out[keyword]
            tag = text_of(as_node(node["discriminator"]).get("propertyName"))
            branches: list[JsonValue] = [
                self._branch(variant, book)
                if isinstance(variant, Variant)
                else _asking_for(tag, self._schema(variant, book))
                for variant in variants
            ]
            if node.get("nullable") is not True and {"type": "null"} in as_list(node.get(keyword)):
                branches.append({"type": "null"})
            out["anyOf"] = branches

    def _hidden_names(self, node: Node) -> frozenset[str]:
        """Of all that it takes over too; each part is looked at once, however many ways lead there."""
        names, waiting, seen = set[str](), [node], dict[int, Node]()
        while waiting:
            part = waiting.pop()
            if id(part) in seen:
                continue
            seen[id(part)] = part  # kept, so that no other gets its id
            names |= {name for name, schema in as_node(part.get("properties")).items() if self.hidden(schema)}
            members = (as_node(member) for member in as_list(part.get("allOf")) if is_node(member))
            waiting.extend(self._document.pointers.follow(member) for member in members)
        return frozenset(names)

    @staticmethod
    def _fix_type(node: Node, out: JsonObject, book: _Notebook) -> None:
        given = node.get("type")
        if given is not None:
            named = ["string" if kind == "file" else kind for kind in (as_list(given) or [given])]
            known = list(dict.fromkeys(kind for kind in named if isinstance(kind, str) and kind in keywords.TYPES))
            if len(known) < len(set(map(str, named))):
                book.note(f"The type {given!r} is not known; what is not is left out.")
            if known:
                rest = dict(out)
                out.clear()
                out["type"] = known[0] if len(known) == 1 else cast("JsonValue", known)
                out.update(rest)  # the type first, for those who read schemas
        if out.get("type") == "array" and "items" not in out and "prefixItems" not in out:
            out["items"] = {}
        if out.get("type") == "string" and "enum" in out:
            out["enum"] = [_worded(value) for value in as_list(out["enum"])]


def _asking_for(tag: str, schema: Schema) -> Schema:
    """A branch that stands where it is used: it tells its tag itself, and it is asked for."""
    if not isinstance(schema, dict) or tag in as_list(schema.get("required")):
        return schema
    return {**schema, "required": [*as_list(schema.get("required")), tag]}


def _fix_bounds(node: Node, out: JsonObject) -> None:
    """`exclusiveMinimum: true` of 3.0 moves the bound itself."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if node.get(exclusive) is True and bound in out:
            out[exclusive] = out.pop(bound)


def _worded(value: JsonValue) -> JsonValue:
    """YAML reads `1.0` and `true` as what they look like; among texts they are meant as text."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _nullable(out: JsonObject) -> JsonObject:
    """The same schema, or null."""
    kinds = out.get("type")
    if kinds is not None and not _COMBINATORS & out.keys():
        listed = as_list(kinds) or [kinds]
        out["type"] = cast("JsonValue", listed if "null" in listed else [*listed, "null"])
        enum = out.get("enum")
        if isinstance(enum, list) and None not in enum:
            out["enum"] = [*enum, None]
        return out
    if not (_COMBINATORS | {"enum"}) & out.keys():
        return out  # without a type anything is accepted, null too
    beside: JsonObject = {key: out.pop(key) for key in list(out) if key in keywords.ANNOTATIONS}
    members = out["anyOf"] if out.keys() == {"anyOf"} and isinstance(out["anyOf"], list) else [out]
    return {**beside, "anyOf": [*members, {"type": "null"}]}
