"""Where in the arguments a page is asked for."""

from typing import Any

import pytest

from practicum_connectors.catalogue.plan import ToolPlan
from practicum_connectors.response.body_paging import Slot, slot_named, slots_of
from tests.connectors.documents import Json, compiled, document, operation, query

INTEGER: Json = {"type": "integer"}
FILTER: Json = {
    "type": "object",
    "properties": {
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "offset": {"type": "integer", "default": 0},
        "flows": {"type": "object", "properties": {"page": INTEGER}},
        "pagination": {"$ref": "#/components/schemas/Paging"},
    },
}
SCHEMAS: Json = {"Paging": {"type": "object", "properties": {"page": INTEGER, "size": INTEGER}}, "Filter": FILTER}


def plan_of(made: Json) -> ToolPlan:
    connector = compiled(document({"/things/filter": {"post": made}}, components={"schemas": SCHEMAS}))
    return connector.prepare("crm_act", {}).plan


def found(plan: ToolPlan, *names: str) -> Slot:
    slot = slot_named(slots_of(plan), frozenset(names))
    assert slot is not None
    return slot


def test_members_of_a_flat_body() -> None:
    plan = plan_of(operation(query("q"), body=FILTER, required=False))
    offset = found(plan, "offset")
    assert offset.value({}) == 0
    assert offset.put({"limit": 2}, 4) == {"limit": 2, "offset": 4}
    assert found(plan, "limit").value({}) is None


def test_members_of_a_whole_body() -> None:
    body = {"oneOf": [{"type": "null"}], **FILTER, "additionalProperties": True}
    plan = plan_of(operation(body=body, required=False))
    offset = found(plan, "offset")
    assert offset.path == ("body", "offset")
    assert offset.put({"body": {"limit": 2}}, 4) == {"body": {"limit": 2, "offset": 4}}
    assert offset.put({}, 4) == {"body": {"offset": 4}}


@pytest.mark.parametrize("extra", [{}, {"additionalProperties": True}])
def test_members_of_an_object_for_pages(extra: Json) -> None:
    plan = plan_of(operation(body={**FILTER, **extra}, required=False))
    page = found(plan, "page")
    assert page.path[-2:] == ("pagination", "page")
    assert found(plan, "size").path[-2:] == ("pagination", "size")


def test_a_query_object_for_pages() -> None:
    schema = {"type": "object", "properties": {"number": INTEGER, "size": INTEGER}}
    plan = plan_of(operation(query("page", schema, style="deepObject"), query("ids", {"type": "array"})))
    number = found(plan, "pagenumber")
    assert number.put({"page": {"size": 5}}, 2) == {"page": {"size": 5, "number": 2}}
    assert slot_named(slots_of(plan), frozenset({"page"})) is None
    assert slot_named(slots_of(plan), frozenset({"ids"})) is None


@pytest.mark.parametrize(
    ("schema", "given", "put"),
    [
        ({"type": "string"}, 2, "2"),
        ({"type": ["string", "null"]}, 2, "2"),
        ({"type": ["string", "integer"]}, 2, 2),
        (INTEGER, "2", 2),
        (INTEGER, "x", "x"),
        ({"anyOf": [INTEGER, {"type": "null"}]}, "2", 2),
        ({}, "2", "2"),
    ],
)
def test_values_are_of_the_kind_that_is_taken(schema: Json, given: Any, put: Any) -> None:
    plan = plan_of(operation(query("page", schema)))
    assert found(plan, "page").put({}, given) == {"page": put}
