"""What OpenAPI 3.2 adds."""

from typing import Any

import pytest

from practicum_connectors import load_document
from practicum_connectors.document import Operation, Unreadable, list_operations
from tests.connectors.documents import Json, document


def listed(paths: Json, **rest: Any) -> list[Operation | Unreadable]:
    return list(list_operations(load_document(document(paths, version="3.2.0", **rest))))


def read(raw: Json, **rest: Any) -> Operation:
    (found,) = listed({"/x": {"get": raw}}, **rest)
    assert isinstance(found, Operation)
    return found


def test_query_and_additional_operations() -> None:
    item = {"query": {"operationId": "q"}, "additionalOperations": {"COPY": {"operationId": "c"}, "x-Odd": {}}}
    found = listed({"/a": {**item, "parameters": [{"name": "p", "in": "query", "schema": {}}]}})
    assert [(type(entry), entry.method, entry.operation_id) for entry in found] == [
        (Operation, "QUERY", "q"),
        (Operation, "COPY", "c"),
        (Operation, "x-Odd", None),
    ]
    assert all(isinstance(entry, Operation) and len(entry.parameters) == 1 for entry in found)


@pytest.mark.parametrize("method", ["POST", "get", "A B", "", "GÉT"])
def test_what_cannot_be_an_additional_method_is_reported(method: str) -> None:
    (found,) = listed({"/a": {"additionalOperations": {method: {"operationId": "o"}}}})
    assert isinstance(found, Unreadable)
    assert f"`{method}`" in found.reason


def querystring(content: Json, **rest: Any) -> Json:
    return {"parameters": [{"in": "querystring", "name": "filter", "content": content, **rest}]}


FORM = "application/x-www-form-urlencoded"


def test_a_query_string_described_as_a_form_is_its_parameters() -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"type": "array"}}}
    media = {"schema": {"$ref": "#/components/schemas/F"}, "encoding": {"b": {"style": "pipeDelimited"}}}
    found = read(querystring({FORM: media}, required=True), components={"schemas": {"F": schema}})
    assert [(p.name, p.location, p.required, p.style, p.explode) for p in found.parameters] == [
        ("a", "query", True, "form", True),
        ("b", "query", False, "pipeDelimited", False),
    ]
    optional = read(querystring({FORM: media}), components={"schemas": {"F": schema}})
    assert not any(parameter.required for parameter in optional.parameters)


def test_a_free_query_string_is_one_exploded_object() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    (parameter,) = read(querystring({FORM: {"schema": schema}})).parameters
    assert (parameter.name, parameter.style, parameter.explode, parameter.schema) == ("filter", "form", True, schema)


def test_a_query_string_of_another_kind_is_left_out_or_refuses_the_operation() -> None:
    found = read(querystring({"application/json": {"schema": {}}}))
    assert found.parameters == ()
    assert "application/json" in found.losses[0]
    (refused,) = listed({"/x": {"get": querystring({"application/json": {"schema": {}}}, required=True)}})
    assert isinstance(refused, Unreadable)


def test_cookies_have_a_style_of_their_own() -> None:
    (parameter,) = read({"parameters": [{"name": "c", "in": "cookie", "style": "cookie", "schema": {}}]}).parameters
    assert (parameter.style, parameter.explode) == ("cookie", True)


def test_streams_are_lists_of_their_items() -> None:
    content = {"application/jsonl": {"itemSchema": {"type": "integer"}, "example": {"itemSchema": 1}}}
    found = read({"requestBody": {"content": content}, "responses": {"200": {"content": content}}})
    schema = {"type": "array", "items": {"type": "integer"}}
    assert found.body is not None
    assert found.body.content["application/jsonl"]["schema"] == schema
    assert found.responses["200"]["content"]["application/jsonl"] == {
        "itemSchema": {"type": "integer"},
        "example": {"itemSchema": 1},
        "schema": schema,
    }
