"""What a refreshed document changes, and what of it breaks those who call its tools."""

import copy
from typing import Any

import pytest

from practicum.contracts.connectors import Change, ChangeKind
from practicum_connectors import load_document
from practicum_connectors.catalogue.compile import Compiler
from practicum_connectors.catalogue.difference import State, compared
from practicum_connectors.catalogue.names import Nameable, name_operations
from practicum_connectors.document import Operation, list_operations
from tests.connectors.documents import Json, document, operation, path, query

BREAKING, FINE = True, False


def state(source: Json) -> State:
    found = load_document(source)
    operations = [entry for entry in list_operations(found) if isinstance(entry, Operation)]
    namings = name_operations("crm", [Nameable(o.operation_id, o.method, o.path) for o in operations])
    compiler = Compiler("crm", found)
    return State(found, {n.tool: compiler.compile(o, n) for o, n in zip(operations, namings, strict=True)})


def differences(before: State, after: State) -> list[Change]:
    return [change for one in compared(before, after) for change in one.changes]


def changed(before: Json, after: Json) -> list[tuple[str, str, bool]]:
    return [(change.kind.value, change.where, change.breaking) for change in differences(state(before), state(after))]


def of_body(before: Json, after: Json, **components: Json) -> list[tuple[str, str, bool]]:
    made = [document({"/x": {"post": operation(body=schema)}}, components=components) for schema in (before, after)]
    return changed(*made)


def of_answer(before: Json, after: Json) -> list[tuple[str, str, bool]]:
    def answering(schema: Json) -> Json:
        content = {"application/json": {"schema": schema}}
        return document({"/x": {"get": {"operationId": "act", "responses": {"200": {"content": content}}}}})

    return changed(answering(before), answering(after))


def test_the_same_document_has_no_changes() -> None:
    node: Json = {"properties": {"next": {"$ref": "#/components/schemas/Node"}, "value": {"type": "integer"}}}
    made = document(
        {"/x/{id}": {"post": operation(path("id"), body={"$ref": "#/components/schemas/Node"})}},
        components={"schemas": {"Node": node}},
    )
    assert changed(made, copy.deepcopy(made)) == []


def test_operations_come_go_and_are_recognised() -> None:
    before = document({"/a": {"get": {"operationId": "a"}}, "/b/{id}": {"get": operation(path("id"))}})
    after = document({"/b/{thing}": {"get": operation(path("thing"))}, "/c": {"get": {"operationId": "c"}}})
    found = differences(state(before), state(after))
    assert [(change.kind.value, change.operation, change.where, change.breaking) for change in found] == [
        ("removed", "a", "", True),
        ("retyped", "act", "path", True),
        ("retyped", "act", "arguments.id", True),
        ("added", "c", "", False),
    ]


def test_a_renamed_or_moved_operation_is_the_same_one() -> None:
    made = [document({at: {"get": {"operationId": name}}}) for at, name in (("/a", "x"), ("/a", "y"), ("/v2/a", "x"))]
    assert changed(made[0], made[1]) == [("retyped", "name", BREAKING)]
    assert changed(made[0], made[2]) == [("retyped", "path", BREAKING)]


def test_arguments() -> None:
    before = document({"/x": {"get": operation(query("gone"), query("kept"), query("asked"))}})
    after = document(
        {
            "/x": {
                "get": operation(
                    query("kept", {"type": "integer"}),
                    query("asked", required=True),
                    query("new"),
                    query("must", required=True),
                )
            }
        }
    )
    assert sorted(changed(before, after)) == [
        ("new_optional", "arguments.new", FINE),
        ("new_required", "arguments.asked", BREAKING),
        ("new_required", "arguments.must", BREAKING),
        ("removed", "arguments.gone", BREAKING),
        ("retyped", "arguments.kept", BREAKING),
    ]


PLAIN = {"type": "string"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (PLAIN, {"type": ["string", "null"]}, ("new_optional", FINE)),
        ({"type": ["string", "null"]}, PLAIN, ("retyped", BREAKING)),
        ({"type": "integer"}, {"type": "number"}, ("new_optional", FINE)),
        ({"type": "number"}, {"type": "integer"}, ("retyped", BREAKING)),
        ({}, PLAIN, ("retyped", BREAKING)),
        ({**PLAIN, "enum": ["a", "b"]}, {**PLAIN, "enum": ["a", "b", "c"]}, ("new_optional", FINE)),
        ({**PLAIN, "enum": ["a", "b"]}, {**PLAIN, "enum": ["a", "c"]}, ("retyped", BREAKING)),
        (PLAIN, {**PLAIN, "enum": ["a"]}, ("retyped", BREAKING)),
        ({**PLAIN, "enum": ["a"]}, PLAIN, ("new_optional", FINE)),
        ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 0}, ("new_optional", FINE)),
        ({"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 1}, ("retyped", BREAKING)),
        ({"type": "integer"}, {"type": "integer", "maximum": 9}, ("retyped", BREAKING)),
        ({**PLAIN, "pattern": "a"}, {**PLAIN, "pattern": "b"}, ("retyped", BREAKING)),
        ({**PLAIN, "pattern": "a"}, PLAIN, ("new_optional", FINE)),
        ({**PLAIN, "format": "date"}, {**PLAIN, "format": "date-time"}, ("retyped", BREAKING)),
        (PLAIN, {**PLAIN, "description": "New words."}, ("description", FINE)),
        ({"type": "array", "items": PLAIN}, {"type": "array", "items": {"type": "integer"}}, ("retyped", BREAKING)),
        ({"anyOf": [PLAIN]}, {"anyOf": [PLAIN, {"type": "null"}]}, ("new_optional", FINE)),
        ({"anyOf": [PLAIN, {"type": "null"}]}, {"anyOf": [PLAIN]}, ("retyped", BREAKING)),
        ({"not": {"const": 1}}, {"not": {"const": 2}}, ("retyped", BREAKING)),
        ({"type": "object"}, {"type": "object", "additionalProperties": False}, ("retyped", BREAKING)),
        (
            {"type": "object", "additionalProperties": PLAIN},
            {"type": "object", "additionalProperties": {"type": "integer"}},
            ("retyped", BREAKING),
        ),
    ],
)
def test_what_is_sent(old: Json, new: Json, expected: tuple[str, bool]) -> None:
    ((kind, where, breaking),) = of_body(
        {"type": "object", "properties": {"v": old}}, {"type": "object", "properties": {"v": new}}
    )
    assert where.startswith("arguments.v")
    assert (kind, breaking) == expected


def test_members_deep_inside() -> None:
    def nested(inner: Json) -> Json:
        return {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", **inner}}}}

    old = nested({"properties": {"x": PLAIN, "y": PLAIN}, "required": ["y"]})
    new = nested({"properties": {"y": PLAIN, "z": PLAIN, "w": PLAIN}, "required": ["z"]})
    assert of_body(old, new) == [
        ("removed", "arguments.a[].x", BREAKING),
        ("new_optional", "arguments.a[].y", FINE),
        ("new_required", "arguments.a[].z", BREAKING),
        ("new_optional", "arguments.a[].w", FINE),
    ]


def test_what_comes_back_breaks_only_where_it_was_always_there() -> None:
    old = {
        "properties": {"id": {"type": "integer"}, "name": PLAIN, "note": PLAIN, "kind": PLAIN},
        "required": ["id", "name"],
    }
    new: Json = {"properties": {"id": PLAIN, "note": {"type": "integer"}, "more": PLAIN}, "required": ["id"]}
    assert of_answer(old, new) == [
        ("retyped", "response.id", BREAKING),
        ("removed", "response.name", BREAKING),
        ("retyped", "response.note", FINE),
        ("removed", "response.kind", FINE),
        ("new_optional", "response.more", FINE),
    ]


def test_the_same_schema_written_in_another_way_is_no_change() -> None:
    inner: Json = {"type": "object", "properties": {"b": PLAIN}}
    old: Json = {"type": "object", "properties": {"a": inner}}
    new: Json = {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/A"}}}
    assert of_body(old, new, schemas={"A": inner}) == []


def test_a_recursive_schema_is_compared_once() -> None:
    def tree(value: Json) -> Json:
        node = {"type": "object", "properties": {"up": {"$ref": "#/components/schemas/T"}, "v": value}}
        body: Json = {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/T"}}}
        return document({"/x": {"post": operation(body=body)}}, components={"schemas": {"T": node}})

    assert changed(tree(PLAIN), tree({"type": "integer"})) == [("retyped", "arguments.a.v", BREAKING)]


def test_effect_security_server_and_words() -> None:
    schemes = {"securitySchemes": {n: {"type": "apiKey", "in": "header", "name": n} for n in ("k", "l")}}

    def made(effect: str, security: Any, summary: str = "s") -> Json:
        act = operation() | {"x-practicum-effect": effect, "summary": summary}
        return document({"/x": {"get": act if security is None else act | {"security": security}}}, components=schemes)

    assert changed(made("read", None), made("delete", None)) == [("retyped", "effect", BREAKING)]
    assert changed(made("delete", None), made("read", None)) == [("retyped", "effect", BREAKING)]
    assert changed(made("read", None), made("read", None, "other")) == [("description", "", FINE)]
    k: Json = {"k": []}
    both: Json = {"k": [], "l": []}
    cases: list[tuple[Any, Any, bool]] = [
        ([k], [k, {"l": []}], FINE),
        ([k], [{"l": []}], BREAKING),
        ([k], [both], BREAKING),
        ([k], [], FINE),
        (None, [k], BREAKING),
        ([k], [{}, {"l": []}], FINE),
    ]
    for old, new, breaking in cases:
        assert changed(made("read", old), made("read", new)) == [("retyped", "security", breaking)]


def test_calls_that_go_elsewhere_break() -> None:
    made = document({"/x": {"get": operation()}})
    there = state(made)
    elsewhere = State(there.document, there.plans, {"crm_act": "https://elsewhere.example.com"})
    (change,) = differences(there, elsewhere)
    assert (change.kind, change.where, change.breaking) == (ChangeKind.RETYPED, "server", True)
    assert change.after == "https://elsewhere.example.com"
