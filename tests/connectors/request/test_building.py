"""What goes over the wire for which arguments."""

import json
from typing import Any

import pytest

from practicum.errors import CallError, NotFoundError
from practicum_connectors import HttpRequest
from tests.connectors.documents import Json, compiled, document, header, operation, path, query

BASE = "http://127.0.0.1:1"
TEXTS: Json = {"type": "array", "items": {"type": "string"}}
NUMBERS: Json = {"type": "array", "items": {"type": "integer"}}
COLOURS: Json = {"type": "object", "properties": {"R": {"type": "integer"}, "G": {"type": "integer"}}}
FILTER: Json = {"type": "object"}


def built(made: Json, arguments: Json, at: str = "/t", method: str = "post", **rest: Any) -> HttpRequest:
    return compiled(document({at: {method: made}}, **rest)).prepare("crm_act", arguments).request


def refusal(made: Json, arguments: Json, at: str = "/t") -> str:
    with pytest.raises(CallError) as caught:
        built(made, arguments, at)
    assert caught.value.mend or caught.value.errors
    return str(caught.value)


QUERIES: list[tuple[Json, Any, str]] = [
    (query("q"), "a b&c=ü", "q=a%20b%26c%3D%C3%BC"),
    (query("q"), "", "q="),
    (query("q", {"type": "integer"}), 0, "q=0"),
    (query("q", {"type": "boolean"}), False, "q=false"),
    (query("q", {"type": "integer"}), 9007199254740993, "q=9007199254740993"),
    (query("q", {"type": "integer"}), 3.0, "q=3"),
    (query("q", {"type": "number"}), 0.1, "q=0.1"),
    (query("q", {"type": "number"}), 1e300, f"q={10**300 * 1.0:.0f}"),
    (query("q", {"type": ["integer", "null"]}), 5, "q=5"),
    (query("q", {"type": ["string", "integer"]}), "5", "q=5"),
    (query("q", {"anyOf": [NUMBERS, {"type": "null"}]}), [1, 2], "q=1&q=2"),
    (query("q", {"anyOf": [{"type": "string"}, TEXTS]}), ["a"], "q=a"),
    (query("q", {"enum": [1, 2]}), 2, "q=2"),
    (query("q", {}), {"x": 1}, "x=1"),
    (query("q", TEXTS), ["a", "b,c"], "q=a&q=b%2Cc"),
    (query("q", TEXTS, explode=False), ["a", "b,c"], "q=a,b%2Cc"),
    (query("q", TEXTS, style="pipeDelimited"), ["a", "b"], "q=a%7Cb"),
    (query("q", TEXTS, style="spaceDelimited"), ["a", "b"], "q=a%20b"),
    (query("q", TEXTS, style="pipeDelimited", explode=True), ["a", "b|c"], "q=a&q=b%7Cc"),
    (query("q", COLOURS), {"R": 100, "G": 0}, "R=100&G=0"),
    (query("q", COLOURS, explode=False), {"R": 100, "G": 0}, "q=R,100,G,0"),
    (query("q", COLOURS, style="pipeDelimited"), {"R": 1, "G": 2}, "q=R%7C1%7CG%7C2"),
    (query("filter", FILTER, style="deepObject"), {"status": "x"}, "filter%5Bstatus%5D=x"),
    (query("filter", FILTER, style="deepObject"), {"created": {"gte": 5}}, "filter%5Bcreated%5D%5Bgte%5D=5"),
    (query("filter", FILTER, style="deepObject"), {"ids": [1, 2]}, "filter%5Bids%5D%5B%5D=1&filter%5Bids%5D%5B%5D=2"),
    (query("ids", TEXTS, style="deepObject"), ["a"], "ids%5B%5D=a"),
    (
        query("f", FILTER, style="deepObject"),
        {"a": [{"b": 1}, {"c": 2}]},
        "f%5Ba%5D%5B0%5D%5Bb%5D=1&f%5Ba%5D%5B1%5D%5Bc%5D=2",
    ),
    (query("a[b]"), "x", "a%5Bb%5D=x"),
    (query("$filter"), "x eq 1", "%24filter=x%20eq%201"),
    (query("q", allowReserved=True), "/a:b?c", "q=/a:b?c"),
    (query("q", allowReserved=True), "a&b=#c+[d]", "q=a%26b%3D%23c%2B%5Bd%5D"),
    (
        {"name": "q", "in": "query", "content": {"application/json": {"schema": FILTER}}},
        {"a": [1]},
        "q=%7B%22a%22%3A%5B1%5D%7D",
    ),
]


@pytest.mark.parametrize(("parameter", "value", "expected"), QUERIES)
def test_query(parameter: Json, value: Any, expected: str) -> None:
    made = operation(parameter, query("other"))
    connector = compiled(document({"/t": {"get": made}}))
    key = next(iter(connector.tools["crm_act"].input_schema["properties"]))  # type: ignore[call-overload]
    assert connector.prepare("crm_act", {key: value}).request.url == f"{BASE}/t?{expected}"


@pytest.mark.parametrize(
    ("style", "explode", "schema", "value", "expected"),
    [
        ("simple", False, {"type": "string"}, "a/b c?d%ü;", "a%2Fb%20c%3Fd%25%C3%BC%3B"),
        ("simple", False, NUMBERS, [1, 2], "1,2"),
        ("simple", False, COLOURS, {"R": 1, "G": 2}, "R,1,G,2"),
        ("simple", True, COLOURS, {"R": 1, "G": 2}, "R=1,G=2"),
        ("label", False, {"type": "string"}, "x", ".x"),
        ("label", False, NUMBERS, [1, 2], ".1,2"),
        ("label", True, NUMBERS, [1, 2], ".1.2"),
        ("label", True, COLOURS, {"R": 1, "G": 2}, ".R=1.G=2"),
        ("matrix", False, {"type": "string"}, "x", ";id=x"),
        ("matrix", False, NUMBERS, [1, 2], ";id=1,2"),
        ("matrix", True, NUMBERS, [1, 2], ";id=1;id=2"),
        ("matrix", True, COLOURS, {"R": 1, "G": 2}, ";R=1;G=2"),
        ("matrix", False, COLOURS, {"R": 1, "G": 2}, ";id=R,1,G,2"),
    ],
)
def test_path(style: str, explode: bool, schema: Json, value: Any, expected: str) -> None:
    made = operation(path("id", schema, style=style, explode=explode))
    assert built(made, {"id": value}, at="/inputs/{id}/x").url == f"{BASE}/inputs/{expected}/x"


def test_paths_with_several_variables_and_fixed_queries() -> None:
    made = operation(path("a"), path("b.c", {"type": "integer"}), query("q"))
    request = built(made, {"a": "x", "b.c": 7, "q": "y"}, at="/s/{a}.json/{b.c}-{a}?fixed=1")
    assert request.url == f"{BASE}/s/x.json/7-x?fixed=1&q=y"


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, 5, "5"),
        ({"type": "boolean"}, True, "true"),
        (NUMBERS, [1, 2], "1,2"),
        (COLOURS, {"R": 1, "G": 2}, "R,1,G,2"),
        ({"type": "string"}, "a,b %", "a,b %"),
    ],
)
def test_header(schema: Json, value: Any, expected: str) -> None:
    request = built(operation(header("X-N", schema)), {"X-N": value})
    assert request.header("x-n") == expected


@pytest.mark.parametrize(
    ("schema", "value", "expected"), [({"type": "string"}, "a;b =", "a%3Bb%20%3D"), (NUMBERS, [1, 2], "1,2")]
)
def test_cookie(schema: Json, value: Any, expected: str) -> None:
    made = operation({"name": "c", "in": "cookie", "schema": schema}, {"name": "d", "in": "cookie", "schema": {}})
    assert built(made, {"c": value, "d": "x"}).header("cookie") == f"c={expected}; d=x"


@pytest.mark.parametrize(
    ("explode", "schema", "value", "expected"),
    [
        (True, {"type": "string"}, "a%20=b", "c=a%20=b"),
        (True, NUMBERS, [1, 2], "c=1; c=2"),
        (False, NUMBERS, [1, 2], "c=1,2"),
        (True, COLOURS, {"R": 1, "G": 2}, "R=1; G=2"),
    ],
)
def test_cookie_style(explode: bool, schema: Json, value: Any, expected: str) -> None:
    made = operation({"name": "c", "in": "cookie", "style": "cookie", "explode": explode, "schema": schema})
    assert built(made, {"c": value}).header("cookie") == expected


def test_exploded_objects_are_told_apart_by_what_describes_their_members() -> None:
    sizes: Json = {"type": "object", "properties": {"w": {"type": "integer"}, "h": {"type": "integer"}}}
    made = operation(query("colour", COLOURS), query("size", sizes), query("q"))
    request = built(made, {"colour": {"R": 1}, "size": {"w": 2, "h": 3}, "q": "x"})
    assert request.url == f"{BASE}/t?R=1&w=2&h=3&q=x"
    assert "style" in refusal(operation(query("a", FILTER), query("b", FILTER)), {"a": {"x": 1}, "b": {"y": 2}})
    assert built(operation(query("a", COLOURS), query("b", FILTER)), {"a": {"R": 1}, "b": {"y": 2}}).url.endswith(
        "?R=1&y=2"
    )


OBJECT: Json = {"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": ["string", "null"]}}}
BODIES: list[tuple[Json, bool, Json, Any]] = [
    (OBJECT, True, {"a": "ü"}, {"a": "ü"}),
    (OBJECT, True, {"n": None}, {"n": None}),
    (OBJECT, True, {}, {}),
    (OBJECT, False, {}, ...),
    ({"type": "array", "items": {"type": "integer"}}, True, {"body": [1, 2**60]}, [1, 2**60]),
    ({"type": "string"}, True, {"body": ""}, ""),
    ({"type": ["string", "null"]}, True, {"body": None}, None),
    ({"type": "object", "additionalProperties": True}, True, {"body": {"any": {"deep": [0]}}}, {"any": {"deep": [0]}}),
    ({"type": "integer"}, False, {}, ...),
    ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, True, {"body": False}, False),
    (True, True, {"body": [None]}, [None]),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("schema", "required", "arguments", "expected"), BODIES)
def test_body(schema: Json, required: bool, arguments: Json, expected: Any) -> None:
    request = built(operation(body=schema, required=required), arguments)
    if expected is ...:
        assert request.body is None
        assert request.header("content-type") is None
    else:
        assert json.loads(request.body or b"") == expected
        assert request.header("content-type") == "application/json"


@pytest.mark.parametrize(
    ("declared", "sent"),
    [("application/merge-patch+json",) * 2, ("application/vnd.api+json",) * 2, ("*/*", "application/json")],
)
def test_the_declared_content_type_is_sent(declared: str, sent: str) -> None:
    made: Json = {"operationId": "act", "requestBody": {"required": True, "content": {declared: {"schema": OBJECT}}}}
    request = built(made, {"a": "x"}, method="delete")
    assert (request.header("content-type"), request.method, request.body) == (sent, "DELETE", b'{"a": "x"}')


def test_null_is_absent_where_nothing_can_carry_it() -> None:
    made = operation(query("q", {"type": ["string", "null"]}))
    assert built(made, {"q": None}).url == f"{BASE}/t"
    assert "must not be null" in refusal(operation(path("id", {"type": ["string", "null"]})), {"id": None}, "/t/{id}")


def test_defaults_are_left_to_the_system_unless_it_asks_for_the_value() -> None:
    asked = query("v", {"type": "integer", "default": 2}, required=True)
    assert built(operation(asked, query("w", {"default": 1})), {}).url == f"{BASE}/t?v=2"


@pytest.mark.parametrize(
    ("parameter", "value", "word"),
    [
        (query("q", TEXTS), [], "leave it out"),
        (query("q", FILTER, style="deepObject"), {"": 1}, "brackets"),
        (query("q", TEXTS, style="pipeDelimited"), ["a|b"], "style"),
        (query("q", TEXTS, style="spaceDelimited"), ["a b"], "style"),
        (query("q", {"type": "array", "items": {}}), [{"a": 1}], "single values"),
        (query("q", {"type": "array", "items": {}}), [None], "null"),
        (query("q", FILTER), {"other": 1}, "style"),
        (query("q", FILTER, style="deepObject"), {}, "leave it out"),
        (query("q", FILTER, style="deepObject"), {"a[b]": 1}, "brackets"),
        (header("X"), "a\r\nEvil: 1", "printable"),
        (header("X"), "ü", "printable"),
        (header("X"), " x", "space"),
        (header("X", TEXTS), ["a,b"], "style"),
    ],
)
def test_values_that_would_arrive_as_something_else_are_refused(parameter: Json, value: Any, word: str) -> None:
    text = refusal(operation(parameter, query("other")), {parameter["name"]: value, "other": "x"})
    assert word in text
    assert parameter["name"] in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["is missing 'a'"]),
        ({"a": 1}, ["a: must be string, not 1"]),
        ({"a": "x", "b": "y"}, ["unknown 'b'", '"a"']),
        ({"a": "x", "when": "soon"}, ["when: must be a valid date-time such as 2026"]),
        ({"a": "x", "kind": "C"}, ['kind: must be one of "A", "B", not "C"']),
        ({"a": "x", "u": {"n": "1"}}, ["u.n: must be integer"]),
        ({"a": "xxxxx"}, ["a:", "maxLength: 3"]),
        ({"a": "x", "big": 2**40}, ["big: must be a valid int32"]),
        ({"a": "x", "raw": "ü"}, ["raw: must be a valid byte"]),
        ({"a": ["y" * 10_000]}, ["..."]),
    ],
)
def test_wrong_arguments_are_told_so_that_a_model_can_mend_them(arguments: Json, words: list[str]) -> None:
    body = {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"type": "string", "maxLength": 3},
            "when": {"type": "string", "format": "date-time"},
            "kind": {"type": "string", "enum": ["A", "B"]},
            "u": {"anyOf": [{"type": "object", "properties": {"n": {"type": "integer"}}}, {"type": "null"}]},
            "big": {"type": "integer", "format": "int32"},
            "raw": {"type": "string", "format": "byte"},
        },
    }
    text = refusal(operation(body=body), arguments)
    assert all(word in text for word in words), text
    assert len(text) < 500


def test_what_only_the_whole_body_can_say_is_checked_too() -> None:
    body: Json = {
        "type": "object",
        "properties": {"a": {}, "b": {}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    }
    assert "body" in refusal(operation(body=body), {})
    assert json.loads(built(operation(body=body), {"b": 1}).body or b"") == {"b": 1}


def test_arguments_that_nest_without_end_are_told_so() -> None:
    def nested(levels: int) -> Any:
        value: Any = []
        for _ in range(levels):
            value = [value]
        return value

    assert built(operation(body={}), {"body": nested(60)}).body
    assert "64 levels" in refusal(operation(body={}), {"body": nested(64)})
    assert "64 levels" in refusal(operation(body={}), {"body": nested(100_000)})


def test_an_unknown_tool_is_named() -> None:
    with pytest.raises(NotFoundError, match="crm_other"):
        compiled(document({"/t": {"get": operation()}})).prepare("crm_other", {})


def test_recursive_bodies_are_built() -> None:
    node = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/components/schemas/N"}},
        },
    }
    made = operation(body={"$ref": "#/components/schemas/N"})
    arguments: Json = {"name": "r", "children": [{"name": "c", "children": []}]}
    assert json.loads(built(made, arguments, components={"schemas": {"N": node}}).body or b"") == arguments
    with pytest.raises(CallError, match=r"children\.0\.children\.0\.name"):
        built(made, {"children": [{"children": [{"name": 3}]}]}, components={"schemas": {"N": node}})
