"""`allOf` and references beside other keywords, said as one schema: for providers that know neither.

What cannot be said at once is left out, so that the merged schema accepts more than the parts, never less.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any, cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.document.pointers import as_list, as_node, reference_of

_DEFINITION = "#/$defs/"
_MOST_BRANCHES = 16
"""More branches than this are not made by combining unions."""
_UNIONS = ("anyOf", "oneOf")
_TIGHTER: Mapping[str, Callable[[Iterable[Any]], Any]] = {
    "minimum": max,
    "exclusiveMinimum": max,
    "minLength": max,
    "minItems": max,
    "minProperties": max,
    "maximum": min,
    "exclusiveMaximum": min,
    "maxLength": min,
    "maxItems": min,
    "maxProperties": min,
}


class Merger:
    """Merges schemas that share their definitions."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        """Merge nothing yet.

        Args:
            definitions: what references lead to, by name.
        """
        self._definitions = definitions

    def definition(self, reference: str) -> JsonObject | bool | None:
        """What a reference leads to, None if it leads nowhere."""
        return self._definitions.get(reference.removeprefix(_DEFINITION))

    def references(self, schema: JsonObject) -> list[str]:
        """The references that merging a schema unfolds."""
        found: list[str] = []
        self._parts(schema, frozenset(), found)
        return found

    def merged(self, schema: JsonObject) -> JsonObject:
        """The schema without `$ref` and `allOf` at its top, and with one union at most, in `anyOf`."""
        parts = self._parts(schema, frozenset(), [])
        if len(parts) == 1:
            out = dict(parts[0])
        else:
            out: JsonObject = {}
            for part in parts:
                _take(out, part)
        unions = [as_list(out.pop(keyword)) for keyword in _UNIONS if keyword in out]
        unions.extend(as_list(union) for union in as_list(out.pop(_MORE, None)))
        told = [union for union in unions if union and not _only_requires(union)]
        if len(told) == 1:
            out["anyOf"] = told[0]
        elif told and _size(told) <= _MOST_BRANCHES:
            out["anyOf"] = [{"allOf": list(branches)} for branches in product(*told)]
        elif told:
            out["anyOf"] = max(told, key=len)
        return out

    def _parts(self, schema: JsonObject, seen: frozenset[str], found: list[str]) -> list[JsonObject]:
        own = {key: value for key, value in schema.items() if key not in {"$ref", "allOf", "$defs"}}
        parts: list[JsonObject] = [own] if own else []
        reference = reference_of(schema)
        if reference is not None and reference not in seen:
            found.append(reference)
            target = self.definition(reference)
            if isinstance(target, dict):
                parts.extend(self._parts(target, seen | {reference}, found))
        for member in as_list(schema.get("allOf")):
            if isinstance(member, dict):
                parts.extend(self._parts(cast("JsonObject", member), seen, found))
        return parts or [{}]


_MORE = "x-unions"
"""Where unions beyond the first wait while parts are taken together."""


def _take(out: JsonObject, part: JsonObject) -> None:
    for keyword, value in part.items():
        if keyword not in out:
            out[keyword] = dict(value) if keyword == "properties" and isinstance(value, dict) else value
        elif keyword == "properties":
            _take_properties(cast("JsonObject", out[keyword]), as_node(value))
        elif keyword == "required":
            out[keyword] = list(dict.fromkeys([*as_list(out[keyword]), *as_list(value)]))
        elif keyword == "type":
            out[keyword] = _common_type(out[keyword], value)
        elif keyword == "enum":
            common = [entry for entry in as_list(out[keyword]) if entry in as_list(value)]
            out[keyword] = common or out[keyword]
        elif keyword in _TIGHTER:
            out[keyword] = _TIGHTER[keyword]((out[keyword], value))
        elif keyword in _UNIONS:
            out[_MORE] = [*as_list(out.get(_MORE)), value]
        elif keyword in {"items", "additionalProperties"}:
            out[keyword] = _both(out[keyword], value)


def _take_properties(out: JsonObject, more: Mapping[str, Any]) -> None:
    for name, schema in more.items():
        out[name] = _both(out[name], schema) if name in out else schema


def _both(mine: JsonValue, theirs: JsonValue) -> JsonValue:
    if mine is False or theirs is False:
        return False
    if mine == theirs or theirs is True or theirs == {}:
        return mine
    return theirs if mine is True or mine == {} else {"allOf": [mine, theirs]}


def _common_type(mine: JsonValue, theirs: JsonValue) -> JsonValue:
    first, second = as_list(mine) or [mine], as_list(theirs) or [theirs]
    common = [kind for kind in first if kind in second or (kind == "integer" and "number" in second)]
    common.extend(kind for kind in second if kind == "integer" and "number" in first and kind not in common)
    return (common[0] if len(common) == 1 else common) if common else mine


def _only_requires(union: list[Any]) -> bool:
    """Branches that only say which members go together: seen to when the arguments are checked."""
    return all(isinstance(branch, dict) and cast("JsonObject", branch).keys() <= {"required"} for branch in union)


def _size(unions: list[list[Any]]) -> int:
    size = 1
    for union in unions:
        size *= len(union)
    return size
