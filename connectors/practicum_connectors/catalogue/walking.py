"""Schemas within schemas: where they stand, and how all of them are changed at once."""

from collections.abc import Callable, Iterator
from typing import cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.catalogue import keywords
from practicum_connectors.document.pointers import as_list, as_node, is_node

_MAPS = keywords.SCHEMA_MAPS | {"$defs"}


def subschemas(schema: object) -> Iterator[JsonObject]:
    """A schema and all schemas in it, its definitions among them; booleans are left out."""
    waiting = [schema]
    while waiting:
        found = waiting.pop()
        if not is_node(found):
            continue
        node = cast("JsonObject", found)
        yield node
        for keyword, value in node.items():
            if keyword in _MAPS:
                waiting.extend(as_node(value).values())
            elif keyword in keywords.SCHEMAS:
                waiting.append(value)
            elif keyword in keywords.SCHEMA_LISTS:
                waiting.extend(as_list(value))


def rebuilt(schema: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """A schema made anew from changed schemas, the innermost first; the original stays as it is.

    Args:
        schema: the schema.
        change: is given a fresh copy of each schema, those in it changed already, and may alter it.
    """
    out: JsonObject = {}
    for keyword, value in schema.items():
        if keyword in _MAPS:
            out[keyword] = {name: _rebuilt(inner, change) for name, inner in as_node(value).items()}
        elif keyword in keywords.SCHEMAS:
            out[keyword] = _rebuilt(value, change)
        elif keyword in keywords.SCHEMA_LISTS:
            out[keyword] = [_rebuilt(inner, change) for inner in as_list(value)]
        else:
            out[keyword] = value
    return change(out)


def any_for_one(schema: JsonObject) -> JsonObject:
    """A schema with `anyOf` for `oneOf`, which accepts more and never less."""
    union = schema.pop("oneOf", None)
    if union is not None and "anyOf" in schema:
        schema["allOf"] = [*as_list(schema.get("allOf")), {"anyOf": union}]
    elif union is not None:
        schema["anyOf"] = union
    return schema


def _rebuilt(schema: JsonValue, change: Callable[[JsonObject], JsonObject]) -> JsonValue:
    return rebuilt(schema, change) if isinstance(schema, dict) else schema
