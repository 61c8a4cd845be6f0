"""Schemas for providers that hold a model to them: every object is closed and every value has a type.

What such a schema cannot say is said in another way that can be turned back: a free map becomes a list of entries, a
value of any kind JSON text, an optional member one that may be null. What it cannot say at all is left out, so that a
model may write more than the tool takes, never less; the arguments are checked against the tool's own schema.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.catalogue.profiles.keys import aliases
from practicum_connectors.catalogue.profiles.merging import Merger
from practicum_connectors.catalogue.profiles.parts import (
    accepts_null,
    described,
    hint,
    kind_of,
    kinds_of,
    nullable,
    only_words,
    rest_of,
    sole_reference,
    without_description,
)
from practicum_connectors.catalogue.profiles.restoring import (
    ABSENT,
    KEY,
    VALUE,
    EntriesRestorer,
    JsonTextRestorer,
    LaterRestorer,
    ListRestorer,
    Member,
    ObjectRestorer,
    Restorer,
    UnionRestorer,
    WordRestorer,
)
from practicum_connectors.document.pointers import as_list, as_node, text_of
from practicum_connectors.patterns import BoundedValidator

_OF_TYPE: Mapping[str, frozenset[str]] = {
    "string": frozenset({"pattern", "format", "minLength", "maxLength"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}),
    "array": frozenset({"minItems", "maxItems"}),
}
_SILENT = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", "prefixItems", "anyOf", "enum", "const"}
    | {"title", "description", "default", "examples", "$defs", "patternProperties"}
)
"""Keywords that are said in some way, or assert nothing."""
_REST = "other_members"


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a provider's closed schemas can say.

    Attributes:
        references: whether there are definitions; without them they are unfolded as far as `most_levels` goes.
        all_required: whether each member must be given; one that is optional may then be null instead.
        words_only: whether only texts can be enumerated.
        empty_objects: whether an object may have no members.
        keywords: assertions that it knows.
        formats: formats of texts that it knows; None for any.
        most_levels: how deep objects may stand within objects.
        most_choices: most values of all enumerations together.
        most_nodes: most schemas in all; those beyond become JSON text.
    """

    references: bool
    all_required: bool
    words_only: bool
    empty_objects: bool
    keywords: frozenset[str]
    formats: frozenset[str] | None
    most_levels: int
    most_choices: int
    most_nodes: int


@dataclass(frozen=True, slots=True)
class Shaped:
    """A closed schema and the way back."""

    schema: JsonObject
    restorer: Restorer | None = None


@dataclass(slots=True)
class _Used:
    nodes: int = 0
    choices: int = 0
    notes: dict[str, None] = field(default_factory=dict[str, None])


class Closer:
    """Closes the schema of one tool."""

    def __init__(self, dialect: Dialect, schema: JsonObject) -> None:
        """Close nothing yet.

        Args:
            dialect: what can be said.
            schema: a tool's input schema, with its definitions.
        """
        self._dialect = dialect
        self._root = schema
        self._definitions = as_node(schema.get("$defs"))
        self._merger = Merger(self._definitions)
        self._shaped: dict[str, Shaped] = {}
        self._used = _Used()

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be said, once the schema is closed."""
        return tuple(self._used.notes)

    def close(self) -> Shaped:
        """The closed schema with the definitions it needs."""
        root = self._object(self._merger.merged(self._root), 0, frozenset())
        definitions: JsonObject = {name: self._shaped[name].schema for name in sorted(self._shaped)}
        return Shaped({**root.schema, "$defs": definitions}, root.restorer) if definitions else root

    def _any(self, schema: JsonValue, level: int, inside: frozenset[str]) -> Shaped:
        """Any schema, at a level of objects, inside the definitions that are being unfolded."""
        self._used.nodes += 1
        if not isinstance(schema, dict) or not schema:
            return self._json_text({})
        reference = sole_reference(schema)
        if reference is not None and self._dialect.references:
            return self._reference(reference)
        references = self._merger.references(schema)
        if not inside.isdisjoint(references):  # a circle: it must end somewhere
            return self._json_text(schema)
        inside |= set(references)
        merged = self._merger.merged(schema)
        for keyword in merged.keys() - _SILENT - self._dialect.keywords:
            self._used.notes[f"`{keyword}` is not said"] = None
        branches = as_list(merged.get("anyOf"))
        return self._union(merged, branches, level, inside) if branches else self._typed(merged, level, inside)

    def _reference(self, reference: str) -> Shaped:
        """A reference that stays one; what is merely said beside it is left out."""
        name = reference.removeprefix("#/$defs/")
        if name not in self._shaped:
            later = LaterRestorer()
            self._shaped[name] = Shaped({}, later)
            made = self._any(self._merger.definition(reference), 1, frozenset())
            later.found = made.restorer
            self._shaped[name] = Shaped(made.schema, later)
        return Shaped({"$ref": reference}, self._shaped[name].restorer)

    def _union(self, merged: JsonObject, branches: list[Any], level: int, inside: frozenset[str]) -> Shaped:
        beside = {key: value for key, value in merged.items() if key not in {"anyOf", "description", "default"}}
        shaped: list[Shaped] = []
        for branch in branches:
            if branch is False:
                continue
            both: JsonObject = {"allOf": [branch, beside]}
            one = self._any(both if beside and isinstance(branch, dict) else branch, level, inside)
            inner = as_list(one.schema.get("anyOf")) if one.restorer is None else []
            shaped.extend(Shaped(member) for member in inner) if inner else shaped.append(one)
        distinct = {json.dumps(one.schema, sort_keys=True): one for one in shaped}
        shaped = list(distinct.values())
        if len(shaped) == 1:
            return Shaped(described(shaped[0].schema, merged), shaped[0].restorer)
        restorer = None
        if any(one.restorer is not None for one in shaped):
            restorer = UnionRestorer(tuple((one.schema, one.restorer) for one in shaped), self._validator)
        return Shaped(described({"anyOf": [one.schema for one in shaped]}, merged), restorer)

    def _validator(self, schema: JsonObject) -> Any:
        definitions: JsonObject = {name: shaped.schema for name, shaped in self._shaped.items()}
        return BoundedValidator({**schema, "$defs": definitions})

    def _typed(self, merged: JsonObject, level: int, inside: frozenset[str]) -> Shaped:
        if "const" in merged or "enum" in merged:
            chosen = self._choice(merged)
            if chosen is not None:
                return chosen
        kinds = kinds_of(merged)
        if not kinds:
            return self._json_text(merged)
        shaped = [self._of_kind(kind, merged, level, inside) for kind in kinds if kind != "null"]
        if not shaped:
            return Shaped({"type": "null"})
        if len(shaped) > 1:
            union: list[Any] = [{**merged, "type": kind} for kind in kinds]
            return self._union(only_words(merged), union, level, inside)
        made = shaped[0]
        return Shaped(nullable(made.schema), made.restorer) if "null" in kinds else made

    def _of_kind(self, kind: str, merged: JsonObject, level: int, inside: frozenset[str]) -> Shaped:
        if kind == "object":
            return self._object(merged, level, inside)
        if kind == "array":
            return self._array(merged, level, inside)
        known = _OF_TYPE.get("number" if kind == "integer" else kind, frozenset()) & self._dialect.keywords
        out: JsonObject = {"type": kind, **{key: value for key, value in merged.items() if key in known}}
        if self._dialect.formats is not None and out.get("format") not in self._dialect.formats:
            out.pop("format", None)
        return Shaped(described(out, merged))

    def _choice(self, merged: JsonObject) -> Shaped | None:
        """An enumeration; None where there are too many values to enumerate."""
        values = [merged["const"]] if "const" in merged else as_list(merged["enum"])
        if any(isinstance(value, dict | list) for value in values):
            return self._json_text(merged)
        self._used.choices += len(values)
        if self._used.choices > self._dialect.most_choices:
            self._used.notes["an `enum` is not said: there are too many"] = None
            return None
        null, given = None in values, [value for value in values if value is not None]
        if not given:
            return Shaped({"type": "null"})
        if self._dialect.words_only and any(not isinstance(value, str) for value in given):
            words = {value if isinstance(value, str) else json.dumps(value): value for value in given}
            out: JsonObject = {"type": "string", "enum": list(words)}
            restorer = WordRestorer(words)
        else:
            parts: dict[str, list[JsonValue]] = {}
            for value in given:
                parts.setdefault(kind_of(value), []).append(value)
            members: list[JsonValue] = [{"type": kind, "enum": same} for kind, same in parts.items()]
            out = cast("JsonObject", members[0]) if len(members) == 1 else {"anyOf": members}
            restorer = None
        return Shaped(described(nullable(out) if null else out, merged), restorer)

    def _array(self, merged: JsonObject, level: int, inside: frozenset[str]) -> Shaped:
        places = [*as_list(merged.get("prefixItems"))]
        rest = merged.get("items", {} if not places else False)
        items: JsonValue = rest if not places else {"anyOf": [*places, *([] if rest in (False, {}, True) else [rest])]}
        if places:
            self._used.notes["the order of different items is not said"] = None
        item = self._any(items, level, inside)
        known = _OF_TYPE["array"] & self._dialect.keywords
        out: JsonObject = {"type": "array", "items": item.schema}
        out.update({key: value for key, value in merged.items() if key in known})
        return Shaped(described(out, merged), item.restorer and ListRestorer(item.restorer))

    def _object(self, merged: JsonObject, level: int, inside: frozenset[str]) -> Shaped:
        properties = {name: s for name, s in as_node(merged.get("properties")).items() if s is not False}
        rest = rest_of(merged)
        too_much = level > self._dialect.most_levels or self._used.nodes > self._dialect.most_nodes
        if level and (too_much or (not properties and (rest in (None, True) and not self._dialect.empty_objects))):
            return self._json_text({**merged, "type": "object"})
        if not properties and rest is True:
            return self._json_text({**merged, "type": "object"})
        if not properties and rest is not None:
            entries = self._entries(rest, level, inside)
            return Shaped(described(entries.schema, merged), entries.restorer)
        return self._members(merged, properties, rest, level, inside)

    def _members(
        self, merged: JsonObject, properties: Mapping[str, Any], rest: JsonValue, level: int, inside: frozenset[str]
    ) -> Shaped:
        required = {name for name in as_list(merged.get("required")) if name in properties}
        shown: JsonObject = {}
        members: dict[str, Member] = {}
        keys = aliases(properties)
        for name, schema in properties.items():
            made = self._any(schema, level + 1, inside)
            member = Member(name, made.restorer)
            if self._dialect.all_required and name not in required:
                made, member = self._optional(name, schema, made)
            shown[keys[name]], members[keys[name]] = made.schema, member
        asked = list(shown) if self._dialect.all_required else [keys[name] for name in properties if name in required]
        more, more_key = None, None
        if rest is not None:
            more, more_key = self._entries(rest, level, inside), _free(_REST, shown)
            shown[more_key] = nullable(more.schema) if self._dialect.all_required else more.schema
            asked = [*asked, more_key] if self._dialect.all_required else asked
        out: JsonObject = {"type": "object", "properties": shown}
        if asked or self._dialect.all_required:
            out["required"] = cast("JsonValue", asked)
        out["additionalProperties"] = False
        changed = more is not None or any(
            member.optional or member.restorer or key != member.name for key, member in members.items()
        )
        restorer = ObjectRestorer(members, more_key, more.restorer if more else None) if changed else None
        return Shaped(described(out, merged), restorer)

    def _optional(self, name: str, schema: JsonValue, made: Shaped) -> tuple[Shaped, Member]:
        """A member that need not be there: null says so, or a word where null means null."""
        if accepts_null(made.schema, self._shaped_definition):
            union = [*(as_list(made.schema.get("anyOf")) or [made.schema]), {"type": "string", "enum": [ABSENT]}]
            text = f"null is a value; write {ABSENT!r} to leave it out."
            said = " ".join(filter(None, (text_of(made.schema.get("description")), text)))
            branches = cast("JsonValue", [without_description(one) for one in union])
            return Shaped({"anyOf": branches, "description": said}), Member(name, made.restorer, ABSENT, optional=True)
        shown = nullable(made.schema)
        if "$ref" in made.schema:
            shown = described(shown, as_node(schema))
        return Shaped(shown), Member(name, made.restorer, optional=True)

    def _shaped_definition(self, reference: str) -> JsonObject:
        return self._shaped[reference.removeprefix("#/$defs/")].schema

    def _entries(self, value: JsonValue, level: int, inside: frozenset[str]) -> Shaped:
        made = self._any(value, level + 1, inside)
        entry: JsonObject = {
            "type": "object",
            "properties": {KEY: {"type": "string"}, VALUE: made.schema},
            "required": [KEY, VALUE],
            "additionalProperties": False,
        }
        out: JsonObject = {"type": "array", "items": entry, "description": "Members by name, one entry each."}
        return Shaped(out, EntriesRestorer(made.restorer))

    def _json_text(self, schema: JsonObject) -> Shaped:
        merged = self._merger.merged(schema)
        kinds = [kind for kind in kinds_of(merged) if kind != "null"]
        what = f"a JSON {' or '.join(kinds)}" if kinds else "any JSON value"
        said = [text_of(merged.get("description")), f"Written as text: {what}{hint(merged)}."]
        return Shaped({"type": "string", "description": " ".join(filter(None, said))}, JsonTextRestorer())


def _free(wish: str, taken: JsonObject) -> str:
    while wish in taken:
        wish = f"{wish}_"
    return wish
