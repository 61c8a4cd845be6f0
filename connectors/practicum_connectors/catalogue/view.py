"""What a model sees of a tool's schema: all of it where that is bearable, and otherwise the nearest parts of it.

What is cut keeps its type and says that there is more. A cut schema accepts more than the full one, never less; what
is sent is checked against the full one.
"""

import json
from collections import deque
from collections.abc import Iterable
from typing import cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.catalogue.definitions import DefinitionTable
from practicum_connectors.catalogue.keywords import cut
from practicum_connectors.catalogue.schemas import Schema
from practicum_connectors.catalogue.walking import any_for_one, rebuilt, subschemas
from practicum_connectors.document.pointers import as_node, reference_of, text_of

MOST_CHARACTERS = 24_000
"""Of JSON, for the schema of one tool: some 6,000 tokens."""
_LEAST_SHARE = 8
"""Of the whole, for definitions, however much stands in the schema itself."""
_BARE_CHARACTERS = 120
"""What a definition costs that is left out but for its type."""
_MOST_OUTLINE_CHARACTERS = 1_500
_MORE = "Not all of it is shown here."
_NARROWING = frozenset({"oneOf", "not", "if", "then", "else", "maxContains"}) | {
    "unevaluatedProperties",
    "unevaluatedItems",
}
"""Keywords by which a schema accepts less where a part of it accepts more."""
_LEVELS = (8, 6, 4, 3, 2, 1)
_MOST_WORDS = 160


def shown(
    schema: JsonObject, needs: Iterable[str], table: DefinitionTable, most: int = MOST_CHARACTERS
) -> tuple[JsonObject, tuple[str, ...]]:
    """A schema with its definitions, as much of them as is bearable, those nearest to it first.

    Args:
        schema: the schema, its references into `$defs`.
        needs: the definitions that it refers to directly; `state` was asked of them.
        table: the definitions.
        most: about how many characters of JSON the whole may take.

    Returns:
        The schema, and the names of the definitions that were cut.
    """
    size = _size(schema)
    if size > most:
        schema, size = _trimmed(schema, most)
        kept = (reference_of(inner) for inner in subschemas(schema))
        needs = {reference.removeprefix("#/$defs/") for reference in kept if reference is not None}
    left = max(most - size, most // _LEAST_SHARE)
    chosen, lost = _chosen(sorted(needs), table, left)
    if not chosen:
        return schema, ()
    if lost:
        schema = _loosened(schema)
        chosen = {name: s if name in lost else _brief(table, name, "loose") for name, s in chosen.items()}
    return {**schema, "$defs": {name: chosen[name] for name in sorted(chosen)}}, tuple(sorted(lost))


def _chosen(needs: list[str], table: DefinitionTable, left: int) -> tuple[dict[str, Schema], set[str]]:
    chosen: dict[str, Schema] = {}
    lost: set[str] = set()
    waiting, seen = deque(needs), set(needs)
    left -= _BARE_CHARACTERS * len(needs)
    while waiting:
        name = waiting.popleft()
        left += _BARE_CHARACTERS
        new = [need for need in table.needs(name) if need not in seen]
        cost = table.size(name) + len(name) + _BARE_CHARACTERS * len(new)
        if cost <= left:
            chosen[name] = table.schema(name)
            seen.update(new)
            waiting.extend(new)
            left -= cost
            continue
        lost.add(name)
        outline = _brief(table, name, "outline")
        cost = _size(outline) + len(name)
        if cost > left or cost > _MOST_OUTLINE_CHARACTERS:
            outline = _brief(table, name, "bare")
            cost = _BARE_CHARACTERS
        chosen[name] = outline
        left -= cost
    return chosen, lost


def _brief(table: DefinitionTable, name: str, kind: str) -> Schema:
    """A definition said more briefly, made once for all tools."""
    key = f"{kind} {name}"
    if key not in table.brief:
        schema = table.schema(name)
        if not isinstance(schema, dict):
            table.brief[key] = schema
        elif kind == "loose":
            table.brief[key] = _loosened(schema)
        else:
            table.brief[key] = _outline(schema) if kind == "outline" else _bare(schema)
    return table.brief[key]


def _loosened(schema: JsonObject) -> JsonObject:
    """The schema without what would accept less now that others accept more; the same one if there is nothing."""
    if all(not _NARROWING & inner.keys() for inner in subschemas(schema)):
        return schema
    return rebuilt(schema, _loose)


def _loose(schema: JsonObject) -> JsonObject:
    for keyword in _NARROWING - {"oneOf"}:
        schema.pop(keyword, None)
    return any_for_one(schema)


def _outline(schema: JsonObject) -> JsonObject:
    """The fields of an object with nothing but their types."""
    out = _bare(schema)
    fields = as_node(schema.get("properties"))
    if fields:
        out["properties"] = {name: _typed(inner) for name, inner in fields.items()}
    return out


def _bare(schema: JsonObject) -> JsonObject:
    said = cut(text_of(schema.get("description")), 40)
    return {**_typed(schema), "description": f"{said} {_MORE}".strip()}


def _typed(schema: object) -> JsonObject:
    node = as_node(schema)
    out: JsonObject = {"type": node["type"]} if "type" in node else {}
    if node.get("type") == "array":
        out["items"] = {}
    return out


def _trimmed(schema: JsonObject, most: int) -> tuple[JsonObject, int]:
    """A schema that is too big by itself, cut as deep as it must be."""
    loose = _loosened(schema)
    made = _cut_below(loose, _LEVELS[0])
    for levels in _LEVELS[1:]:
        if _size(made) <= most:
            break
        made = _cut_below(loose, levels)
    return made, _size(made)


def _cut_below(schema: JsonObject, levels: int) -> JsonObject:
    out: JsonObject = {key: value for key, value in schema.items() if key != "examples"}
    if isinstance(out.get("description"), str):
        out["description"] = cut(text_of(out["description"]), _MOST_WORDS)
    for keyword in ("properties", "patternProperties"):
        if keyword in out:
            out[keyword] = {name: _inner(inner, levels) for name, inner in as_node(out[keyword]).items()}
    for keyword in ("items", "additionalProperties"):
        if keyword in out:
            out[keyword] = _inner(out[keyword], levels)
    for keyword in ("allOf", "anyOf", "prefixItems"):
        if isinstance(out.get(keyword), list):
            out[keyword] = [_inner(inner, levels) for inner in cast("list[JsonValue]", out[keyword])]
    return out


def _inner(schema: JsonValue, levels: int) -> JsonValue:
    if not isinstance(schema, dict) or "$ref" in schema:
        return schema
    return _cut_below(schema, levels - 1) if levels > 0 else _bare(schema)


def _size(schema: Schema) -> int:
    return len(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))
