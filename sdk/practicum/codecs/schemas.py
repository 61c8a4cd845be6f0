"""JSON Schemas made plain: local references followed, nullable unions opened."""

from typing import cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject

_DEPTH = 8
"""References followed one inside the other before the schema counts as recursive."""


class Schemas:
    """One tool's schema as a root for the references within it."""

    def __init__(self, root: JsonObject) -> None:
        """Take the schema in which `#/...` references are looked up."""
        self._root = root

    def plain(self, schema: JsonValue) -> JsonObject:
        """The schema with its reference followed and a union with null opened; empty where it says nothing usable."""
        for _ in range(_DEPTH):
            if not isinstance(schema, dict):
                return {}
            if isinstance(reference := schema.get("$ref"), str):
                schema = self._find(reference)
                continue
            branches = [branch for branch in _branches(schema) if not _is_null(branch)]
            if len(branches) != 1:
                return _without_null(schema)
            schema = {**{key: value for key, value in schema.items() if key not in _UNIONS}, **_mapping(branches[0])}
        return {}

    def _find(self, reference: str) -> JsonValue:
        node: JsonValue = self._root
        for part in reference.removeprefix("#").strip("/").split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            node = node.get(key) if isinstance(node, dict) else None
        return node


_UNIONS = ("anyOf", "oneOf", "allOf")


def properties(schema: JsonObject) -> dict[str, JsonValue]:
    """An object schema's properties in their order; empty where it names none."""
    return _mapping(schema.get("properties"))


def required(schema: JsonObject) -> frozenset[str]:
    """The properties that must be there."""
    names = schema.get("required")
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()


def choices(schema: JsonObject) -> list[JsonValue]:
    """The values an enumeration allows, scalars only; empty where it is none or holds something else."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list) or any(isinstance(value, dict | list) for value in values):
        return []
    return values


def kind(schema: JsonObject) -> str | None:
    """The one JSON type it allows; None where it allows several or does not say."""
    name = schema.get("type")
    if isinstance(name, str):
        return name
    if name is None and "properties" in schema:
        return "object"
    return None


def _branches(schema: JsonObject) -> list[JsonValue]:
    for union in _UNIONS:
        if isinstance(found := schema.get(union), list):
            return found
    return []


def _is_null(schema: JsonValue) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "null"


def _without_null(schema: JsonObject) -> JsonObject:
    names = schema.get("type")
    if not isinstance(names, list):
        return schema
    rest: list[JsonValue] = [name for name in names if name != "null"]
    return {**schema, "type": rest[0] if len(rest) == 1 else rest}


def _mapping(value: JsonValue | None) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}
