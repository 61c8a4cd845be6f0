"""What each JSON Schema keyword may hold, so that a document's slips do not make a schema that nobody can read."""

import json
import re
from collections.abc import Callable
from typing import Any, cast

from pydantic import JsonValue

TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
"""The types of JSON Schema."""

SCHEMA_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
"""Keywords whose values are schemas by name; the names are data and never keywords."""

SCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords that hold a list of schemas."""

SCHEMAS = frozenset(
    {
        "items",
        "additionalProperties",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "unevaluatedProperties",
        "unevaluatedItems",
    }
)
"""Keywords that hold one schema."""

MOST_NAME_CHARACTERS = 80
"""A longer name of a definition is cut."""

_MOST_EXAMPLE_CHARACTERS = 200
_MOST_DESCRIPTION_CHARACTERS = 500


def cut(text: str, most: int = _MOST_DESCRIPTION_CHARACTERS) -> str:
    """A text of at most so many characters, ended at a word."""
    if len(text) <= most:
        return text
    return f"{text[: most - 1].rsplit(None, 1)[0]}…"


def small_example(value: JsonValue) -> bool:
    """Whether an example is worth its tokens."""
    return len(json.dumps(value)) <= _MOST_EXAMPLE_CHARACTERS


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _positive(value: Any) -> Any:
    return value if _number(value) is not None and value > 0 else None


def _count(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _boolean(value: Any) -> Any:
    return value if isinstance(value, bool) else None


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else None


def _pattern(value: Any) -> Any:
    if not isinstance(value, str):
        return None
    try:
        re.compile(value)
    except (re.error, FutureWarning):
        return None
    return value


def _names(value: Any) -> list[str] | None:
    if not isinstance(value, list):
        return None
    return [name for name in cast("list[Any]", value) if isinstance(name, str)]


def _names_by_name(value: Any) -> Any:
    if not isinstance(value, dict):
        return None
    return {name: _names(names) or [] for name, names in cast("dict[str, Any]", value).items()}


def _description(value: Any) -> Any:
    return cut(value.strip()) if isinstance(value, str) and value.strip() else None


ASSERTIONS: dict[str, Callable[[Any], Any]] = {
    "maximum": _number,
    "minimum": _number,
    "exclusiveMaximum": _number,
    "exclusiveMinimum": _number,
    "multipleOf": _positive,
    "maxLength": _count,
    "minLength": _count,
    "maxItems": _count,
    "minItems": _count,
    "maxProperties": _count,
    "minProperties": _count,
    "maxContains": _count,
    "minContains": _count,
    "uniqueItems": _boolean,
    "pattern": _pattern,
    "format": _text,
    "contentEncoding": _text,
    "contentMediaType": _text,
    "dependentRequired": _names_by_name,
    "title": _text,
    "description": _description,
}
"""Keywords that are copied: each with a reader that gives None for what does not belong there."""

ANNOTATIONS = frozenset({"title", "description", "format", "default", "examples"})
"""Keywords that constrain nothing (`format` as far as most validators go)."""
