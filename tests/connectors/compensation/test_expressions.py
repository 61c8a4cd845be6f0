"""Runtime expressions: what they come to, and that nothing that a document or a system writes breaks them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum_connectors.compensation.expressions import Made, NowhereError, broken, needs_answer, value_of
from practicum_connectors.connector import CompiledConnector
from practicum_connectors.exchange import HttpResponse
from tests.connectors.documents import compiled, document, header, operation, path, query

BODY = {"type": "object", "properties": {"name": {"type": "string"}, "owner": {"type": "object"}}}
CONNECTOR: CompiledConnector = compiled(
    document({"/shops/{shop}/things": {"post": operation(path("shop"), query("dry"), header("X-Unit"), body=BODY)}})
)
PLAN = CONNECTOR.prepare("crm_act", {"shop": "s"}).plan
ANSWER = HttpResponse(201, (("location", "/things/7"), ("x-id", "9")), b"{}")
MADE = Made(
    PLAN,
    {"shop": "s1", "X-Unit": "kg", "name": "a", "owner": {"id": 3}},
    "http://host/shops/s1/things",
    ANSWER,
    {"id": 7, "tags": ["x", {"y": None}], "a/b": {"c~d": 1}},
)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("$response.body#/id", 7),
        ("{$response.body#/id}", 7),
        ("id-{$response.body#/id}-{$request.path.shop}", "id-7-s1"),
        ("$response.body#/tags/0", "x"),
        ("$response.body#/a~1b/c~0d", 1),
        ("$response.header.X-Id", "9"),
        ("$request.path.shop", "s1"),
        ("$request.header.x-unit", "kg"),
        ("$request.body#/owner/id", 3),
        ("$request.body", {"name": "a", "owner": {"id": 3}}),
        ("$method", "POST"),
        ("$statusCode", 201),
        ({"a": ["$request.path.shop", 1, True, "plain"]}, {"a": ["s1", 1, True, "plain"]}),
    ],
)
def test_values(template: Any, value: Any) -> None:
    assert value_of(template, MADE) == value
    assert broken(template) is None


@pytest.mark.parametrize(
    "template",
    [
        "$response.body#/gone",
        "$response.body#/tags/9",
        "$response.body#/tags/-1",
        "$response.body#/tags/1/y",
        "$response.body#id",
        "$response.header.gone",
        "$request.query.dry",
        "$request.path.gone",
        "$request.cookie.session",
        "$url",
        "$inputs.name",
        "$",
        "x{$response.body#/tags}",
        ["ok", {"x": "$response.body#/gone"}],
    ],
)
def test_what_points_nowhere_has_no_value(template: Any) -> None:
    with pytest.raises(NowhereError):
        value_of(template, MADE)


def test_while_a_call_is_in_doubt_nothing_of_its_answer_is_known() -> None:
    doubtful = Made(PLAN, MADE.arguments)
    assert value_of("$request.path.shop", doubtful) == "s1"
    for template in ("$response.body#/id", "$response.body", "$response.header.x-id", "$statusCode"):
        assert needs_answer(template)
        with pytest.raises(NowhereError):
            value_of(template, doubtful)


def test_nesting_has_an_end() -> None:
    deep: Any = "$method"
    for _ in range(150):
        deep = [deep]
    assert broken(deep) is not None
    with pytest.raises(NowhereError):
        value_of(deep, MADE)


def test_what_no_offer_could_hold_is_not_put_together() -> None:
    body: Any = {"x": "y" * 6000, "z": [1] * 6000}
    much = Made(PLAN, MADE.arguments, MADE.url, ANSWER, body)
    assert value_of("$response.body#/x", much) == "y" * 6000
    templates: list[Any] = ["{$response.body#/x}" * 2, ["$response.body#/z"]]
    for template in templates:
        with pytest.raises(NowhereError):
            value_of(template, much)


_PARTS = st.sampled_from(["$", "response", "request", ".", "body", "#", "/", "{", "}", "id", "tags", "0", "~1", "%"])
_TEMPLATES = st.recursive(
    st.lists(_PARTS, max_size=8).map("".join) | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    _TEMPLATES, st.recursive(st.text() | st.integers() | st.none(), lambda i: st.lists(i) | st.dictionaries(_PARTS, i))
)
def test_no_template_and_no_answer_breaks_it(template: Any, body: Any) -> None:
    broken(template)
    try:
        value_of(template, Made(PLAN, MADE.arguments, MADE.url, ANSWER, body))
    except NowhereError:
        return
