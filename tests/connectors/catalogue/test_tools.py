"""What a model sees of an operation."""

import pytest

from practicum.contracts.connectors import ApiKeyAuth, Fidelity
from tests.connectors.documents import (
    Json,
    compiled,
    document,
    header,
    one_tool,
    operation,
    path,
    properties,
    query,
    tool_of,
)

ADDRESS = {"type": "object", "properties": {"city": {"type": "string"}}}


def test_parameters_and_body_stand_side_by_side() -> None:
    body = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 3}},
    }
    tool = tool_of(operation(path("id"), query("q"), header("X-T", required=True), body=body), at="/t/{id}")
    assert list(properties(tool)) == ["id", "q", "X-T", "name", "age"]
    assert tool.input_schema["required"] == ["id", "X-T", "name"]
    assert tool.input_schema["additionalProperties"] is False
    assert properties(tool)["age"] == {"type": "integer", "default": 3}


WHOLE: list[Json] = [
    {"type": "object", "additionalProperties": {"type": "string"}},
    {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
    {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
    {"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {}}},
    {"type": "object"},
    {},
    {"type": "array", "items": {"type": "string"}},
    {"type": "string"},
    {"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]},
    {"type": ["object", "null"], "properties": {"a": {}}},
    {"type": "object", "properties": {"id": {}}},
    {"type": "object", "properties": {"a": {}}, "required": ["a", "undescribed"]},
]


@pytest.mark.parametrize("body", WHOLE)
def test_a_body_that_would_lose_something_is_one_argument(body: Json) -> None:
    tool = tool_of(operation(query("id"), body=body))
    assert list(properties(tool)) == ["id", "body"]
    assert tool.input_schema["required"] == ["body"]


def test_an_optional_body_is_all_or_nothing() -> None:
    body = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}
    tool = tool_of(operation(body=body, required=False))
    assert properties(tool)["body"]["required"] == ["a"]
    assert "required" not in tool.input_schema
    free = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert list(properties(tool_of(operation(body=free, required=False)))) == ["a"]


def test_members_of_all_of_are_merged() -> None:
    base = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "id": {"readOnly": True}}}
    body = {"allOf": [{"$ref": "#/components/schemas/Base"}, {"properties": {"b": ADDRESS}, "required": ["b", "id"]}]}
    tool = one_tool(document({"/t": {"post": operation(body=body)}}, components={"schemas": {"Base": base}}))
    assert list(properties(tool)) == ["a", "b"]
    assert tool.input_schema["required"] == ["a", "b"]
    assert "$defs" not in tool.input_schema


def test_alternatives_that_only_require_stay_flat() -> None:
    body: Json = {
        "type": "object",
        "properties": {"a": {}, "b": {}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    assert list(properties(tool_of(operation(body=body)))) == ["a", "b"]


def test_the_same_name_in_several_places_is_told_apart() -> None:
    made = operation(path("id"), query("id"), header("id"), {"name": "id", "in": "cookie", "schema": {}})
    assert list(properties(tool_of(made, at="/t/{id}"))) == ["id", "id_query", "id_header", "id_cookie"]
    assert list(properties(tool_of(operation(query("body"), body={"type": "string"})))) == ["body", "body_body"]


def test_a_required_parameter_with_a_default_is_not_asked_for() -> None:
    tool = tool_of(operation(query("v", {"type": "integer", "default": 1}, required=True)))
    assert "required" not in tool.input_schema


def test_an_idempotency_header_is_the_houses_business() -> None:
    tool = tool_of(operation(header("Idempotency-Key", required=True), query("q")))
    assert tool.idempotency_header == "Idempotency-Key"
    assert list(properties(tool)) == ["q"]


def test_parameters_that_the_credential_fills_are_hidden() -> None:
    schemes = {"K": {"type": "apiKey", "in": "query", "name": "Key"}}
    source = document({"/t": {"get": operation(query("key"), query("q"))}}, components={"securitySchemes": schemes})
    assert list(properties(one_tool(source, auth=ApiKeyAuth(value="secret")))) == ["q"]
    assert list(properties(one_tool(source))) == ["key", "q"]


@pytest.mark.parametrize(
    ("summary", "description", "text"),
    [
        ("Get it", "", "Get it."),
        ("Get it", "Really.", "Get it. Really."),
        ("Get it.", "Really.", "Get it. Really."),
        ("Get it.", "Get it. Again.", "Get it. Again."),
        ("", "Only\n  this", "Only this"),
        ("", "", "POST /things"),
        ("", "word " * 500, f"{('word ' * 199).strip()}…"),
    ],
)
def test_descriptions(summary: str, description: str, text: str) -> None:
    assert tool_of(operation(summary=summary, description=description)).description == text


def test_json_is_preferred() -> None:
    several = {
        "application/xml": {},
        "application/merge-patch+json": {"schema": ADDRESS},
        "application/json": {"schema": ADDRESS},
    }
    made: Json = {"operationId": "a", "requestBody": {"required": True, "content": several}}
    (entry,) = compiled(document({"/a": {"post": made}})).report
    assert entry.fidelity is Fidelity.EXACT
    assert list(properties(one_tool(document({"/a": {"post": made}})))) == ["city"]


def test_patterns_choose_operations_without_renaming_them() -> None:
    paths = {f"/{name}": {"get": {"operationId": name}} for name in ("get_a", "get_b", "list_a")}
    chosen = compiled(document(paths), include=("get_*",), exclude=("*_b",))
    assert list(chosen.tools) == ["crm_get_a"]
    assert [entry.operation for entry in chosen.report] == ["get_a"]


def test_titles_that_repeat_the_key_are_dropped() -> None:
    body = {
        "type": "object",
        "properties": {"customer_id": {"title": "Customer Id", "type": "string"}, "x": {"title": "Unit price"}},
    }
    assert properties(tool_of(operation(body=body))) == {
        "customer_id": {"type": "string"},
        "x": {"title": "Unit price"},
    }


def test_what_the_overlay_states_of_an_operation_holds() -> None:
    said: Json = {"description": "Mine.", "effect": "money", "idempotency": "X-Request-Id"}
    tool = tool_of({**operation(query("q"), summary="Theirs"), "x-practicum": said})
    assert (tool.description, tool.effect, tool.idempotency_header) == ("Mine.", "money", "X-Request-Id")
    assert list(properties(tool)) == ["q"]
    keyed = {**operation(header("Idempotency-Key"), header("X-Request-Id")), "x-practicum": {"idempotency": False}}
    assert tool_of(keyed).idempotency_header is None
    assert list(properties(tool_of(keyed))) == ["Idempotency-Key", "X-Request-Id"]


def test_a_tool_that_answers_in_pages_takes_next() -> None:
    tool = one_tool(document({"/things": {"get": operation(query("page"), query("next"))}}))
    assert tool.paged
    assert list(properties(tool)) == ["page", "next_query", "next"]
    assert "required" not in tool.input_schema
    assert not tool_of(operation(query("page"))).paged


def test_conventions_are_told() -> None:
    listed = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}}
    made = operation(query("f", listed, style="deepObject", explode=True))
    (entry,) = compiled(document({"/things": {"get": made}})).report
    assert entry.fidelity is Fidelity.DEGRADED
    assert "`f[ids][]=1`" in entry.notes[0]
