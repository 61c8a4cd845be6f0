"""RFC 6902, mostly by the examples of its appendix A."""

from typing import Any

import pytest

from practicum.errors import DocumentError
from practicum_connectors.document.patch import apply_patch


@pytest.mark.parametrize(
    ("before", "operation", "after"),
    [
        ({"foo": "bar"}, {"op": "add", "path": "/baz", "value": "qux"}, {"foo": "bar", "baz": "qux"}),
        ({"foo": ["bar", "baz"]}, {"op": "add", "path": "/foo/1", "value": "q"}, {"foo": ["bar", "q", "baz"]}),
        ({"foo": ["bar"]}, {"op": "add", "path": "/foo/-", "value": ["a"]}, {"foo": ["bar", ["a"]]}),
        ({"baz": 1, "foo": 2}, {"op": "remove", "path": "/baz"}, {"foo": 2}),
        ({"foo": ["a", "b", "c"]}, {"op": "remove", "path": "/foo/1"}, {"foo": ["a", "c"]}),
        ({"baz": 1, "foo": 2}, {"op": "replace", "path": "/baz", "value": None}, {"baz": None, "foo": 2}),
        (
            {"foo": {"bar": 1, "waldo": 2}, "qux": {}},
            {"op": "move", "from": "/foo/waldo", "path": "/qux/thud"},
            {"foo": {"bar": 1}, "qux": {"thud": 2}},
        ),
        ({"foo": ["a", "b", "c"]}, {"op": "move", "from": "/foo/1", "path": "/foo/2"}, {"foo": ["a", "c", "b"]}),
        ({"a": {"b": 1}}, {"op": "copy", "from": "/a", "path": "/c"}, {"a": {"b": 1}, "c": {"b": 1}}),
        ({"foo": [1, {"a": 1.0}]}, {"op": "test", "path": "/foo/1", "value": {"a": 1}}, {"foo": [1, {"a": 1.0}]}),
        ({"/": 9, "~1": 10}, {"op": "test", "path": "/~01", "value": 10}, {"/": 9, "~1": 10}),
        ({"a/b": 1}, {"op": "replace", "path": "/a~1b", "value": 2}, {"a/b": 2}),
        ({"foo": 1}, {"op": "replace", "path": "", "value": {"bar": 2}}, {"bar": 2}),
        ({"": {"x": 1}}, {"op": "remove", "path": "//x"}, {"": {}}),
    ],
)
def test_operations_do_what_the_standard_says(before: Any, operation: Any, after: Any) -> None:
    assert apply_patch(before, [operation]) == after


def test_the_original_stays_as_it_is() -> None:
    before: Any = {"a": {"b": [1, 2]}, "c": {}}
    after = apply_patch(before, [{"op": "remove", "path": "/a/b/0"}, {"op": "add", "path": "/c/d", "value": 1}])
    assert before == {"a": {"b": [1, 2]}, "c": {}}
    assert after == {"a": {"b": [2]}, "c": {"d": 1}}


@pytest.mark.parametrize(
    ("operation", "word"),
    [
        ({"op": "test", "path": "/foo/0", "value": True}, "another value"),
        ({"op": "test", "path": "/foo", "value": [1]}, "another value"),
        ({"op": "remove", "path": "/bar"}, "no 'bar'"),
        ({"op": "remove", "path": "/foo/7"}, "no item 7"),
        ({"op": "add", "path": "/foo/01", "value": 1}, "not the number"),
        ({"op": "add", "path": "/foo/-/x", "value": 1}, "not the number"),
        ({"op": "add", "path": "/bar/x", "value": 1}, "no 'bar'"),
        ({"op": "add", "path": "/foo/0/x", "value": 1}, "neither an object nor a list"),
        ({"op": "add", "path": "foo", "value": 1}, "not a JSON Pointer"),
        ({"op": "add", "path": "/x"}, "no `value`"),
        ({"op": "replace", "path": "/x", "value": 1}, "no 'x'"),
        ({"op": "move", "from": "/foo", "path": "/foo/0"}, "into itself"),
        ({"op": "copy", "path": "/x"}, "no `from`"),
        ({"op": "merge", "path": "/x"}, "'merge'"),
        ({"op": "add", "value": 1}, "no `path`"),
        ("nonsense", "no `path`"),
        ({"op": "remove", "path": ""}, "leaves no document"),
        ({"op": "replace", "path": "", "value": []}, "leaves no document"),
    ],
)
def test_a_fault_is_named_by_the_number_of_its_operation(operation: Any, word: str) -> None:
    with pytest.raises(DocumentError) as caught:
        apply_patch({"foo": [1, 2]}, [{"op": "test", "path": "/foo/0", "value": 1}, operation])
    assert word in caught.value.detail
    assert "Operation 2" in caught.value.detail or "leaves no document" in word
    assert caught.value.mend
