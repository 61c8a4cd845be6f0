"""One tool, many providers: each definition keeps the provider's rules, and arguments find their way back."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from practicum.contracts.tools import Tool
from practicum_connectors.catalogue.profiles import PROFILES, Profiled, within
from tests.connectors.catalogue.filling import drawn
from tests.connectors.documents import Json, document, one_tool, operation, query

MONEY: Json = {
    "type": "object",
    "required": ["value", "currency"],
    "properties": {"value": {"type": "integer"}, "currency": {"type": "string", "enum": ["EUR", "USD"]}},
}
NODE: Json = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/Node"}], "description": "d"}},
    },
}
CARD: Json = {
    "type": "object",
    "required": ["kind", "number"],
    "properties": {"kind": {"type": "string"}, "number": {"type": "string"}, "valid[until]": {"type": "string"}},
}
BANK: Json = {
    "type": "object",
    "required": ["kind", "iban"],
    "properties": {"kind": {"type": "string"}, "iban": {"type": "string"}, "note": {"type": ["string", "null"]}},
}
MEANS: Json = {
    "oneOf": [{"$ref": "#/components/schemas/Card"}, {"$ref": "#/components/schemas/Bank"}],
    "discriminator": {"propertyName": "kind", "mapping": {"card": "Card", "bank": "Bank"}},
}
BODY: Json = {
    "type": "object",
    "required": ["total", "level"],
    "properties": {
        "total": {"$ref": "#/components/schemas/Money"},
        "means": {"$ref": "#/components/schemas/Means"},
        "tree": {"$ref": "#/components/schemas/Node"},
        "level": {"type": "integer", "enum": [0, 1, 3]},
        "note": {"type": ["string", "null"], "default": "x", "description": "A note."},
        "when": {"type": "string", "format": "date-time"},
        "count": {"type": "integer", "minimum": 1, "maximum": 5},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "prices": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Money"}},
        "free": {"type": "object"},
        "any": {},
        "open": {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "additionalProperties": {"type": "integer"},
        },
        "pair": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": False},
        "odd": {
            "type": "object",
            "properties": {"$filter": {"type": "string"}, "a[b]": {"type": "boolean"}, "a_b": {}},
        },
        "both": {"allOf": [{"$ref": "#/components/schemas/Money"}, {"properties": {"tip": {"type": "integer"}}}]},
        "mixed": {"type": ["string", "integer", "null"]},
        "list": {"type": "array", "items": {"type": "string", "nullable": True}},
        "empty": {"type": "object", "properties": {}, "additionalProperties": False},
        "flag": {"const": True},
    },
}


@cache
def invoice() -> Tool:
    made = operation(query("q[x]"), query("dry", {"type": "boolean"}), body=BODY, description="word " * 900)
    schemas = {"Money": MONEY, "Node": NODE, "Card": CARD, "Bank": BANK, "Means": MEANS}
    return one_tool(document({"/invoices": {"post": made}}, components={"schemas": schemas}))


@cache
def bare() -> Tool:
    return one_tool(document({"/ping": {"post": operation()}}))


TOOLS = {"invoice": invoice, "bare": bare}


def parameters(profiled: Profiled) -> Json:
    made: Any = profiled.definition
    made = made.get("function", made)
    return made.get("parameters") or made.get("input_schema") or made.get("inputSchema") or {"properties": {}}


def objects(given: Any) -> Iterator[Json]:
    """All schemas in a schema, told from data by where they stand."""
    if not isinstance(given, dict):
        return
    schema = cast("Json", given)
    yield schema
    for keyword in ("properties", "$defs", "patternProperties", "dependentSchemas"):
        for inner in schema.get(keyword, {}).values():
            yield from objects(inner)
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for inner in schema.get(keyword, []):
            yield from objects(inner)
    for keyword in ("items", "additionalProperties", "not", "if", "then", "else"):
        yield from objects(schema.get(keyword))


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
@pytest.mark.parametrize("name", PROFILES)
def test_names_and_descriptions_fit_every_provider(name: str, tool: Any) -> None:
    made: Any = PROFILES[name].tool(tool()).definition
    made = made.get("function", made)
    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", made["name"])
    assert 0 < len(made["description"]) <= 1024
    assert json.loads(json.dumps(made)) == made


STRICT_KEYWORDS = {
    "type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "description", "$ref",
    "$defs", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "minItems", "maxItems",
}  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_strict_functions_keep_the_rules_of_strict_mode(tool: Any) -> None:
    made: Any = PROFILES["openai_strict"].tool(tool()).definition
    schema = made["function"]["parameters"]
    assert made["function"]["strict"] is True
    assert schema["type"] == "object"
    assert "anyOf" not in schema
    for inner in objects(schema):
        assert inner.keys() <= STRICT_KEYWORDS, inner
        assert "type" in inner or "anyOf" in inner or inner.keys() == {"$ref"}, inner
        if inner.get("type") == "object":
            assert inner["additionalProperties"] is False
            assert inner["required"] == list(inner["properties"])
            assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key) for key in inner["properties"])
        if "array" in inner.get("type", ""):
            assert inner["items"]
    Draft202012Validator.check_schema(schema)
    assert sum(len(inner.get("properties", {})) for inner in objects(schema)) <= 5000
    assert sum(len(inner.get("enum", [])) for inner in objects(schema)) <= 1000


GEMINI_KEYWORDS = {
    "type", "format", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties", "required",
    "propertyOrdering", "minLength", "maxLength", "pattern", "anyOf", "minimum", "maximum",
}  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_gemini_gets_its_subset_and_nothing_else(tool: Any) -> None:
    made: Any = PROFILES["gemini"].tool(tool()).definition
    assert made.keys() <= {"name", "description", "parameters"}
    for inner in objects(made.get("parameters")):
        assert inner.keys() <= GEMINI_KEYWORDS, inner
        if "anyOf" in inner:
            assert inner.keys() == {"anyOf"}
            continue
        assert isinstance(inner["type"], str)
        if "enum" in inner:
            assert inner["type"] == "string"
            assert all(isinstance(value, str) for value in inner["enum"])
        if inner["type"] == "object":
            assert inner["properties"]
            assert set(inner.get("required", [])) <= set(inner["properties"])
        if inner["type"] == "array":
            assert inner["items"]
        if inner["type"] == "string":
            assert inner.get("format") in {None, "enum", "date-time"}


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_anthropic_gets_safe_keys_and_an_object_at_the_root(tool: Any) -> None:
    schema = parameters(PROFILES["anthropic"].tool(tool()))
    assert schema["type"] == "object"
    assert not {"oneOf", "anyOf", "allOf"} & schema.keys()
    for inner in objects(schema):
        assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key) for key in inner.get("properties", {}))
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", ["openai", "local"])
def test_open_functions_know_no_one_of(name: str) -> None:
    union: Json = {"oneOf": [{"type": "string"}, {"type": "array"}], "anyOf": [{"minLength": 2}, {"maxItems": 3}]}
    made = operation(body=union)
    schema = parameters(PROFILES[name].tool(one_tool(document({"/x": {"post": made}}))))
    assert all("oneOf" not in inner for inner in objects(schema))
    assert all("items" in inner for inner in objects(schema) if inner.get("type") == "array")
    checked: Any = Draft202012Validator(schema)
    assert checked.is_valid({"body": "xy"})
    assert not checked.is_valid({"body": 3})


def test_the_local_form_is_short_and_accepts_what_the_tool_accepts() -> None:
    tool = invoice()
    made = PROFILES["local"].tool(tool)
    plain = PROFILES["openai"].tool(tool)
    assert len(json.dumps(made.definition)) < 0.75 * len(json.dumps(plain.definition))
    checked: Any = Draft202012Validator(parameters(made))
    strict = PROFILES["openai_strict"].tool(tool)
    for seed in range(100):
        arguments = strict.restore(drawn(parameters(strict), seed))
        if fits(tool, arguments):
            assert checked.is_valid(arguments)


def test_mcp_tells_the_effect() -> None:
    made: Any = PROFILES["mcp"].tool(invoice()).definition
    assert made["annotations"]["readOnlyHint"] is False
    assert made["inputSchema"] == invoice().input_schema


def fits(tool: Tool, arguments: Json) -> bool:
    checked: Any = Draft202012Validator(tool.input_schema)
    return checked.is_valid(arguments)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
@pytest.mark.parametrize("name", ["openai_strict", "gemini"])
def test_what_a_model_writes_in_a_closed_form_fits_the_tool(name: str, tool: Any) -> None:
    made, profiled = tool(), PROFILES[name].tool(tool())
    schema = parameters(profiled)
    checked: Any = Draft202012Validator(made.input_schema)
    for seed in range(150):
        written: Json = drawn(schema, seed) if schema["properties"] else {}
        restored = profiled.restore(written)
        faults = [e for e in checked.iter_errors(restored) if e.absolute_path and e.absolute_path[0] not in UNSAID]
        assert not faults, (written, restored)


UNSAID = {"pair"}
"""The length of a tuple cannot be said in a closed form."""


def test_absence_null_and_words_come_back() -> None:
    restore = PROFILES["openai_strict"].tool(invoice()).restore
    null: Json = dict.fromkeys(parameters(PROFILES["openai_strict"].tool(invoice()))["properties"])
    written: Json = {
        **null,
        "note": None,
        "level": 3,
        "labels": [{"key": "a_b", "value": "$filter"}],
        "any": '{"x": [1]}',
    }
    written["odd"] = {"filter": "f", "a_b_2": True, "a_b": "7"}
    written["open"] = {"a": None, "other_members": [{"key": "b", "value": 5}]}
    written["free"] = '{"n": 9007199254740993}'
    written["mixed"] = "(leave out)"
    written["total"] = {"value": 1, "currency": "EUR"}
    assert restore(written) == {
        "note": None,
        "level": 3,
        "labels": {"a_b": "$filter"},
        "any": {"x": [1]},
        "odd": {"$filter": "f", "a[b]": True, "a_b": 7},
        "open": {"b": 5},
        "free": {"n": 9007199254740993},
        "total": {"value": 1, "currency": "EUR"},
    }
    assert "note" not in restore({**written, "note": "(leave out)"})


def test_gemini_enumerates_numbers_as_words() -> None:
    profiled = PROFILES["gemini"].tool(invoice())
    assert parameters(profiled)["properties"]["level"]["enum"] == ["0", "1", "3"]
    assert profiled.restore({"level": "3", "flag": "true"}) == {"level": 3, "flag": True}


def test_anthropic_restores_names_but_leaves_data_alone() -> None:
    profiled = PROFILES["anthropic"].tool(invoice())
    keys = list(parameters(profiled)["properties"]["odd"]["properties"])
    assert keys == ["filter", "a_b_2", "a_b"]
    written: Json = {"odd": {"filter": "f", "a_b_2": True}, "labels": {"filter": "data"}, "means": {"valid_until": "x"}}
    assert profiled.restore(written) == {
        "odd": {"$filter": "f", "a[b]": True},
        "labels": {"filter": "data"},
        "means": {"valid[until]": "x"},
    }


@pytest.mark.parametrize("name", ["openai_strict", "anthropic"])
def test_what_does_not_fit_comes_back_as_it_is(name: str) -> None:
    restore = PROFILES[name].tool(invoice()).restore
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    bad: list[Json] = [{"labels": "no list", "free": "{no json", "means": 3, "unknown": 1}, {"any": deep}]
    for written in bad:
        assert restore(written) is written or restore(written) == written


def test_a_budget_counts_what_is_sent() -> None:
    tools = [invoice(), bare()]
    size = sum(
        len(json.dumps(PROFILES["local"].tool(tool).definition, ensure_ascii=False, separators=(",", ":")))
        for tool in tools
    )
    assert within(tools, PROFILES["local"], size // 4 + 1)
    assert not within(tools, PROFILES["local"], size // 4 - 1)
