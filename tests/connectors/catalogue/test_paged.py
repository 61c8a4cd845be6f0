"""Which tools answer in pages."""

from typing import Any

import pytest

from practicum.contracts.tools import Effect
from practicum_connectors.catalogue.paged import is_paged, plain
from practicum_connectors.document import Operation, list_operations, load_document
from tests.connectors.documents import Json, document, operation, path, query

LIST: Json = {"type": "array", "items": {"type": "object"}}
SCHEMAS: Json = {
    "List": LIST,
    "Envelope": {"allOf": [{"$ref": "#/components/schemas/Envelope"}, {"properties": {"data": {"$ref": "#/x/List"}}}]},
    "Twice": {
        "allOf": [{"$ref": "#/components/schemas/Twice"}, {"anyOf": [{"$ref": "#/components/schemas/Twice"}] * 9}]
    },
    "Page": {"type": "object", "properties": {"data": {"$ref": "#/components/schemas/List"}}},
}


def paged(made: Json, at: str = "/things", method: str = "get", effect: Effect = Effect.READ, names: Any = ()) -> bool:
    loaded = load_document(document({at: {method: made}}, components={"schemas": SCHEMAS}))
    (read,) = list_operations(loaded)
    assert isinstance(read, Operation)
    return is_paged(read, effect, loaded, [*names, *(parameter.name for parameter in read.parameters)])


def answering(schema: Any, media_type: str = "application/json", status: str = "200") -> Json:
    return operation(responses={status: {"description": "ok", "content": {media_type: {"schema": schema}}}})


@pytest.mark.parametrize("name", ["page[number]", "per_page", "starting_after", "$skip", "$top", "pageToken", "limit"])
def test_by_its_parameters(name: str) -> None:
    assert paged(operation(query(name)))


@pytest.mark.parametrize("name", ["q", "from", "count", "size", "first", "start"])
def test_not_by_words_with_other_uses(name: str) -> None:
    assert not paged(operation(query(name)))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (LIST, True),
        ({"items": {}}, True),
        ({"type": ["array", "null"]}, True),
        ({"anyOf": [LIST, {"type": "null"}]}, True),
        ({"$ref": "#/components/schemas/Page"}, True),
        ({"properties": {"result": {"properties": {"records": LIST}}}}, True),
        ({"properties": {"a": {"properties": {"b": {"properties": {"c": LIST}}}}}}, False),
        ({"properties": {"customer": {"properties": {"tags": LIST}}}}, False),
        ({"type": "object", "properties": {"id": {"type": "integer"}, "next": True}}, False),
        ({}, True),
        ({"$ref": "#/components/schemas/Absent"}, True),
        ({"$ref": "#/components/schemas/Envelope"}, True),
        ({"$ref": "#/components/schemas/Twice"}, False),
    ],
)
def test_by_what_it_answers(schema: Any, expected: bool) -> None:
    assert paged(answering(schema)) is expected


def test_one_thing_is_a_list_only_if_it_is_one_itself() -> None:
    at = "/things/{id}"
    for schema, expected in ((LIST, True), ({"properties": {"tags": LIST}}, False), ({}, False)):
        made = {**answering(schema), "parameters": [path("id")]}
        assert paged(made, at) is expected


@pytest.mark.parametrize(
    ("media_type", "status", "expected"),
    [
        ("text/csv", "200", True),
        ("application/x-ndjson", "2XX", True),
        ("application/hal+json", "default", True),
        ("application/json", "400", False),
        ("image/png", "200", False),
    ],
)
def test_by_media_type_and_status(media_type: str, status: str, expected: bool) -> None:
    assert paged(answering(LIST, media_type, status)) is expected


def test_members_of_a_body_count_as_parameters_do() -> None:
    assert paged(operation(), method="post", names=["offset"])


@pytest.mark.parametrize("effect", [effect for effect in Effect if effect is not Effect.READ])
def test_what_does_more_than_read_is_never_called_again(effect: Effect) -> None:
    assert not paged(answering(LIST), method="post", effect=effect, names=["page"])


def test_spellings() -> None:
    assert {plain(name) for name in ("page[number]", "pageNumber", "page_number", "Page-Number")} == {"pagenumber"}
