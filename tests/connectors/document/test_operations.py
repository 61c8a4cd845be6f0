import pytest

from practicum.contracts.connectors import Fidelity
from practicum_connectors import load_document
from practicum_connectors.document import Operation, Unreadable, list_operations
from practicum_connectors.document.overlay import apply_overlay
from practicum_connectors.document.pointers import BrokenReferenceError
from tests.connectors.documents import Json, compiled, document, header, operation, path, properties, query


def listed(source: Json) -> list[Operation]:
    found = list(list_operations(load_document(source)))
    assert all(isinstance(entry, Operation) for entry in found)
    return [entry for entry in found if isinstance(entry, Operation)]


def test_parameters_of_the_path_are_inherited_and_overridden() -> None:
    item = {
        "summary": "A thing",
        "parameters": [path("id"), query("page", {"type": "string"}), {"$ref": "#/components/parameters/Tenant"}],
        "get": operation(query("page", {"type": "integer"})),
    }
    (found,) = listed(
        document({"/x/{id}": item}, components={"parameters": {"Tenant": header("X-Tenant", required=True)}})
    )
    assert [(p.name, p.location, p.required) for p in found.parameters] == [
        ("id", "path", True),
        ("page", "query", False),
        ("X-Tenant", "header", True),
    ]
    assert found.parameters[1].schema == {"type": "integer"}
    assert found.summary == "A thing"


def test_a_path_item_can_be_a_reference_twice() -> None:
    shared: Json = {"get": {"responses": {}}, "post": {"responses": {}}}
    source = document(
        {"/a": {"$ref": "#/components/pathItems/P"}, "/b": {"$ref": "#/components/pathItems/P"}},
        components={"pathItems": {"P": shared}},
    )
    assert [(entry.method, entry.path) for entry in listed(source)] == [
        ("GET", "/a"),
        ("POST", "/a"),
        ("GET", "/b"),
        ("POST", "/b"),
    ]


def test_pointers_are_unescaped() -> None:
    source = document(
        {
            "/a~b/{id}": {"get": operation(path("id", {"type": "integer"}))},
            "/c/{id}": {"get": operation({"$ref": "#/paths/~1a~0b~1%7Bid%7D/get/parameters/0"})},
        }
    )
    assert [entry.parameters[0].schema for entry in listed(source)] == [{"type": "integer"}] * 2


@pytest.mark.parametrize(
    ("broken", "word"),
    [
        (operation({"$ref": "#/components/parameters/Absent"}), "points to nothing"),
        (operation({"$ref": "other.yaml#/P"}), "outside the document"),
        (operation({"$ref": "#/components/parameters/Loop"}), "leads to itself"),
        (operation(query("q", {"$ref": "#/components/schemas/Absent"})), "points to nothing"),
        (operation(body={"$ref": "https://elsewhere/x.json#/S"}), "outside the document"),
        (
            operation(body={"properties": {"a": {"items": {"$ref": "#/components/schemas/Broken"}}}}),
            "points to nothing",
        ),
        ("not an object", "not an object"),
    ],
)
def test_one_broken_operation_does_not_lose_the_others(broken: Json, word: str) -> None:
    components = {
        "parameters": {"Loop": {"$ref": "#/components/parameters/Loop"}},
        "schemas": {"Broken": {"properties": {"x": {"$ref": "#/components/schemas/Absent"}}}},
    }
    connector = compiled(
        document({"/a": {"post": broken}, "/b": {"get": {"operationId": "fine"}}}, components=components)
    )
    assert list(connector.tools) == ["crm_fine"]
    refused, exact = connector.report
    assert (refused.fidelity, refused.tool, exact.fidelity) == (Fidelity.REFUSED, None, Fidelity.EXACT)
    assert word in " ".join(refused.notes)


def test_what_is_no_operation_is_passed_over() -> None:
    source = document(
        {
            "/a": {"get": {}, "x-note": {}, "parameters": [], "servers": [], "trace": None},
            "/b": None,
            "x-c": {"get": {}},
        }
    )
    assert [(entry.method, entry.path) for entry in listed(source)] == [("GET", "/a")]


def test_a_document_of_webhooks_only_has_no_tools() -> None:
    assert (
        compiled({"openapi": "3.1.0", "info": {"title": "w", "version": "1"}, "webhooks": {"n": {"post": {}}}}).tools
        == {}
    )


def test_odd_parameters_degrade_and_say_so() -> None:
    made = operation(
        query("a", style="pipes"),
        {"name": "b", "in": "body"},
        header("Accept", required=True),
        header("Host"),
        path("absent"),
    )
    connector = compiled(document({"/x/{id}": {"get": made}}))
    (report,) = connector.report
    assert report.fidelity is Fidelity.DEGRADED
    notes = " ".join(report.notes)
    assert all(word in notes for word in ("'pipes'", "'b'", "`Host`", "`absent`", "`id`"))
    assert list(properties(connector.tools["crm_act"])) == ["id", "a"]


@pytest.mark.parametrize("at", ["/a/../b", "/a/./b?c"])
def test_paths_that_no_request_can_carry_are_refused(at: str) -> None:
    (report,) = compiled(document({at: {"get": {}}})).report
    assert report.fidelity is Fidelity.REFUSED


@pytest.mark.parametrize(
    ("template", "wire"),
    [
        ("/größe/{id}", "/gr%C3%B6%C3%9Fe/{id}"),
        ("/a b/{größe}", "/a%20b/{größe}"),
        ("/a%20b/100%/{x}", "/a%20b/100%25/{x}"),
        ("/odd(x='{x}',y=@{y}):do;v=1", "/odd(x='{x}',y=@{y}):do;v=1"),
        ("/x?action=list of", "/x?action=list%20of"),
        ('/a"<>^`{x}|\\', "/a%22%3C%3E%5E%60{x}%7C%5C"),
        ("/#Action=X", "/"),
    ],
)
def test_literal_text_of_a_path_is_encoded_once(template: str, wire: str) -> None:
    (found,) = listed(document({template: {"get": {}}}))
    assert (found.path, found.wire_path) == (template, wire)


def test_operations_that_only_a_fragment_tells_apart_are_kept_and_say_so() -> None:
    found = listed(document({f"/#Action={name}": {"get": {"operationId": name}} for name in ("A", "B")}))
    assert [(entry.operation_id, entry.wire_path) for entry in found] == [("A", "/"), ("B", "/")]
    assert all("`#Action=" in entry.losses[0] for entry in found)
    assert found[0].parameters == ()


@pytest.mark.parametrize("parameters", ["x", {}, [None], ["x", 3]])
def test_parameters_that_are_none_degrade(parameters: object) -> None:
    (found,) = listed(document({"/a": {"get": {"parameters": parameters}}}))
    assert found.parameters == ()
    assert len(found.losses) == 1


def test_a_parameter_described_twice_in_one_list_is_said() -> None:
    item = {"parameters": [query("a")], "get": operation(query("a"), query("b"), query("b", {"type": "integer"}))}
    (found,) = listed(document({"/a": item}))
    assert found.losses == ("The query parameter `b` is described twice; the last description holds.",)
    assert [(p.name, p.schema) for p in found.parameters] == [("a", {"type": "string"}), ("b", {"type": "integer"})]


def test_what_a_conversion_lost_is_said() -> None:
    made = operation({**query("ids"), "x-practicum-losses": ["one"]}) | {"x-practicum-losses": ["two"]}
    (found,) = listed(document({"/a": {"get": made}}))
    assert found.losses == ("two", "one")


@pytest.mark.parametrize(
    ("broken", "operations"),
    [
        (
            operation(query("a"), {"$ref": "#/components/parameters/Absent"}),
            [{"op": "remove", "path": "/paths/~1a/post/parameters/1"}],
        ),
        ({"requestBody": {"$ref": "other.json"}}, [{"op": "remove", "path": "/paths/~1a/post/requestBody"}]),
        ({"parameters": [{"$ref": "#/components/parameters/Loop"}]}, []),
    ],
)
def test_the_way_out_of_a_broken_reference_is_known(broken: Json, operations: list[Json]) -> None:
    source = document(
        {"/a": {"post": broken}}, components={"parameters": {"Loop": {"$ref": "#/components/parameters/Loop"}}}
    )
    (found,) = list_operations(load_document(source))
    assert isinstance(found, Unreadable)
    assert list(found.mend) == operations
    if operations:
        mended, _ = apply_overlay(source, operations)
        assert all(isinstance(entry, Operation) for entry in list_operations(load_document(dict(mended))))


def test_the_way_out_of_a_missing_schema_adds_one() -> None:
    pointers = load_document(document({}, components={})).pointers
    with pytest.raises(BrokenReferenceError) as caught:
        pointers.at("#/components/schemas/a~1b")
    assert list(caught.value.operations) == [
        {"op": "add", "path": "/components/schemas", "value": {}},
        {"op": "add", "path": "/components/schemas/a~1b", "value": {}},
    ]
    for reference in ("#/paths/~1a", "#/components/schemas/A/properties/b", "other.json#/A", "#name"):
        with pytest.raises(BrokenReferenceError) as caught:
            pointers.at(reference)
        assert caught.value.operations == ()
