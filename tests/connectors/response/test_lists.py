"""Which list an answer is about."""

from typing import Any

import pytest

from practicum_connectors.response.json_values import parse_beginning
from practicum_connectors.response.lists import find_list, list_at, put_list
from tests.connectors.documents import Json

A: Json = {"id": 1}
B: Json = {"id": 2}


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ([A, B], ()),
        ([], ()),
        ({"things": [A, B], "total": 2}, ("things",)),
        ({"data": {"orders": [A, B]}}, ("data", "orders")),
        ({"data": [A], "links": [A, B]}, ("data",)),
        ({"items": [], "warnings": [A]}, ("items",)),
        ({"fields": ["a", "b", "c"], "orders": [A]}, ("orders",)),
        ({"orders": [A, B], "meta": {"orders": [A, B]}}, ("orders",)),
        ({"data": {"more": {"items": [A]}}}, None),
        ({"id": 1}, None),
        ("text", None),
    ],
)
def test_the_list_of_an_answer(value: Any, at: tuple[str, ...] | None) -> None:
    found = find_list(value)
    assert (found and found.at) == at
    if found is not None:
        assert list_at(value, found.at) == found.items
        assert list_at(put_list(value, found.at, [A]), found.at) == [A]


def test_what_else_is_in_the_answer_stays() -> None:
    assert put_list({"a": {"b": [1], "c": 2}, "d": 3}, ("a", "b"), []) == {"a": {"b": [], "c": 2}, "d": 3}


@pytest.mark.parametrize("at", [("x",), ("a",), ("a", "b", "c")])
def test_no_list_at_a_place(at: tuple[str, ...]) -> None:
    assert list_at({"a": {"b": [1]}}, at) is None


WHOLE = '{"items": [{"a": "x,]\\"}"}, {"a": [1, {"b": null}]}], "n": 12}'


@pytest.mark.parametrize("length", range(1, len(WHOLE) + 1))
def test_the_beginning_of_json_is_json(length: int) -> None:
    found = parse_beginning(WHOLE[:length])
    assert found is not None
    assert isinstance(found.value, dict)
    assert set(found.value) <= {"items", "n"}
    if length > 27:
        items: Any = found.value["items"]
        assert items[0] == {"a": 'x,]"}'}


@pytest.mark.parametrize("text", ["", "tr", '"ab', "<a>", "[1}"])
def test_what_begins_no_json(text: str) -> None:
    assert parse_beginning(text) is None
