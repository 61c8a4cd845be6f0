"""Schemas looked at from outside: what kinds of values stand where, through references and combinations.

Readers of text need to know whether `5` is a number and whether `a[0]` is the first item of a list or the member `0` of
an object; only the document tells.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.document.pointers import as_list, as_node, reference_of
from practicum_connectors.patterns import BoundedValidator
from practicum_connectors.request.formats import FORMATS

_PREFIX = "#/$defs/"
_MOST_BRANCHES = 500
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_IMPLIED: tuple[tuple[type, str], ...] = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"))
_WORDS: dict[str, bool] = {"true": True, "false": False}


class SchemaView:
    """Looks into the schemas of one operation."""

    def __init__(self, definitions: JsonObject) -> None:
        """Look at nothing yet.

        Args:
            definitions: what the schemas refer to.
        """
        self.definitions = definitions

    def branches(self, schema: object) -> Iterator[JsonObject]:
        """A schema and all that it is combined of, references followed."""
        waiting: list[object] = [schema]
        seen: set[int] = set()
        while waiting and len(seen) < _MOST_BRANCHES:
            node = as_node(waiting.pop(0))
            if not node or id(node) in seen:
                continue
            seen.add(id(node))
            yield cast("JsonObject", node)
            reference = reference_of(node)
            if reference is not None:
                waiting.append(self.definitions.get(reference.removeprefix(_PREFIX)))
            for keyword in ("allOf", "anyOf", "oneOf"):
                waiting.extend(as_list(node.get(keyword)))

    def kinds(self, schema: object) -> frozenset[str]:
        """The types of JSON Schema that a value may have, null left out; empty where anything goes."""
        kinds: set[str] = set()
        for branch in self.branches(schema):
            given = branch.get("type")
            if given is not None:
                kinds.update(kind for kind in as_list(given) or [given] if isinstance(kind, str))
            elif "enum" in branch or "const" in branch:
                values = as_list(branch.get("enum")) or [branch.get("const")]
                kinds.update(name for value in values for kind, name in _IMPLIED if type(value) is kind)
            elif branch.keys() & {"properties", "additionalProperties"}:
                kinds.add("object")
        return frozenset(kinds - {"null"})

    def only(self, schema: object, kind: str) -> bool:
        """Whether a value can be of one type alone, null left out."""
        return self.kinds(schema) == frozenset({kind})

    def members(self, schema: object) -> dict[str, Any]:
        """The described properties of an object, their schemas by name."""
        found: dict[str, list[Any]] = {}
        for branch in self.branches(schema):
            for name, member in as_node(branch.get("properties")).items():
                found.setdefault(name, []).append(member)
        return {name: _either(members) for name, members in found.items()}

    def is_open(self, schema: object) -> bool:
        """Whether an object is meant to have members that nothing describes: it says so, or describes none."""
        said = [branch["additionalProperties"] for branch in self.branches(schema) if "additionalProperties" in branch]
        return any(rest is not False for rest in said) or not (said or self.members(schema))

    def member(self, schema: object, name: str) -> Any:
        """The schema of one property, described by name or among the others."""
        named = [as_node(branch.get("properties")).get(name) for branch in self.branches(schema)]
        others = [branch.get("additionalProperties") for branch in self.branches(schema)]
        found = [member for member in named if member is not None]
        return _either(found or [member for member in others if isinstance(member, dict)])

    def items(self, schema: object) -> Any:
        """The schema of a list's items."""
        found: list[Any] = []
        for branch in self.branches(schema):
            found.extend(as_list(branch.get("prefixItems")))
            if isinstance(branch.get("items"), dict):
                found.append(branch["items"])
        return _either(found)

    def typed(self, tree: Any, schema: object) -> JsonValue:
        """What was read as text, with each text read as the kind of value that its place asks for.

        Args:
            tree: objects and lists of texts; what is no text stays as it is.
            schema: what stands there.
        """
        if isinstance(tree, dict):
            members = cast("dict[str, Any]", tree)
            return {name: self.typed(value, self.member(schema, name)) for name, value in members.items()}
        if isinstance(tree, list):
            inner = self.items(schema)
            return [self.typed(item, inner) for item in cast("list[Any]", tree)]
        return self._value(tree, schema) if isinstance(tree, str) else cast("JsonValue", tree)

    def _value(self, text: str, schema: object) -> JsonValue:
        kinds = self.kinds(schema)
        if not kinds or kinds == frozenset({"string"}):
            return text
        for value in _readings(text, kinds):
            if len(kinds) == 1 or self._fits(value, schema):
                return value
        return text

    def _fits(self, value: JsonValue, schema: object) -> bool:
        whole: Any = {**as_node(schema), "$defs": self.definitions}
        return BoundedValidator(whole, format_checker=FORMATS).is_valid(value)  # pyright: ignore[reportUnknownMemberType]


def _readings(text: str, kinds: frozenset[str]) -> Iterator[JsonValue]:
    """What a text can be read as, the most particular first."""
    if kinds & {"integer", "number"} and _INTEGER.fullmatch(text):
        yield int(text)
    elif "number" in kinds and _NUMBER.fullmatch(text):
        yield float(text)
    if "boolean" in kinds and text in _WORDS:
        yield _WORDS[text]


def _either(schemas: list[Any]) -> Any:
    if len(schemas) < 2:  # noqa: PLR2004 (none or one)
        return schemas[0] if schemas else {}
    return {"anyOf": schemas}
