"""Bodies as form fields; every expected text is written by hand."""

from typing import Any
from urllib.parse import parse_qsl

import pytest

from practicum.contracts.connectors import ArrayStyle, Fidelity
from tests.connectors.documents import Json, compiled, document, one_tool, properties, tool_of
from tests.connectors.request.bodies import FORM, builder, built, refusal, taking

TEXT: Json = {"type": "string"}
TEXTS: Json = {"type": "array", "items": TEXT}
ANY: Json = {"type": "object", "additionalProperties": TEXT}
FREE: Json = {"type": "object"}
ITEMS: Json = {
    "type": "array",
    "items": {"type": "object", "properties": {"price": TEXT, "n": {"type": "integer"}, "tags": TEXTS}},
}
DEEP: Json = {"style": "deepObject", "explode": True}


def form(encoding: Json | None = None, required: list[str] | None = None, /, **members: Json) -> Json:
    schema: Json = {"type": "object", "properties": members, "required": required or []}
    return taking(FORM, schema, encoding=encoding or {})


FORMS: list[tuple[Json, Json, str]] = [
    (form(a=TEXT), {"a": "x y&z=ü+"}, "a=x+y%26z%3D%C3%BC%2B"),
    (form(a=TEXT, b=TEXT), {"a": "", "b": "1"}, "a=&b=1"),
    (form(n={"type": "integer"}, t={"type": "boolean"}), {"n": 0, "t": False}, "n=0&t=false"),
    (form(n={"type": "integer"}), {"n": 2**60 + 1}, f"n={2**60 + 1}"),
    (form(a=TEXT), {}, ""),
    (form(l=TEXTS), {"l": ["x", "y,z"]}, "l=x&l=y%2Cz"),
    (form(l=TEXTS), {"l": ["x"]}, "l=x"),
    (form(m=ANY), {"m": {"k": "v", "k 2": "w"}}, "m%5Bk%5D=v&m%5Bk+2%5D=w"),
    (form({"m": DEEP}, m=ANY), {"m": {"k": "v"}}, "m%5Bk%5D=v"),
    (form({"l": DEEP}, l=TEXTS), {"l": ["x", "y"]}, "l%5B%5D=x&l%5B%5D=y"),
    (
        form({"i": DEEP}, i=ITEMS),
        {"i": [{"price": "p", "n": 2}, {"tags": ["a", "b"]}]},
        "i%5B0%5D%5Bprice%5D=p&i%5B0%5D%5Bn%5D=2&i%5B1%5D%5Btags%5D%5B%5D=a&i%5B1%5D%5Btags%5D%5B%5D=b",
    ),
    (form(i=ITEMS), {"i": [{"n": 1}]}, "i%5B0%5D%5Bn%5D=1"),
    (form({"l": {"explode": False}}, l=TEXTS), {"l": ["x", "y,z"]}, "l=x,y%2Cz"),
    (form({"l": {"style": "pipeDelimited", "explode": False}}, l=TEXTS), {"l": ["x", "y"]}, "l=x%7Cy"),
    (form({"l": {"style": "spaceDelimited", "explode": False}}, l=TEXTS), {"l": ["x", "y"]}, "l=x%20y"),
    (
        form({"o": {"style": "form"}}, o={"type": "object", "properties": {"R": TEXT, "G": TEXT}}),
        {"o": {"R": "1"}},
        "R=1",
    ),
    (
        form({"o": {"style": "form", "explode": False}}, o={"type": "object", "properties": {"R": TEXT, "G": TEXT}}),
        {"o": {"R": "1", "G": "2"}},
        "o=R,1,G,2",
    ),
    (form({"j": {"contentType": "application/json"}}, j=FREE), {"j": {"a": [1]}}, "j=%7B%22a%22%3A%5B1%5D%7D"),
    (form({"j": {"contentType": "application/json"}}, j=TEXTS), {"j": ["a"]}, "j=%5B%22a%22%5D"),
    (form({"r": {"allowReserved": True}}, r=TEXT), {"r": "/a:b?c&d"}, "r=/a:b?c%26d"),
    (form(**{"ids[]": TEXTS}), {"ids": ["1", "2"]}, "ids%5B%5D=1&ids%5B%5D=2"),
    (form(**{"f[x]": TEXT}, f=ANY), {"f_x": "1", "f": {"y": "2"}}, "f%5Bx%5D=1&f%5By%5D=2"),
    (form(u={"anyOf": [ANY, {"enum": [""]}]}), {"u": ""}, "u="),
    (form(u={"anyOf": [{"type": "integer", "minimum": 10}, TEXT]}), {"u": "5"}, "u=5"),
]


@pytest.mark.parametrize(("made", "arguments", "expected"), FORMS)
def test_fields(made: Json, arguments: Json, expected: str) -> None:
    request = built(made, arguments)
    assert request.body == expected.encode()
    assert request.header("content-type") == FORM


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        (ArrayStyle.BRACKETS, "f[ids][]=1&f[ids][]=2"),
        (ArrayStyle.INDICES, "f[ids][0]=1&f[ids][1]=2"),
        (ArrayStyle.REPEAT, "f[ids]=1&f[ids]=2"),
    ],
)
def test_the_connector_says_how_lists_are_written(arrays: ArrayStyle, expected: str) -> None:
    schema = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}}
    body = builder(form(f=schema), arrays).build({"f": {"ids": [1, 2]}}).body or b""
    assert "&".join(f"{name}={value}" for name, value in parse_qsl(body.decode())) == expected


def test_a_whole_form_is_one_argument() -> None:
    made = taking(FORM, {"type": "object", "additionalProperties": TEXT})
    assert list(properties(one_tool(document({"/t": {"post": made}})))) == ["body"]
    assert built(made, {"body": {"any": "x"}}).body == b"any=x"


def test_a_form_that_is_text_is_sent_as_it_is() -> None:
    assert built(taking(FORM, TEXT), {"body": "a=1&b=2"}).body == b"a=1&b=2"


@pytest.mark.parametrize(
    ("made", "arguments", "words"),
    [
        (form(l=TEXTS), {"l": []}, ["l:", "leave it out"]),
        (form(m=ANY), {"m": {}}, ["m:", "leave it out"]),
        (form(n={"type": ["string", "null"]}), {"n": None}, ["n:", "null"]),
        (form(m=ANY), {"m": {"a[b]": "x"}}, ["m:", "brackets"]),
        (form(m=ANY), {"m": {"a]": "x"}}, ["m:", "brackets"]),
        (form(m=ANY), {"m": {"": "x"}}, ["m:", "brackets"]),
        (form(m={}), {"m": {"0": "x"}}, ["m:", "does not arrive"]),
        (form(a=TEXT), {"a": "\ud800"}, ["lone surrogate"]),
        (form({"l": {"style": "pipeDelimited", "explode": False}}, l=TEXTS), {"l": ["a|b"]}, ["l:", "does not arrive"]),
        (form({"o": {"style": "form"}}, o=FREE, a=TEXT), {"o": {"a": "1"}, "a": "2"}, ["does not arrive"]),
        (form(None, ["a"], a=TEXT), {}, ["'a'"]),
    ],
)
def test_what_would_arrive_as_something_else_is_refused(made: Json, arguments: Json, words: list[str]) -> None:
    text = refusal(made, arguments)
    assert all(word in text for word in words), text


@pytest.mark.parametrize(
    ("made", "fidelity"),
    [
        (form(a=TEXT, l=TEXTS), Fidelity.EXACT),
        (form({"m": DEEP}, m=ANY), Fidelity.EXACT),
        (form({"j": {"contentType": "application/json"}}, j=FREE), Fidelity.EXACT),
        (form(m=ANY), Fidelity.DEGRADED),
        (form({"l": DEEP}, l=TEXTS), Fidelity.DEGRADED),
        (form({"m": DEEP}, m={"type": "object", "properties": {"x": TEXTS}}), Fidelity.DEGRADED),
    ],
)
def test_conventions_are_not_called_exact(made: Json, fidelity: Fidelity) -> None:
    (entry,) = compiled(document({"/t": {"post": made}})).report
    assert entry.fidelity is fidelity
    assert ("f[ids][]" in "".join(entry.notes)) == (fidelity is Fidelity.DEGRADED)


def test_members_stand_among_the_arguments() -> None:
    tool = tool_of(form(None, ["a"], a=TEXT, m=ANY))
    assert list(properties(tool)) == ["a", "m"]
    assert tool.input_schema["required"] == ["a"]


PARAMETERS: list[tuple[Json, Any, str]] = [
    ({FORM: {"schema": FREE}}, {"a": "x y", "b": "1"}, "q=a%3Dx%2By%26b%3D1"),
    ({"text/plain": {"schema": TEXT}}, 'say "x"', "q=say%20%22x%22"),
    ({"text/plain": {"schema": {"type": "integer"}}}, 5, "q=5"),
    ({"application/json": {"schema": TEXT}}, "x", "q=%22x%22"),
    ({"application/vnd.x+json": {"schema": FREE}}, {"a": 1}, "q=%7B%22a%22%3A1%7D"),
]


@pytest.mark.parametrize(("content", "value", "expected"), PARAMETERS)
def test_parameters_that_hold_a_media_type(content: Json, value: Any, expected: str) -> None:
    made: Json = {"operationId": "act", "parameters": [{"name": "q", "in": "query", "content": content}]}
    assert built(made, {"q": value}).url == f"http://127.0.0.1:1/t?{expected}"
