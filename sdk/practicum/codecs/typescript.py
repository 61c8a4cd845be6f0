"""Tools as a namespace of TypeScript functions, the form in which `gpt-oss` reads them."""

import json
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from practicum.codecs.schemas import Schemas, choices, kind, properties, required
from practicum.contracts.tools import Tool

_WORDS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_DEPTH = 6
"""Objects within objects deeper than this are shown as `object`."""


def namespace(name: str, tools: Sequence[Tool]) -> str:
    """The tools as functions of one namespace."""
    functions = "\n\n".join(_function(tool) for tool in tools)
    return f"namespace {name} {{\n\n{functions}\n\n}} // namespace {name}"


def _function(tool: Tool) -> str:
    schemas = Schemas(tool.input_schema)
    fields = "".join(f"{line}\n" for line in _fields(schemas, tool.input_schema, 0))
    taken = f"_: {{\n{fields}}}" if fields else ""
    about = "".join(f"// {line}\n" for line in tool.description.splitlines())
    return f"{about}type {tool.name} = ({taken}) => any;"


def _fields(schemas: Schemas, schema: JsonValue, depth: int) -> Iterator[str]:
    plain = schemas.plain(schema)
    needed = required(plain)
    for name, inner in properties(plain).items():
        about = schemas.plain(inner).get("description")
        if isinstance(about, str) and depth == 0:
            yield from (f"// {line}" for line in about.splitlines())
        yield f"{name}{'' if name in needed else '?'}: {_type(schemas, inner, depth + 1)},"


def _type(schemas: Schemas, schema: JsonValue, depth: int) -> str:
    plain = schemas.plain(schema)
    if values := choices(plain):
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in values)
    match kind(plain):
        case "array":
            inner = _type(schemas, plain.get("items"), depth + 1)
            return f"({inner})[]" if " " in inner else f"{inner}[]"
        case "object" if properties(plain) and depth < _DEPTH:
            return f"{{ {' '.join(_fields(schemas, plain, depth)).removesuffix(',')} }}"
        case "object":
            return "object"
        case str(name):
            return _WORDS.get(name, "any")
        case None:
            return "any"
