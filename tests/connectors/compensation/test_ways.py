"""Which call undoes another: stated, linked, or plain from the document; never a guess."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum.contracts.connectors import ApiKeyAuth
from practicum.contracts.tools import Compensation
from practicum_connectors import CompiledConnector
from practicum_connectors.calls import Sent
from practicum_connectors.document.operations import VARIABLE
from practicum_connectors.exchange import Delivery, HttpResponse
from tests.connectors.documents import Json, compiled, document, operation, path

NUMBER: Json = {"type": "integer"}
THING: Json = {"type": "object", "properties": {"name": {"type": "string"}, "id": NUMBER}}


def post(links: Json | None = None, status: str = "201", **rest: Any) -> Json:
    responses: Json = {status: {"description": "made", **({} if links is None else {"links": links})}}
    return operation(operationId="addThing", body=THING, responses=responses, **rest)


def delete(*parameters: Json, **rest: Any) -> Json:
    return operation(*(parameters or (path("id", NUMBER),)), operationId="removeThing", **rest)


def shop(post_: Json, delete_: Json | None = None, more: Json | None = None) -> Json:
    return document({"/things": {"post": post_}, "/things/{id}": {"delete": delete_ or delete()}, **(more or {})})


def offer(
    made: Json | CompiledConnector,
    answer: Any = None,
    *,
    status: int = 201,
    location: str | None = None,
    arguments: Json | None = None,
    lost: bool = False,
) -> Compensation | None:
    """What is offered after a call of `addThing`."""
    connector = made if isinstance(made, CompiledConnector) else compiled(made)
    name = next(name for name, tool in connector.tools.items() if tool.operation in {"addThing", "add_thing"})
    prepared = connector.prepare(name, {"name": "x"} if arguments is None else arguments)
    headers = (("content-type", "application/json"), *((("location", location),) if location else ()))
    body = b"" if answer is None else json.dumps(answer).encode()
    response = None if lost else HttpResponse(status, headers, body)
    sent = Sent(prepared, Delivery.LOST if lost else Delivery.ANSWERED, response, None, None, 0.1)
    return connector.observe(sent).compensation


def removing(value: Any) -> Compensation:
    return Compensation(tool="crm_removeThing", arguments={"id": value})


@pytest.mark.parametrize(
    ("answer", "more", "value"),
    [
        ({"id": 7}, {}, 7),
        ({"id": "7"}, {}, 7),
        (None, {"location": "/things/7"}, 7),
        (None, {"location": "http://127.0.0.1:1/things/7/"}, 7),
        ({"id": 7}, {"location": "/things/7"}, 7),
        ({"id": 7}, {"location": "/things/8"}, 8),  # the address of the thing says what it is called there
        ({"id": 7}, {"location": "/jobs/7"}, None),
        ({"id": 7}, {"location": "http://elsewhere/things/7"}, None),
        (None, {"location": "/things/7/parts"}, None),
        (None, {"location": "http://[/things/7"}, None),
        ({"id": "seven"}, {}, None),
        ({"id": None}, {}, None),
        ({"id": True}, {}, None),
        ({"id": {"a": 1}}, {}, None),
        ({"data": {"id": 7}}, {}, None),
        ([{"id": 7}], {}, None),
        ({"id": 7}, {"status": 200}, None),
        ({"id": 7}, {"status": 202}, None),
        ({"id": 7}, {"status": 409}, None),
        ({"id": 7}, {"lost": True}, None),
        ({"id": 7}, {"status": 500}, None),
    ],
)
def test_a_thing_that_was_made_is_removed_by_its_name(answer: Any, more: Json, value: int | None) -> None:
    assert offer(shop(post()), answer, **more) == (None if value is None else removing(value))


def test_only_where_one_delete_needs_nothing_else_and_one_name_fits() -> None:
    strict = delete(path("id", NUMBER), {"name": "If-Match", "in": "header", "required": True, "schema": {}})
    assert offer(shop(post(), strict), {"id": 7}) is None
    assert offer(document({"/things": {"post": post()}}), {"id": 7}) is None
    assert offer(shop(post(None, "201", **{"x-practicum": {"effect": "money"}})), {"id": 7}) is None
    named = document({"/things": {"post": post()}, "/things/{key}": {"delete": delete(path("key"))}})
    assert offer(named, {"key": "a", "id": 7}) is None
    assert offer(named, {"key": "a"}) == Compensation(tool="crm_removeThing", arguments={"key": "a"})
    assert offer(named, {"id": 7}) == Compensation(tool="crm_removeThing", arguments={"key": "7"})
    assert offer(shop(post(), delete(**{"x-practicum": {"hide": True}})), {"id": 7}) is None


def test_what_stands_above_it_comes_from_the_request() -> None:
    made = document(
        {
            "/shops/{shop}/things": {"post": {**post(), "parameters": [path("shop")]}},
            "/shops/{shop_id}/things/{id}": {"delete": delete(path("shop_id"), path("id", NUMBER))},
        }
    )
    assert offer(made, {"id": 7}, arguments={"shop": "s", "name": "x"}) == Compensation(
        tool="crm_removeThing", arguments={"shop_id": "s", "id": 7}
    )


LINK: Json = {"operationId": "removeThing", "parameters": {"id": "$response.body#/made/id"}}
REF: Json = {"operationRef": "#/paths/~1things~1{id}/delete", "parameters": {"path.id": "$response.body#/made/id"}}


@pytest.mark.parametrize("link", [LINK, REF])
def test_a_link_to_the_delete_of_what_was_made(link: Json) -> None:
    assert offer(shop(post({"undo": link})), {"made": {"id": 7}}) == removing(7)
    assert offer(shop(post({"undo": link}, "2XX")), {"made": {"id": 7}}, status=200) == removing(7)
    assert offer(shop(post({"undo": link})), {"id": 7}) is None  # what the link says holds


@pytest.mark.parametrize(
    "links",
    [
        {"a": LINK, "b": LINK},
        {"a": {**LINK, "server": {"url": "http://elsewhere"}}},
        {"a": {**LINK, "parameters": {"id": 1}}},
        {"a": {**LINK, "parameters": {"id": "$request.body#/id"}}},
        {"a": {**LINK, "parameters": {"nothing": "$response.body#/made/id"}}},
        {"a": {**LINK, "operationId": "gone"}},
        {"a": {"operationRef": "http://elsewhere/openapi.json#/paths/~1things/delete"}},
        {"a": {"$ref": "#/components/links/gone"}},
        {"a": 7},
        {"a": {"operationId": "removeShop", "parameters": {"shop": "$response.body#/made/id"}}},
    ],
)
def test_other_links_are_no_way_back(links: Json) -> None:
    more = {"/shops/{shop}": {"delete": operation(path("shop", NUMBER), operationId="removeShop")}}
    assert offer(shop(post(links, "200"), more=more), {"made": {"id": 7}}, status=200) is None


def test_a_marked_link_leads_anywhere() -> None:
    restore = operation(path("id", NUMBER), operationId="restore", body=THING)
    more = {"/things/{id}/restored": {"post": restore}}
    for mark in ({"x-practicum-compensation": True}, {"x-practicum": {"compensation": True}}):
        link: Json = {"operationId": "restore", "parameters": {"path.id": "$request.body#/id"}, **mark}
        link["requestBody"] = {"name": "$request.body#/name"}
        found = offer(shop(post({"undo": link}), more=more), arguments={"id": 4, "name": "x"}, lost=True)
        assert found == Compensation(tool="crm_restore", arguments={"id": 4, "body": {"name": "x"}})


def stated(said: Any, **rest: Any) -> Json:
    return shop(post(None, "200", **{"x-practicum-compensation": said}, **rest))


@pytest.mark.parametrize("named", ["removeThing", "DELETE /things/{id}", "delete /things/{id}"])
def test_what_the_operation_states(named: str) -> None:
    made = stated({"operation": named, "arguments": {"id": "$response.body#/new/id"}})
    assert offer(made, {"new": {"id": 7}}, status=200) == removing(7)
    assert offer(made, {"id": 7}, status=200) is None
    assert offer(made, lost=True) is None
    known = stated({"operation": named, "arguments": {"id": "$request.body#/id"}})
    assert offer(known, lost=True, arguments={"id": 5}) == removing(5)
    assert offer(known, {}, status=500, arguments={"id": 5}) == removing(5)
    assert offer(known, lost=True) is None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"operation": "gone", "arguments": {}}, "`gone` is no operation"),
        ({"operation": "removeThing", "arguments": {"key": 1}}, "takes no `key`"),
        ({"operation": "removeThing", "arguments": {}}, "needs id as well"),
        ({"operation": "removeThing", "arguments": {"id": "$answer.id"}}, "`$answer.id` is no expression"),
        ("removeThing", "it names none"),
        (True, "it names none"),
    ],
)
def test_what_is_stated_wrongly_is_said_and_not_replaced_by_a_guess(said: Any, why: str) -> None:
    connector = compiled(stated(said))
    (note,) = [note for one in connector.report for note in one.notes]
    assert why in note
    assert offer(connector, {"id": 7}) is None


def test_an_operation_can_say_that_nothing_undoes_it() -> None:
    made = shop(post(None, "201", **{"x-practicum": {"compensation": False}}))
    assert offer(made, {"id": 7}) is None
    assert not [note for one in compiled(made).report for note in one.notes]


def test_a_value_that_is_kept_secret_makes_no_offer() -> None:
    keyed = document({"/things": {"post": post()}, "/things/{id}": {"delete": delete(path("id"))}})
    connector = compiled(keyed, auth=ApiKeyAuth(value="s3cret-key", name="X-Key", location="header"))
    assert offer(connector, {"id": "s3cret-key"}) is None
    assert offer(connector, {"id": "[redacted]"}) is None
    assert offer(connector, {"id": "\ud800"}) is None
    assert offer(connector, {"id": "x" * 3000}) is None
    assert offer(connector, {"id": "free"}) is not None


def test_more_links_than_anybody_writes_are_not_looked_at() -> None:
    undo: Json = {"operationId": "removeThing", "parameters": {"id": "$response.body#/id"}}
    others: Json = {f"l{number}": {"operationId": "addThing"} for number in range(199)}
    assert offer(shop(post({"undo": undo, **others})), {"id": 7}) == removing(7)
    assert offer(shop(post({"undo": undo, **others, "one more": {}})), {"id": 7}) is None


def test_a_document_that_goes_in_circles() -> None:
    circle: Json = {"$ref": "#/components/links/a"}
    made = shop(post({"x": circle}, "200"))
    made["components"] = {"links": {"a": circle}, "responses": {"r": {"$ref": "#/components/responses/r"}}}
    assert offer(made, {"id": 7}, status=200) is None
    made["paths"]["/things"]["post"]["responses"] = {"200": {"$ref": "#/components/responses/r"}}
    assert offer(made, {"id": 7}, status=200) is None


@pytest.mark.parametrize(
    ("collection", "item"),
    [
        ("/things", "/things/{}"),
        ("/things/{}", "/things/{}/{id}"),
        ("/shops/{shop}/things", "/shops/{shop}/things/{}"),
        ("/things#new", "/things#new/{id}"),
    ],
)
def test_a_path_with_braces_that_name_nothing_loses_no_answer(collection: str, item: str) -> None:
    links: Json = {"a": {"operationId": "removeThing", "parameters": {"id": "$response.body#/id"}}}
    for made in (post(), post(links)):
        connector = compiled(
            document({collection: {"post": made}, item: {"delete": operation(operationId="removeThing")}})
        )
        found = offer(connector, {"id": 7}, arguments=dict.fromkeys(["name", *VARIABLE.findall(collection)], "x"))
        assert found is None or found.arguments == {"id": "7"}


_JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from(["removeThing", "$response.body#/id", "#/paths", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["operation", "operationId", "operationRef", "arguments", "parameters", "requestBody", "id", "$ref"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(_JUNK, _JUNK, _JUNK)
def test_no_document_breaks_it(links: Any, said: Any, answer: Any) -> None:
    made = shop(post(None, "201", **{"x-practicum-compensation": said}))
    made["paths"]["/things"]["post"]["responses"]["201"]["links"] = links
    connector = compiled(made)
    if any(tool.operation == "addThing" for tool in connector.tools.values()):
        found = offer(connector, answer)
        assert found is None or found.tool in connector.tools
