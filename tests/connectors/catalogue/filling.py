"""Arguments drawn from a closed schema, as a model that is held to it would write them."""

import random
from typing import Any, cast

Json = dict[str, Any]


def drawn(schema: Json, seed: int) -> Any:
    """A value that fits the schema: JSON Schema of a strict provider, or Gemini's words."""
    return _drawn(schema, random.Random(seed), schema.get("$defs", {}), 0)  # noqa: S311 (no secret)


def _drawn(schema: Json, chance: random.Random, definitions: Json, depth: int) -> Any:
    if "$ref" in schema:
        return _drawn(definitions[schema["$ref"].removeprefix("#/$defs/")], chance, definitions, depth)
    if "anyOf" in schema:
        branches = sorted(schema["anyOf"], key=lambda branch: branch.get("type") == "null", reverse=True)
        return _drawn(branches[0] if depth > 6 else chance.choice(branches), chance, definitions, depth)
    given: Any = schema["type"]
    kinds = cast("list[str]", given if isinstance(given, list) else [given])
    if schema.get("nullable") or "null" in kinds:
        kinds = [kind for kind in kinds if kind != "null"]
        if depth > 6 or not kinds or chance.random() < 0.3:
            return None
    if "enum" in schema:
        return chance.choice([value for value in schema["enum"] if value is not None] or [None])
    return _of_kind(kinds[0], schema, chance, definitions, depth)


def _of_kind(kind: str, schema: Json, chance: random.Random, definitions: Json, depth: int) -> Any:
    if kind == "object":
        required = schema.get("required", [])
        return {
            key: _drawn(inner, chance, definitions, depth + 1)
            for key, inner in schema["properties"].items()
            if key in required or (depth < 5 and chance.random() < 0.5)
        }
    if kind == "array":
        least = schema.get("minItems", 0)
        number = least if depth > 5 else chance.randint(least, least + 2)
        return [_drawn(schema["items"], chance, definitions, depth + 1) for _ in range(number)]
    if kind == "string":
        return _text(schema, chance)
    if kind == "boolean":
        return chance.random() < 0.5
    low, high = schema.get("minimum", -9), schema.get("maximum", 9)
    return chance.randint(int(low), int(high)) if kind == "integer" else chance.uniform(low, high)


def _text(schema: Json, chance: random.Random) -> str:
    described = schema.get("description", "")
    if "Written as text: a JSON object" in described:
        return '{"name": "abc"}' if "name" in described else "{}"
    if "Written as text" in described:
        return chance.choice(['"x"', "3", "true"])
    if schema.get("format") == "date-time":
        return "2026-11-30T12:00:00Z"
    return "abc"
