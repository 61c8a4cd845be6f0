"""Some value that a schema accepts, good enough for most of what real documents ask for."""

import re
from typing import Any, cast

Json = dict[str, Any]

_TEXTS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "email": "jo@example.com",
    "ipv4": "8.8.8.8",
    "ipv6": "2606:4700::1111",
    "uri": "https://example.com/x",
    "byte": "eHk=",
}
_IDENTITY = re.compile(r"\^\(?([A-Z]{2})[^\[]*\[0-9a-fA-F\]\{32\}\$")
_MOST_DEPTH = 6


def sample(schema: Any, root: Json, depth: int = 0) -> Any:
    """A value for a schema, nested so deep at most; text where none is found."""
    if not isinstance(schema, dict) or depth > _MOST_DEPTH:
        return "x"
    node = cast("Json", schema)
    if "$ref" in node:
        target: Json = root["$defs"][node["$ref"].removeprefix("#/$defs/")]
        return sample({**target, **{key: value for key, value in node.items() if key != "$ref"}}, root, depth + 1)
    stated = [node[keyword] for keyword in ("const", "default") if keyword in node] + node.get("enum", [])[:1]
    if stated:
        return stated[0]
    for keyword in ("oneOf", "anyOf"):
        if node.get(keyword):
            return _merged({**node, "allOf": [node[keyword][0]], keyword: []}, root, depth)
    return _merged(node, root, depth) if node.get("allOf") else _by_type(node, root, depth)


def _merged(node: Json, root: Json, depth: int) -> Any:
    parts = [sample(part, root, depth + 1) for part in node["allOf"]]
    own = (
        sample({key: value for key, value in node.items() if key != "allOf"}, root, depth + 1)
        if "properties" in node
        else None
    )
    objects = [cast("Json", part) for part in (*parts, own) if isinstance(part, dict)]
    return {key: value for part in objects for key, value in part.items()} if objects else parts[0]


def _by_type(node: Json, root: Json, depth: int) -> Any:
    kinds: Any = node.get("type", "object" if "properties" in node else "string")
    kind = str(cast("list[str]", kinds)[0] if isinstance(kinds, list) else kinds)
    if kind == "object":
        asked = node.get("required", [])
        return {name: sample(node.get("properties", {}).get(name, {}), root, depth + 1) for name in asked}
    if kind == "array":
        return [sample(node.get("items", {}), root, depth + 1)] * max(1, node.get("minItems", 1))
    if kind in {"integer", "number"}:
        return (
            max(node.get("minimum", 1), node.get("exclusiveMinimum", 0) + 1)
            if "maximum" not in node
            else node["maximum"]
        )
    if kind in {"boolean", "null"}:
        return True if kind == "boolean" else None
    return _text(node)


def _text(node: Json) -> str:
    given = [example for example in node.get("examples", []) if isinstance(example, str)]
    text = given[0] if given else _TEXTS.get(node.get("format", ""), "abc")
    if (identity := _IDENTITY.match(node.get("pattern", ""))) is not None:
        return identity[1] + "0" * 32
    if re.search(node.get("pattern", ""), text) is None:
        text = next(
            (t for t in ("1", "A1", "abc-1", "00000000", *_TEXTS.values()) if re.search(node["pattern"], t)), text
        )
    return text.ljust(node.get("minLength", 0), "x")[: node.get("maxLength")]
