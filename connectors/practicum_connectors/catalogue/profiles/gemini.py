"""Gemini: function declarations in the subset of OpenAPI 3.0 that every version of its API takes.

There are no references, no free maps and no types beside `anyOf`; only texts can be enumerated, null is a flag, and an
object must have members.
"""

from typing import Any, cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Tool
from practicum_connectors.catalogue.profiles.closed import Closer, Dialect
from practicum_connectors.catalogue.profiles.profile import Profiled
from practicum_connectors.document.pointers import as_list, as_node

_DIALECT = Dialect(
    references=False,
    all_required=False,
    words_only=True,
    empty_objects=False,
    keywords=frozenset({"format", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"}),
    formats=frozenset({"date-time", "float", "double", "int32", "int64"}),
    most_levels=5,
    most_choices=1000,
    most_nodes=600,
)
_COPIED = ("description", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")


class Gemini:
    """Function declarations with `parameters`."""

    name = "gemini"

    def tool(self, tool: Tool) -> Profiled:
        """The tool as a function declaration."""
        closer = Closer(_DIALECT, tool.input_schema)
        closed = closer.close()
        definition: JsonObject = {"name": tool.name, "description": tool.description}
        if as_node(closed.schema.get("properties")):
            definition["parameters"] = _spoken(closed.schema)
        return Profiled(definition, closer.notes, closed.restorer)


def _spoken(schema: JsonObject) -> JsonObject:
    """A closed schema in Gemini's words."""
    branches = as_list(schema.get("anyOf"))
    if branches:
        return _union(schema, cast("list[JsonObject]", branches))
    kinds = as_list(schema.get("type")) or [schema.get("type")]
    kind: Any = next((kind for kind in kinds if kind != "null"), "string")
    out: JsonObject = {"type": kind, **{key: schema[key] for key in _COPIED if key in schema}}
    if "null" in kinds:
        out["nullable"] = True
    values = [value for value in as_list(schema.get("enum")) if value is not None]
    if values:
        out.update({"format": "enum", "enum": values})
    if kind == "array":
        out["items"] = _spoken(cast("JsonObject", schema["items"]))
    if kind == "object":
        shown = {name: _spoken(cast("JsonObject", inner)) for name, inner in as_node(schema["properties"]).items()}
        out["properties"] = cast("JsonValue", shown)
        out["propertyOrdering"] = cast("JsonValue", list(shown))
        if as_list(schema.get("required")):
            out["required"] = schema["required"]
    return out


def _union(schema: JsonObject, branches: list[JsonObject]) -> JsonObject:
    """A union stands alone: what is said beside it is said of its first branch."""
    spoken = [_spoken(branch) for branch in branches if branch.get("type") != "null"]
    said = schema.get("description")
    if isinstance(said, str) and spoken:
        first = spoken[0].get("description")
        spoken[0]["description"] = said if not isinstance(first, str) or first == said else f"{said} {first}"
    if len(spoken) < len(branches):
        spoken = [{**branch, "nullable": True} for branch in spoken]
    return spoken[0] if len(spoken) == 1 else {"anyOf": cast("JsonValue", spoken)}
