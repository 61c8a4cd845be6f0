"""Small questions about schemas, and schemas said in words."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.catalogue.keywords import cut
from practicum_connectors.document.pointers import as_list, as_node, reference_of, text_of

_WORDS = frozenset({"title", "description", "default", "examples"})
"""Keywords that assert nothing."""
_MOST_SCHEMA_CHARACTERS = 400
_MOST_NAMES = 30


def sole_reference(schema: object) -> str | None:
    """The reference that a schema is, with nothing but words beside it; also as the only member of an `allOf`."""
    node = as_node(schema)
    rest = node.keys() - _WORDS
    if rest == {"$ref"}:
        return reference_of(node)
    members = as_list(node.get("allOf"))
    return sole_reference(members[0]) if rest == {"allOf"} and len(members) == 1 else None


def nullable(schema: JsonObject) -> JsonObject:
    """A closed schema, or null."""
    if "anyOf" in schema:
        branches = as_list(schema["anyOf"])
        return schema if {"type": "null"} in branches else {**schema, "anyOf": [*branches, {"type": "null"}]}
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    kinds = as_list(schema.get("type")) or [schema.get("type")]
    out = dict(schema)
    if "null" not in kinds:
        out["type"] = [*kinds, "null"]
    if "enum" in out and None not in as_list(out["enum"]):
        out["enum"] = [*as_list(out["enum"]), None]
    return out


def accepts_null(schema: JsonObject, definition: Any, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a closed schema accepts null.

    Args:
        schema: the schema.
        definition: gives the schema of a reference.
        seen: references that were followed already.
    """
    reference = reference_of(schema)
    if reference is not None:
        return reference not in seen and accepts_null(definition(reference), definition, seen | {reference})
    branches = as_list(schema.get("anyOf"))
    if branches:
        return any(accepts_null(branch, definition, seen) for branch in branches)
    return "null" in (as_list(schema.get("type")) or [schema.get("type")])


def rest_of(merged: JsonObject) -> JsonValue:
    """What further members may be: a schema, True for anything, None where there are none worth telling of."""
    patterns = list(as_node(merged.get("patternProperties")).values())
    more = merged.get("additionalProperties")
    if patterns:
        members = [*patterns, *([more] if isinstance(more, dict) else [])]
        return members[0] if len(members) == 1 else {"anyOf": members}
    if more is False or (more is None and as_node(merged.get("properties"))):
        return None
    return True if more in (None, True, {}) else more


def kinds_of(schema: JsonObject) -> list[str]:
    """The types that a schema names or implies, none if it takes anything."""
    given = schema.get("type")
    if given is not None:
        return [kind for kind in (as_list(given) or [given]) if isinstance(kind, str)]
    if "properties" in schema or isinstance(schema.get("additionalProperties"), dict):
        return ["object"]
    return ["array"] if "items" in schema or "prefixItems" in schema else []


def kind_of(value: JsonValue) -> str:
    """The type of a value that is a text, a number or a boolean."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "number" if isinstance(value, float) else "string"


def described(out: JsonObject, schema: Mapping[str, Any]) -> JsonObject:
    """The schema with what is said of it in words, defaults and examples among them."""
    said = [text_of(out.get("description")) or text_of(schema.get("description"))]
    if "default" in schema and schema["default"] is not None:
        said.append(f"Default: {cut(json.dumps(schema['default'], ensure_ascii=False), 100)}.")
    text = " ".join(filter(None, said))
    return {**out, "description": text} if text and "$ref" not in out else out


def hint(schema: JsonObject) -> str:
    """What JSON text should hold, as far as that can be said in a few words."""
    plain = {key: value for key, value in schema.items() if key not in {"description", "title", "$defs"}}
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    if plain.keys() - {"type"} and len(text) <= _MOST_SCHEMA_CHARACTERS and "$ref" not in text:
        return f" by the schema {text}"
    names = list(as_node(schema.get("properties")))
    return f" with {', '.join(names[:_MOST_NAMES])}" if names else ""


def only_words(schema: JsonObject) -> JsonObject:
    """What a schema says in words."""
    return {key: value for key, value in schema.items() if key in {"description", "default"}}


def without_description(schema: Mapping[str, Any]) -> JsonObject:
    """The schema without its own description."""
    return {key: value for key, value in schema.items() if key != "description"}
