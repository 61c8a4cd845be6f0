"""The next page, over the habits of many systems."""

from dataclasses import replace
from typing import Any

import pytest

from practicum_connectors import HttpResponse
from practicum_connectors.connector import CompiledConnector
from practicum_connectors.response.paging import find_paging
from tests.connectors.documents import Json, compiled, document, operation, query

INTEGER = {"type": "integer"}
PAGE, SIZE = query("page", {"type": "integer", "default": 1}), query("per_page", {"type": "integer", "default": 2})
ITEMS = [{"id": 1}, {"id": 2}]


def listing(*parameters: Json) -> CompiledConnector:
    return compiled(document({"/things": {"get": operation(*parameters)}}))


def following(connector: CompiledConnector, arguments: Json, value: Any, headers: Any = (), query: Any = None) -> Any:
    """The arguments of the next page, its query where no arguments say it, None where there is none."""
    prepared = replace(connector.prepare("crm_act", arguments), query=query)
    step = find_paging(prepared, HttpResponse(200, tuple(headers)), value).step
    if step is None or step.query is None:
        return step and step.arguments
    assert step.arguments == arguments
    return step.query


CASES: list[tuple[list[Json], Json, Any, str | None, Any]] = [
    (
        [PAGE, query("q")],
        {"q": "x"},
        ITEMS,
        '<https://h/things?q=x&page=2>; rel="next", <https://h/things?page=9>; rel="last"',
        {"q": "x", "page": 2},
    ),
    ([PAGE, query("q")], {"page": 9}, ITEMS, '<https://h/things?page=8>; rel="prev"', None),
    ([PAGE], {}, ITEMS, "<https://h/things?after=zz>; rel=next", "after=zz"),
    ([PAGE], {}, ITEMS, "<https://h/others?after=zz>; rel=next", None),
    ([PAGE], {}, ITEMS, "<https://h/api/v2/things?after=a%20b&$top=2&key=[redacted]>; rel=next", "after=a%20b&$top=2"),
    ([query("ids", {"type": "array"})], {}, ITEMS, "<?ids=1&ids=2&at=3>; rel=next", "ids=1&ids=2&at=3"),
    ([query("cursor")], {}, {"items": ITEMS, "next_cursor": "abc"}, None, {"cursor": "abc"}),
    ([query("cursor")], {"cursor": "abc"}, {"items": [], "next_cursor": None}, None, None),
    ([query("cursor")], {"cursor": "abc"}, {"items": [], "next_cursor": ""}, None, None),
    (
        [query("cursor")],
        {},
        {"ok": True, "response_metadata": {"next_cursor": "dXNlcg=="}},
        None,
        {"cursor": "dXNlcg=="},
    ),
    ([query("pageToken")], {}, {"nextPageToken": "t1"}, None, {"pageToken": "t1"}),
    ([query("after")], {}, {"pageInfo": {"endCursor": "c", "hasNextPage": True}}, None, {"after": "c"}),
    ([query("after")], {}, {"pageInfo": {"endCursor": "c", "hasNextPage": False}}, None, None),
    ([PAGE], {}, {"results": ITEMS, "next": "http://h/things?page=2", "previous": None}, None, {"page": 2}),
    ([PAGE], {"page": 2}, {"results": ITEMS, "next": None}, None, None),
    ([PAGE], {}, {"_links": {"next": {"href": "/things?page=2"}}, "items": ITEMS}, None, {"page": 2}),
    ([PAGE], {}, {"items": ITEMS, "page": 1, "next_page": 2}, None, {"page": 2}),
    ([PAGE, SIZE], {}, {"items": ITEMS, "total": 5}, None, {"page": 2}),
    ([PAGE, SIZE], {"page": 3}, {"items": ITEMS[:1], "total": 5}, None, None),
    ([PAGE], {"page": 2}, {"items": ITEMS, "total_pages": 3}, None, {"page": 3}),
    ([PAGE], {"page": 3}, {"items": ITEMS, "meta": {"total_pages": 3}}, None, None),
    ([PAGE], {}, {"items": ITEMS, "has_more": True}, None, {"page": 2}),
    ([query("page", {"type": "integer", "default": 0}), SIZE], {"page": 1}, {"items": ITEMS, "total": 4}, None, None),
    ([query("offset", INTEGER)], {}, {"items": ITEMS, "total": 5}, None, {"offset": 2}),
    ([query("offset", INTEGER)], {"offset": 4}, {"items": ITEMS[:1], "total": 5}, None, None),
    ([query("startAt", INTEGER)], {"startAt": 50}, {"issues": ITEMS, "total": 60}, None, {"startAt": 52}),
    ([PAGE, SIZE], {}, ITEMS, None, {"page": 2}),
    ([PAGE, SIZE], {}, ITEMS[:1], None, None),
    ([PAGE, SIZE], {}, [], None, None),
    ([PAGE, SIZE], {"per_page": 1}, ITEMS, None, {"per_page": 1, "page": 2}),
    ([PAGE, SIZE], {"page": 2}, {"results": ITEMS, "next": None}, None, None),
    ([PAGE], {}, ITEMS, None, None),
    ([PAGE], {}, ITEMS * 10, None, {"page": 2}),
    ([query("offset", INTEGER)], {"offset": 20}, ITEMS * 10, None, {"offset": 40}),
    ([query("q")], {}, ITEMS * 10, None, None),
    ([query("page")], {"page": "abc"}, ITEMS * 10, None, None),
    ([query("page")], {"page": "3"}, ITEMS * 10, None, {"page": "4"}),
    ([query("from", {"type": "string", "format": "date"})], {}, {"items": ITEMS, "total": 9}, None, None),
    ([query("q")], {}, {"next_cursor": "abc"}, None, None),
    ([query("starting_after")], {}, {"data": ITEMS, "has_more": True}, None, {"starting_after": "2"}),
    ([query("starting_after")], {}, {"data": ITEMS, "has_more": False}, None, None),
    ([query("starting_after")], {}, {"data": ITEMS}, None, None),
    ([query("starting_after")], {}, {"data": [], "has_more": True}, None, None),
    ([query("after_id")], {}, {"data": ITEMS, "last_id": "x", "has_more": True}, None, {"after_id": "x"}),
    ([query("continue")], {}, {"metadata": {"continue": "t"}, "items": ITEMS}, None, {"continue": "t"}),
    ([query("continue")], {}, {"metadata": {"continue": ""}, "items": ITEMS}, None, None),
    ([query("cursor")], {}, {"items": ITEMS, "cursor": "c"}, None, {"cursor": "c"}),
    ([query("cursor")], {"cursor": "c"}, {"items": ITEMS, "cursor": "c"}, None, None),
    ([query("cursor")], {"cursor": "c"}, {"cursor": "c", "next_cursor": "d"}, None, {"cursor": "d"}),
    ([query("page[after]")], {}, {"meta": {"has_more": True, "after_cursor": "z"}}, None, {"page_after": "z"}),
    ([query("offset")], {}, {"data": ITEMS, "next_page": {"uri": "/t?offset=e"}}, None, {"offset": "e"}),
    ([query("PageToken")], {}, {"next_page_uri": "/t.json?PageToken=a&Page=1"}, None, None),
    ([query("after")], {}, {"paging": {"next": {"after": "c", "link": "?after=c"}}}, None, {"after": "c"}),
    (
        [query("$top", INTEGER)],
        {"top": 2},
        {"value": ITEMS, "@odata.nextLink": "https://h/v1/things?$top=2&$skiptoken=X'1'"},
        None,
        "$top=2&$skiptoken=X'1'",
    ),
    ([query("$skip", INTEGER)], {}, {"value": ITEMS, "@odata.nextLink": "things?$skip=2"}, None, {"skip": 2}),
    ([query("$skip", INTEGER)], {}, {"value": ITEMS, "@odata.nextLink": "users?$x=2"}, None, None),
    ([PAGE], {}, {"id": 1, "name": "x", "total": 30}, None, None),
    ([PAGE], {}, "text", None, None),
]


@pytest.mark.parametrize(("parameters", "arguments", "value", "link", "expected"), CASES)
def test_next(parameters: list[Json], arguments: Json, value: Any, link: str | None, expected: Any) -> None:
    headers = (("link", link),) if link else ()
    assert following(listing(*parameters), arguments, value, headers) == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([("x-next-page", "2")], {"page": 2}),
        ([("x-next-page", "")], None),
        ([("x-total-pages", "3")], {"page": 2}),
        ([("x-total-pages", "1")], None),
        ([("x-total-count", "5")], {"page": 2}),
        ([("x-total", "2")], None),
        ([("x-pagination-total-count", "3")], {"page": 2}),
        ([("content-range", "items 0-1/5")], {"page": 2}),
        ([("content-range", "items 0-1/2")], None),
        ([("content-range", "items 0-1/*")], {"page": 2}),
        ([("x-request-id", "7")], {"page": 2}),
    ],
)
def test_what_headers_say_comes_before_the_length_of_the_page(headers: Any, expected: Any) -> None:
    assert following(listing(PAGE, SIZE), {}, ITEMS, headers) == expected


BODY: Json = {
    "type": "object",
    "properties": {
        "flows": {"type": "object"},
        "limit": INTEGER,
        "offset": {"type": "integer", "minimum": 0, "default": 0},
    },
}


@pytest.mark.parametrize(
    ("extra", "arguments", "value", "expected"),
    [
        ({}, {"limit": 2}, ITEMS, {"limit": 2, "offset": 2}),
        ({}, {"limit": 2, "offset": 2}, ITEMS[:1], None),
        ({}, {}, ITEMS * 100, {"offset": 200}),
        ({}, {}, ITEMS, None),
        ({}, {}, {"results": ITEMS, "total": 4}, {"offset": 2}),
        ({"additionalProperties": True}, {"body": {"limit": 2}}, ITEMS, {"body": {"limit": 2, "offset": 2}}),
    ],
)
def test_pages_asked_for_in_the_body(extra: Json, arguments: Json, value: Any, expected: Any) -> None:
    made = operation(body={**BODY, **extra}, required=False)
    connector = compiled(document({"/flows/filter": {"post": made}}))
    assert following(connector, arguments, value) == expected


def test_page_numbers_in_the_body() -> None:
    made = operation(body={"type": "object", "properties": {"page": INTEGER, "limit": INTEGER}}, required=False)
    connector = compiled(document({"/flows/paginate": {"post": made}}))
    answer = {"results": ITEMS, "count": 3, "limit": 2, "pages": 2, "page": 1}
    assert following(connector, {"limit": 2}, answer) == {"limit": 2, "page": 2}
    assert following(connector, {"limit": 2, "page": 2}, {**answer, "page": 2}) is None


def test_after_a_link_only_links_lead_on() -> None:
    connector = listing(PAGE, SIZE)
    assert following(connector, {}, ITEMS, query="after=a") is None
    assert following(connector, {}, ITEMS, [("link", "<?after=a>; rel=next")], query="after=a") is None
    assert following(connector, {}, ITEMS, [("link", "<?after=b>; rel=next")], query="after=a") == "after=b"
