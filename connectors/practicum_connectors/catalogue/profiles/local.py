"""A small local model: the same function in as few tokens as it can do with."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Tool
from practicum_connectors.catalogue import keywords
from practicum_connectors.catalogue.keywords import cut
from practicum_connectors.catalogue.profiles.openai import function
from practicum_connectors.catalogue.profiles.profile import Profiled
from practicum_connectors.catalogue.walking import any_for_one
from practicum_connectors.document.pointers import as_list, as_node, reference_of

_MOST_TOOL_DESCRIPTION_CHARACTERS = 160
_MOST_DESCRIPTION_CHARACTERS = 80
_MOST_CHOICES = 20
_MOST_LEVELS = 3
_LEFT_OUT = (
    frozenset({"title", "description", "examples", "default", "format", "pattern", "patternProperties", "$defs"})
    | {"not", "if", "then", "else", "contains", "minContains", "maxContains", "uniqueItems"}
    | {"dependentSchemas", "dependentRequired", "propertyNames", "unevaluatedProperties", "unevaluatedItems"}
    | {"contentEncoding", "contentMediaType"}
)
"""Keywords that cost more tokens than they tell. What is left out makes the schema accept more, never less."""
_INNER = keywords.SCHEMAS - _LEFT_OUT


class Local:
    """Chat completions for a model that reads a few thousand tokens: references are unfolded, depth is cut."""

    name = "local"

    def tool(self, tool: Tool) -> Profiled:
        """The tool as a short function."""
        definitions = as_node(tool.input_schema.get("$defs"))
        schema = cast("JsonObject", _short(tool.input_schema, definitions, 0))
        made = function(tool, schema)
        described = cast("JsonObject", made["function"])
        described["description"] = cut(tool.description, _MOST_TOOL_DESCRIPTION_CHARACTERS)
        return Profiled(made)


def _short(schema: JsonValue, definitions: Mapping[str, Any], level: int) -> JsonValue:
    if not isinstance(schema, dict):
        return schema
    if level > _MOST_LEVELS:
        return {"type": schema["type"]} if "type" in schema else {}
    reference = reference_of(schema)
    if reference is not None:
        target = as_node(definitions.get(reference.removeprefix("#/$defs/")))
        beside = {key: value for key, value in schema.items() if key == "description"}
        return _short({**target, **beside}, definitions, level + ("$ref" in target))
    out: JsonObject = {}
    for keyword, value in schema.items():
        if keyword == "properties":
            out[keyword] = {name: _short(inner, definitions, level + 1) for name, inner in as_node(value).items()}
        elif keyword in keywords.SCHEMA_LISTS:
            out[keyword] = [_short(inner, definitions, level + 1) for inner in as_list(value)]
        elif keyword in _INNER:
            out[keyword] = _short(value, definitions, level + 1)
        elif keyword not in _LEFT_OUT and _is_worth_it(keyword, value):
            out[keyword] = value
    if "patternProperties" in schema:
        out.pop("additionalProperties", None)  # it would now hold for the members that a pattern describes
    return any_for_one(_briefly(out, schema, level))


def _briefly(out: JsonObject, schema: JsonObject, level: int) -> JsonObject:
    described = schema.get("description")
    if level and isinstance(described, str):
        out["description"] = cut(" ".join(described.split()), _MOST_DESCRIPTION_CHARACTERS)
    return out


def _is_worth_it(keyword: str, value: JsonValue) -> bool:
    return keyword != "enum" or len(as_list(value)) <= _MOST_CHOICES
