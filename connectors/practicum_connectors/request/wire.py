"""Parameter schemas in the narrow form that openapi-core can read text with.

On the wire there is no null, and a type decides how text is read: unions of types become unions of schemas with text
last, references are followed, and a type that is only implied by an `enum` is written out.
"""

from typing import Any, cast

from practicum.contracts.base import JsonObject
from practicum_connectors.catalogue.schemas import Schema
from practicum_connectors.document.pointers import as_list, as_node, reference_of

_PREFIX = "#/$defs/"
_MOST_DEPTH = 8
_GREEDY_LAST = ("object", "array", "integer", "number", "boolean", "string")
_IMPLIED: tuple[tuple[type, str], ...] = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"))


def wire_schema(schema: Schema, definitions: JsonObject, depth: int = 0) -> JsonObject:
    """A parameter's schema as openapi-core can use it.

    Args:
        schema: the converted schema.
        definitions: what it refers to.
        depth: how deep it stands; beyond a bound anything is accepted, the arguments are checked already.
    """
    if not isinstance(schema, dict) or depth > _MOST_DEPTH:
        return {}
    reference = reference_of(schema)
    if reference is not None:
        target = definitions.get(reference.removeprefix(_PREFIX))
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return wire_schema({**as_node(target), **beside}, definitions, depth + 1)
    out: JsonObject = {key: value for key, value in schema.items() if key not in {"examples", "default", "description"}}
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword in out:
            members = [wire_schema(member, definitions, depth + 1) for member in _members(out.pop(keyword))]
            if keyword != "allOf":
                members = sorted((m for m in members if m.get("type") != "null"), key=_greed)
            _combine(out, "allOf" if keyword == "allOf" else "anyOf", members)
    if isinstance(out.get("items"), dict):
        out["items"] = wire_schema(cast("JsonObject", out["items"]), definitions, depth + 1)
    if isinstance(out.get("properties"), dict):
        properties = cast("JsonObject", out["properties"])
        out["properties"] = {
            name: wire_schema(cast("Schema", value), definitions, depth + 1) for name, value in properties.items()
        }
    return _one_type(out)


def _combine(out: JsonObject, keyword: str, members: list[JsonObject]) -> None:
    """A union or intersection of one is that one."""
    if len(members) == 1 and not members[0].keys() & out.keys():
        out.update(members[0])
    elif members:
        out[keyword] = [*as_list(out.get(keyword)), *members] if keyword == "allOf" else cast("Any", members)


def _one_type(out: JsonObject) -> JsonObject:
    kinds = [kind for kind in as_list(out.get("type")) if kind != "null"]
    if len(kinds) == 1:
        out["type"] = kinds[0]
    elif kinds:
        del out["type"]
        union = [{"type": kind} for kind in sorted(kinds, key=_GREEDY_LAST.index)]
        if "anyOf" in out:
            out["allOf"] = [*as_list(out.get("allOf")), {"anyOf": cast("Any", union)}]
        else:
            out["anyOf"] = cast("Any", union)
    values = [value for value in as_list(out.get("enum")) if value is not None]
    if values:
        out["enum"] = values
        if "type" not in out:
            _imply_type(out, values)
    return out


def _imply_type(out: JsonObject, values: list[Any]) -> None:
    implied = {next((name for kind, name in _IMPLIED if isinstance(value, kind)), "") for value in values}
    if len(implied) == 1 and "" not in implied and "anyOf" not in out:
        out["type"] = implied.pop()
    else:
        del out["enum"]  # text cannot be told from number here; the arguments are checked already


def _members(value: object) -> list[Schema]:
    return [cast("Schema", member) for member in as_list(value)]


def _greed(schema: JsonObject) -> int:
    """Text reads anything, so it is tried last."""
    kind = schema.get("type")
    return _GREEDY_LAST.index(kind) if isinstance(kind, str) and kind in _GREEDY_LAST else len(_GREEDY_LAST)
