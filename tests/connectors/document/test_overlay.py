"""Overlay 1.0 and the JSONPath it needs."""

import copy
from typing import Any

import pytest

from practicum.errors import DocumentError
from practicum_connectors.document.jsonpath import parse_path
from practicum_connectors.document.overlay import apply_overlay

BOOKS: Any = {
    "store": {
        "book": [
            {"category": "reference", "title": "Sayings", "price": 8.95},
            {"category": "fiction", "title": "Sword", "price": 12.99, "isbn": None},
            {"category": "fiction", "title": "Moby Dick", "price": 8.99},
        ],
        "odd names": {"a.b": 1, "c'd": 2},
    },
    "wanted": "fiction",
}


@pytest.mark.parametrize(
    ("path", "places"),
    [
        ("$", [()]),
        ("$.wanted", [("wanted",)]),
        ("$.absent", []),
        ("$.store.book[0].title", [("store", "book", 0, "title")]),
        ("$['store'][\"book\"][-1]['title']", [("store", "book", 2, "title")]),
        ("$.store.book[9]", []),
        ("$.store.book[*].title", [("store", "book", n, "title") for n in range(3)]),
        ("$.store.book[1:]", [("store", "book", 1), ("store", "book", 2)]),
        ("$.store.book[::-2]", [("store", "book", 2), ("store", "book", 0)]),
        ("$.store.book[2, 0]", [("store", "book", 2), ("store", "book", 0)]),
        ("$..isbn", [("store", "book", 1, "isbn")]),
        ("$..book[0]", [("store", "book", 0)]),
        ("$..['a.b', 'c\\'d']", [("store", "odd names", "a.b"), ("store", "odd names", "c'd")]),
        ("$.store['odd names'].*", [("store", "odd names", "a.b"), ("store", "odd names", "c'd")]),
        ("$.store.book[?@.isbn]", [("store", "book", 1)]),
        ("$.store.book[?(@.isbn == null)]", [("store", "book", 1)]),
        ("$.store.book[?!@.isbn]", [("store", "book", 0), ("store", "book", 2)]),
        ("$.store.book[?@.category == 'fiction' && @.price < 10]", [("store", "book", 2)]),
        (
            "$.store.book[?@.price < 8.96 || (@.price > 12)]",
            [("store", "book", 0), ("store", "book", 1)],
        ),
        ("$.store.book[?@.category == $.wanted].title", [("store", "book", n, "title") for n in (1, 2)]),
        ("$.store.book[?@['title'] >= 'Sa'][?@ == 12.99]", [("store", "book", 1, "price")]),
        ("$.store.book[?@.title < 5]", []),
        ("$..[?@.category == 'reference']", [("store", "book", 0)]),
    ],
)
def test_a_path_selects(path: str, places: list[Any]) -> None:
    assert parse_path(path).find(BOOKS) == places


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("store.book", "missing"),
        ("$.store[", "no selector"),
        ("$.store[?length(@.a) > 1]", "`length` is not supported"),
        ("$.store[?'a']", "stands alone"),
        ("$.a b", "goes on after its end"),
        ("$.", "name is missing"),
        ("$[1.5]", "not an index"),
        ("$[1:2:0]", "step"),
        ("$.a[?@.b == ]", "no value"),
        ("$.a#b", "not understood"),
        ("$[?" + "(" * 60 + "@.a" + ")" * 60 + "]", "too deep"),
    ],
)
def test_what_is_no_path_is_refused_by_name(path: str, word: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_path(path)
    assert word in caught.value.detail
    assert path in caught.value.detail


DOCUMENT: Any = {
    "openapi": "3.1.0",
    "paths": {
        "/a": {"get": {"operationId": "a", "tags": ["x"], "parameters": [{"name": "p"}, {"name": "q"}, {"name": "p"}]}},
        "/b": {"post": {"operationId": "b", "tags": ["y"], "parameters": [{"name": "p"}]}},
    },
}


def overlaid(*actions: Any) -> Any:
    before = copy.deepcopy(DOCUMENT)
    root, _ = apply_overlay(before, {"overlay": "1.0.0", "info": {}, "actions": list(actions)})
    assert before == DOCUMENT
    return root


def test_an_update_merges_objects_joins_lists_and_replaces_the_rest() -> None:
    update = {"operationId": "c", "tags": ["z"], "x-practicum": {"effect": "read"}}
    assert overlaid({"target": "$.paths['/b'].post", "update": update})["paths"]["/b"]["post"] == {
        "operationId": "c",
        "tags": ["y", "z"],
        "parameters": [{"name": "p"}],
        "x-practicum": {"effect": "read"},
    }


def test_an_update_of_a_list_appends() -> None:
    made = overlaid({"target": "$.paths.*.*.tags", "update": "new"})
    assert [made["paths"][at][m]["tags"] for at, m in (("/a", "get"), ("/b", "post"))] == [["x", "new"], ["y", "new"]]


def test_everything_that_fits_is_removed() -> None:
    made = overlaid({"target": "$.paths.*.*.parameters[?@.name == 'p']", "remove": True})
    assert made["paths"]["/a"]["get"]["parameters"] == [{"name": "q"}]
    assert made["paths"]["/b"]["post"]["parameters"] == []
    made = overlaid({"target": "$.paths['/a'].get.parameters[0, 2, 1]", "remove": True})
    assert made["paths"]["/a"]["get"]["parameters"] == []


def test_parts_of_what_is_removed_do_no_harm() -> None:
    assert list(overlaid({"target": "$.paths['/a']..*", "remove": True})["paths"]["/a"]) == []


def test_actions_follow_each_other() -> None:
    made = overlaid(
        {"target": "$.paths['/a'].get", "update": {"x-new": {"a": 1}}},
        {"target": "$..['x-new']", "update": {"b": 2}},
        {"target": "$..['x-new'].a", "remove": True},
    )
    assert made["paths"]["/a"]["get"]["x-new"] == {"b": 2}


def test_what_fits_nothing_is_said() -> None:
    _, notes = apply_overlay(
        DOCUMENT,
        {"overlay": "1.0.0", "actions": [{"target": "$.paths['/gone']", "description": "old", "remove": True}]},
    )
    assert notes == ("Action 1 of the overlay (old) fits nothing: $.paths['/gone']",)


def test_patches_are_an_overlay_too() -> None:
    patch = [{"op": "replace", "path": "/paths/~1a/get/operationId", "value": "renamed"}]
    root, notes = apply_overlay(DOCUMENT, patch)
    assert (root["paths"]["/a"]["get"]["operationId"], notes) == ("renamed", ())


FAULTY: list[tuple[Any, str]] = [
    ({"overlay": "2.0.0", "actions": [{}]}, "'2.0.0'"),
    ({"actions": [{}]}, "None"),
    ({"overlay": "1.0.0"}, "no `actions`"),
    ({"overlay": "1.0.0", "actions": []}, "no `actions`"),
    ({"overlay": "1.0.0", "actions": [3]}, "no `target`"),
    ({"overlay": "1.0.0", "actions": [{"target": "$", "copy": "$.paths"}]}, "`copy`"),
    ({"overlay": "1.0.0", "actions": [{"target": "$.paths"}]}, "neither updates nor removes"),
    ({"overlay": "1.0.0", "actions": [{"target": "$", "remove": True}]}, "whole document"),
    ({"overlay": "1.0.0", "actions": [{"target": "$.openapi", "update": "3"}]}, "do not go together"),
    ({"overlay": "1.0.0", "actions": [{"target": "$.paths", "update": "3"}]}, "do not go together"),
]


@pytest.mark.parametrize(("overlay", "word"), FAULTY)
def test_a_faulty_overlay_is_one_clear_error(overlay: Any, word: str) -> None:
    with pytest.raises(DocumentError) as caught:
        apply_overlay(DOCUMENT, overlay)
    assert word in caught.value.detail
    assert caught.value.mend
