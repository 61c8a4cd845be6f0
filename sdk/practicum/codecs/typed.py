"""Arguments that a dialect writes as bare text: of which type they are is said by the tool's schema."""

from collections.abc import Sequence

from pydantic import JsonValue

from practicum.codecs.reading import decoded, written
from practicum.codecs.schemas import Schemas, choices, kind, properties
from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Tool

_WORDS: dict[str, JsonValue] = {"True": True, "False": False, "None": None}


def bare(value: JsonValue) -> str:
    """A value without the quotes that a string would have as JSON."""
    return value if isinstance(value, str) else written(value)


def typed(name: str, given: dict[str, str], tools: Sequence[Tool]) -> JsonObject:
    """Arguments as the tool's schema has them.

    A text is read as JSON unless the schema wants a string there; one that is not JSON stays text, and whoever checks
    the arguments says what was expected.

    Args:
        name: the tool's.
        given: the texts by the arguments' names.
        tools: the tools on offer.
    """
    tool = next((tool for tool in tools if tool.name == name), None)
    schemas = Schemas({} if tool is None else tool.input_schema)
    fields = {} if tool is None else properties(schemas.plain(tool.input_schema))
    return {key: _value(text, schemas, fields.get(key)) for key, text in given.items()}


def _value(text: str, schemas: Schemas, schema: JsonValue) -> JsonValue:
    plain = schemas.plain(schema)
    allowed = choices(plain)
    if kind(plain) == "string" or (allowed and all(isinstance(value, str) for value in allowed if value is not None)):
        return None if text == "null" and _nullable(schema, allowed) else text
    if text in _WORDS:
        return _WORDS[text]
    try:
        return decoded(text)
    except ValueError:
        return text


def _nullable(schema: JsonValue, allowed: Sequence[JsonValue]) -> bool:
    if not isinstance(schema, dict):
        return False
    branches = [schema, *(branch for union in ("anyOf", "oneOf") for branch in _listed(schema.get(union)))]
    kinds = [kind for branch in branches if isinstance(branch, dict) for kind in _listed(branch.get("type"))]
    return "null" in kinds or None in allowed or schema.get("nullable") is True


def _listed(value: JsonValue) -> Sequence[JsonValue]:
    if isinstance(value, list):
        return value
    return () if value is None else (value,)
