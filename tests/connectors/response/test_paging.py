"""The next page, over the habits of many systems."""

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


def following(connector: CompiledConnector, arguments: Json, value: Any, link: str | None = None) -> Any:
    plan = connector.prepare("crm_act", arguments).plan
    response = HttpResponse(200, (("link", link),) if link else ())
    return find_paging(plan, arguments, response, value).next


CASES: list[tuple[list[Json], Json, Any, str | None, Any]] = [
    (
        [PAGE, query("q")],
        {"q": "x"},
        ITEMS,
        '<https://h/things?q=x&page=2>; rel="next", <https://h/things?page=9>; rel="last"',
        {"q": "x", "page": 2},
    ),
    ([PAGE, query("q")], {"page": 9}, ITEMS, '<https://h/things?page=8>; rel="prev"', None),
    ([PAGE], {}, ITEMS, "<https://h/things?after=zz>; rel=next", None),
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
    ([PAGE, SIZE], {}, ITEMS, None, None),
    ([query("q")], {}, {"next_cursor": "abc"}, None, None),
    ([PAGE], {}, {"id": 1, "name": "x", "total": 30}, None, None),
    ([PAGE], {}, "text", None, None),
]


@pytest.mark.parametrize(("parameters", "arguments", "value", "link", "expected"), CASES)
def test_next(parameters: list[Json], arguments: Json, value: Any, link: str | None, expected: Any) -> None:
    assert following(listing(*parameters), arguments, value, link) == expected
