"""The proof before sending must be able to fail: requests that were built wrongly are caught."""

from dataclasses import replace

import pytest

from practicum.contracts.base import JsonObject
from practicum.errors import CallError
from practicum_connectors import HttpRequest
from practicum_connectors.request.check import RequestCheck
from practicum_connectors.request.views import SchemaView
from tests.connectors.documents import compiled, document, header, operation, path, query

BODY = {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}
MADE = operation(
    path("id", {"type": "integer"}),
    query("tags", {"type": "array", "items": {"type": "string"}}),
    header("X-T", required=True),
    body=BODY,
)
ARGUMENTS: JsonObject = {"id": 7, "tags": ["x", "y"], "X-T": "t", "a": 1}
PREPARED = compiled(document({"/t/{id}": {"post": MADE}})).prepare("crm_act", ARGUMENTS)
GOOD = PREPARED.request
VIEW = SchemaView({})


def check(request: HttpRequest) -> None:
    sent = {key: ARGUMENTS[key] for key in ("id", "tags", "X-T")}
    RequestCheck(PREPARED.plan, "http://127.0.0.1:1", VIEW).check(request, sent, {"a": 1}, has_body=True)


def test_the_right_request_passes() -> None:
    check(GOOD)


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        (replace(GOOD, url=GOOD.url.replace("/7", "/8")), "id"),
        (replace(GOOD, url=GOOD.url.replace("/7", "/seven")), "id"),
        (replace(GOOD, url=GOOD.url.replace("/t/", "/u/")), "t"),
        (replace(GOOD, url=GOOD.url.replace("tags=x&tags=y", "tags=x,y")), "tags"),
        (replace(GOOD, url=GOOD.url.partition("?")[0]), "tags"),
        (GOOD.with_header("X-T", "other"), "X-T"),
        (replace(GOOD, headers=tuple(pair for pair in GOOD.headers if pair[0] != "X-T")), "X-T"),
        (replace(GOOD, body=b'{"a": 2}'), "a: does not arrive"),
        (replace(GOOD, body=b'{"a": "1"}'), "body"),
        (replace(GOOD, body=b"{"), "body"),
        (replace(GOOD, body=None), "body"),
        (GOOD.with_header("Content-Type", "text/plain"), "body"),
        (replace(GOOD, method="PUT"), "PUT"),
    ],
)
def test_a_wrong_request_is_caught(request_: HttpRequest, where: str) -> None:
    with pytest.raises(CallError) as caught:
        check(request_)
    assert where.lower() in str(caught.value).lower()
