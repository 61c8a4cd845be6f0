"""Bodies as XML; every expected text is written by hand."""

from typing import Any

import pytest

from practicum.contracts.connectors import Fidelity
from practicum_connectors.catalogue.xml_shape import XmlShape
from practicum_connectors.request.parse_xml import XmlReader
from practicum_connectors.request.views import SchemaView
from tests.connectors.documents import Json, compiled, document
from tests.connectors.request.bodies import built, refusal, taking

XML = "application/xml"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
TEXT: Json = {"type": "string"}
TEXTS: Json = {"type": "array", "items": TEXT}


def pet(properties: Json, **said: Any) -> Json:
    return taking(XML, {"type": "object", "xml": {"name": "pet", **said}, "properties": properties})


BODIES: list[tuple[Json, Json, str]] = [
    (pet({"a": TEXT}), {"a": 'x < & " y'}, '<pet><a>x &lt; &amp; " y</a></pet>'),
    (pet({"a": TEXT}), {"a": ""}, "<pet><a></a></pet>"),
    (pet({"a": TEXT}), {}, "<pet></pet>"),
    (
        pet({"n": {"type": "integer"}, "t": {"type": "boolean"}}),
        {"n": 0, "t": False},
        "<pet><n>0</n><t>false</t></pet>",
    ),
    (
        pet({"id": {"type": "integer", "xml": {"attribute": True}}, "a": TEXT}),
        {"a": "x", "id": 7},
        '<pet id="7"><a>x</a></pet>',
    ),
    (pet({"id": {**TEXT, "xml": {"attribute": True, "name": "key"}}}), {"id": 'a"\n'}, "<pet key='a\"&#10;'></pet>"),
    (pet({"b": TEXT, "a": TEXT}), {"a": "1", "b": "2"}, "<pet><b>2</b><a>1</a></pet>"),
    (pet({"l": TEXTS}), {"l": ["x", "y"]}, "<pet><l>x</l><l>y</l></pet>"),
    (pet({"l": TEXTS}), {"l": ["x"]}, "<pet><l>x</l></pet>"),
    (pet({"l": {**TEXTS, "items": {**TEXT, "xml": {"name": "i"}}}}), {"l": ["x", "y"]}, "<pet><i>x</i><i>y</i></pet>"),
    (pet({"l": {**TEXTS, "xml": {"wrapped": True}}}), {"l": ["x"]}, "<pet><l><l>x</l></l></pet>"),
    (pet({"l": {**TEXTS, "xml": {"wrapped": True}}}), {"l": []}, "<pet><l></l></pet>"),
    (
        pet(
            {"l": {"type": "array", "xml": {"wrapped": True, "name": "all"}, "items": {**TEXT, "xml": {"name": "one"}}}}
        ),
        {"l": ["x", "y"]},
        "<pet><all><one>x</one><one>y</one></all></pet>",
    ),
    (
        pet({"o": {"type": "object", "properties": {"n": {"type": "integer"}}}}),
        {"o": {"n": 1}},
        "<pet><o><n>1</n></o></pet>",
    ),
    (pet({"o": {"type": "object"}}), {"o": {}}, "<pet><o></o></pet>"),
    (
        pet({"a": TEXT}, namespace="http://x/ns", prefix="p"),
        {"a": "x"},
        '<p:pet xmlns:p="http://x/ns"><a>x</a></p:pet>',
    ),
    (pet({"a": TEXT}, namespace="http://x/ns"), {"a": "x"}, '<pet xmlns="http://x/ns"><a>x</a></pet>'),
    (pet({"a": TEXT}), {"a": "x\ry"}, "<pet><a>x&#13;y</a></pet>"),
    (
        pet({"id": {**TEXT, "xml": {"attribute": True}}, "v": {**TEXT, "xml": {"nodeType": "text"}}}),
        {"id": "1", "v": "x"},
        '<pet id="1">x</pet>',
    ),
]


@pytest.mark.parametrize(("made", "arguments", "expected"), BODIES)
def test_xml(made: Json, arguments: Json, expected: str) -> None:
    request = built(made, arguments)
    assert (request.body or b"").decode() == f"{HEAD}{expected}"
    assert request.header("content-type") == XML


def test_a_component_is_called_by_its_name() -> None:
    node: Json = {
        "type": "object",
        "properties": {"name": TEXT, "sub": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}},
    }
    made = taking(XML, {"$ref": "#/components/schemas/Node"})
    arguments: Json = {"name": "a", "sub": [{"name": "b", "sub": [{"name": "c"}]}]}
    body = built(made, arguments, components={"schemas": {"Node": node}}).body or b""
    expected = "<Node><name>a</name><sub><name>b</name><sub><name>c</name></sub></sub></Node>"
    assert body.decode() == f"{HEAD}{expected}"


def test_a_list_as_the_whole_body() -> None:
    schema = {"type": "array", "xml": {"name": "pets", "wrapped": True}, "items": {**TEXT, "xml": {"name": "pet"}}}
    assert (built(taking(XML, schema), {"body": ["a", "b"]}).body or b"").decode() == (
        f"{HEAD}<pets><pet>a</pet><pet>b</pet></pets>"
    )


@pytest.mark.parametrize(
    ("made", "arguments", "words"),
    [
        (pet({"l": TEXTS}), {"l": []}, ["l:", "leave it out"]),
        (pet({"n": {"type": ["string", "null"]}}), {"n": None}, ["null"]),
        (pet({"a": TEXT}), {"a": "\x00"}, ["well-formed"]),
        (pet({"a": TEXT}), {"a": "\ud800"}, ["surrogate"]),
        (pet({"o": {"type": "object"}}), {"o": {"a b": "x"}}, ["'a b'"]),
        (pet({"l": {"type": "array", "items": TEXTS}}), {"l": [["x"]]}, ["list directly inside a list"]),
        (pet({"a": TEXT}), {"a": 1}, ["a: must be string"]),
    ],
)
def test_what_would_arrive_as_something_else_is_refused(made: Json, arguments: Json, words: list[str]) -> None:
    text = refusal(made, arguments)
    assert all(word in text for word in words), text


def test_a_body_without_a_name_is_refused_with_the_way_out() -> None:
    (entry,) = compiled(document({"/t": {"post": taking(XML, {"type": "object", "properties": {"a": TEXT}})}})).report
    assert entry.fidelity is Fidelity.REFUSED
    assert "xml: {name: ...}" in " ".join(entry.notes)


@pytest.mark.parametrize(
    "wrong",
    [
        "<other><a>x</a></other>",
        "<pet><b>x</b></pet>",
        "<pet><a>y</a></pet>",
        "<pet>t<a>x</a></pet>",
        "<pet><a>x</a>t</pet>",
        '<pet a="x"/>',
        "<pet><a>x</a>",
        '<!DOCTYPE pet [<!ENTITY e "x">]><pet><a>&e;</a></pet>',
    ],
)
def test_the_reader_contradicts_a_wrong_writer(wrong: str) -> None:
    schema: Json = {"type": "object", "properties": {"a": TEXT}}
    reader = XmlReader(schema, XmlShape(name="pet", members={"a": XmlShape()}), SchemaView({}))
    assert reader.read(b"<pet><a>x</a></pet>", {}) == {"a": "x"}
    try:
        assert reader.read(wrong.encode(), {}) != {"a": "x"}
    except ValueError as error:
        assert str(error)  # noqa: PT017 (either way it is not taken for the right one)


def test_xml_is_the_last_choice() -> None:
    several = {XML: {"schema": {"type": "object", "xml": {"name": "a"}}}, "text/plain": {"schema": TEXT}}
    made: Json = {"operationId": "act", "requestBody": {"required": True, "content": several}}
    assert built(made, {"body": "x"}).body == b"x"
