"""Tools as one-line signatures: a fifth of the tokens that their JSON Schemas would take."""

import json

from pydantic import JsonValue

from practicum.codecs.schemas import Schemas, choices, kind, properties, required
from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Tool

_WORDS = {"string": "str", "integer": "int", "number": "num", "boolean": "bool", "object": "object", "null": "null"}
_CHOICES = 12
"""An enumeration with more values is shown by its type alone."""
_DEPTH = 6
"""Objects within objects deeper than this are shown as `object`."""


def signature(tool: Tool) -> str:
    """`name(order_id: int, note?: str)`: what a call of the tool takes, in the order of its schema.

    Optional arguments carry a question mark; choices are written out; objects are `{a: str}` and arrays `str[]`.
    """
    schemas = Schemas(tool.input_schema)
    return f"{tool.name}({_fields(schemas, tool.input_schema, 0)})"


def function_of(tool: Tool) -> JsonObject:
    """A tool in full: name, description and the schema of its arguments."""
    return {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}


def _fields(schemas: Schemas, schema: JsonValue, depth: int) -> str:
    plain = schemas.plain(schema)
    needed = required(plain)
    return ", ".join(
        f"{name}{'' if name in needed else '?'}: {_type(schemas, inner, depth + 1)}"
        for name, inner in properties(plain).items()
    )


def _type(schemas: Schemas, schema: JsonValue, depth: int) -> str:
    plain = schemas.plain(schema)
    if values := choices(plain):
        if len(values) <= _CHOICES:
            return "|".join(json.dumps(value, ensure_ascii=False) for value in values)
        return _WORDS.get(kind(plain) or "", "any")
    match kind(plain):
        case "array":
            return f"{_type(schemas, plain.get('items'), depth + 1)}[]"
        case "object" if properties(plain) and depth < _DEPTH:
            return f"{{{_fields(schemas, plain, depth)}}}"
        case str(name):
            return _WORDS.get(name, "any")
        case None:
            return "any"
