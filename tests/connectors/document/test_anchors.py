"""References by name, as they stand in documents of 3.1, and as JSON Pointers afterwards."""

from typing import Any

import pytest

from practicum_connectors import load_document
from practicum_connectors.document.anchors import needs_pointers
from tests.connectors.documents import Json, document, one_tool, operation, properties


def schemas(origin: str | None = None, **made: Any) -> Any:
    return load_document(document({}, components={"schemas": made}), origin=origin).root["components"]["schemas"]


def test_anchors() -> None:
    found = schemas(
        A={"properties": {"b": {"$ref": "#bee"}, "c": {"$ref": "#absent"}}},
        B={"$anchor": "bee", "properties": {"example": {"const": {"$ref": "#bee"}}}},
    )
    assert found["A"]["properties"] == {"b": {"$ref": "#/components/schemas/B"}, "c": {"$ref": "#absent"}}
    assert found["B"]["properties"]["example"] == {"const": {"$ref": "#bee"}}


@pytest.mark.parametrize("keyword", ["$defs", "definitions"])
def test_definitions_close_by_come_before_the_documents(keyword: str) -> None:
    inner = {"properties": {"n": {"$ref": f"#/{keyword}/N"}}, keyword: {"N": {"type": "integer"}}}
    found = schemas(Outer={keyword: {"N": {"type": "string"}, "M": {}}, "properties": {"inner": inner}})
    assert found["Outer"]["properties"]["inner"]["properties"]["n"] == {
        "$ref": f"#/components/schemas/Outer/properties/inner/{keyword}/N"
    }
    found = schemas(Outer={keyword: {"M": {"type": "null"}}, "items": {"not": {"$ref": f"#/{keyword}/M"}}})
    assert found["Outer"]["items"]["not"] == {"$ref": f"#/components/schemas/Outer/{keyword}/M"}
    assert schemas(X={"$ref": f"#/{keyword}/Absent"})["X"] == {"$ref": f"#/{keyword}/Absent"}


def test_a_schema_that_means_itself() -> None:
    found = schemas(Tree={"type": "object", "properties": {"children": {"items": {"$ref": "#"}}}})
    assert found["Tree"]["properties"]["children"]["items"] == {"$ref": "#/components/schemas/Tree"}
    found = schemas(Old={"properties": {"next": {"$recursiveRef": "#"}}, "$recursiveAnchor": True})
    assert found["Old"]["properties"]["next"] == {"$ref": "#/components/schemas/Old"}


def test_a_document_is_known_by_its_own_address() -> None:
    at = "https://docs.example.com/api/openapi.json"
    named = {"A": {"$ref": f"{at}#/components/schemas/B"}, "B": {}, "C": {"$ref": "openapi.json#/components/schemas/B"}}
    made = document({"/x": {"get": operation({"$ref": "openapi.json#/components/parameters/P"})}})
    components = {"schemas": named, "parameters": {"P": {"name": "p", "in": "query"}}}
    for rest, origin in (({"$self": at}, None), ({}, at)):
        root = load_document({**made, "openapi": "3.2.0", "components": components, **rest}, origin=origin).root
        assert [root["components"]["schemas"][name]["$ref"] for name in ("A", "C")] == ["#/components/schemas/B"] * 2
        assert root["paths"]["/x"]["get"]["parameters"] == [{"$ref": "#/components/parameters/P"}]


def test_identifiers_are_addresses_of_their_own() -> None:
    found = schemas(
        origin="https://docs.example.com/openapi.json",
        Tree={
            "$id": "https://ids.example.com/tree",
            "$defs": {"node": {"$anchor": "node", "properties": {"up": {"$ref": "#"}, "x": {"$ref": "leaf"}}}},
            "properties": {"root": {"$ref": "#node"}, "again": {"$ref": "#/$defs/node"}},
        },
        Leaf={"$id": "https://ids.example.com/leaf", "type": "string"},
        User={
            "properties": {
                "tree": {"$ref": "https://ids.example.com/tree"},
                "node": {"$ref": "https://ids.example.com/tree#node"},
                "deep": {"$ref": "https://ids.example.com/tree#/$defs/node"},
                "none": {"$ref": "https://ids.example.com/none"},
            }
        },
    )
    node = found["Tree"]["$defs"]["node"]
    at = "#/components/schemas"
    assert node["properties"] == {"up": {"$ref": f"{at}/Tree"}, "x": {"$ref": f"{at}/Leaf"}}
    assert [value["$ref"] for value in found["Tree"]["properties"].values()] == [f"{at}/Tree/$defs/node"] * 2
    assert [value["$ref"] for value in found["User"]["properties"].values()] == [
        f"{at}/Tree",
        f"{at}/Tree/$defs/node",
        f"{at}/Tree/$defs/node",
        "https://ids.example.com/none",
    ]


def test_a_dynamic_reference_is_followed_where_one_schema_can_be_meant() -> None:
    found = schemas(
        List={"items": {"$dynamicRef": "#item"}, "$defs": {"item": {"$dynamicAnchor": "item", "type": "integer"}}}
    )
    assert found["List"]["items"] == {"$ref": "#/components/schemas/List/$defs/item"}
    found = schemas(
        A={"items": {"$dynamicRef": "#item"}, "$defs": {"i": {"$dynamicAnchor": "item"}}},
        B={"$id": "b", "$defs": {"i": {"$dynamicAnchor": "item"}}},
    )
    assert found["A"]["items"] == {"$dynamicRef": "#item"}


def test_names_are_escaped() -> None:
    named: dict[str, Any] = {"a/b~c": {"$anchor": "odd"}, "D": {"$ref": "#odd"}}
    found = schemas(**named)
    assert found["D"] == {"$ref": "#/components/schemas/a~1b~0c"}


def test_a_tool_made_of_them() -> None:
    body: Json = {
        "type": "object",
        "properties": {"size": {"$ref": "#/$defs/Size"}, "color": {"$ref": "#color"}},
        "$defs": {"Size": {"type": "integer"}, "Color": {"$anchor": "color", "enum": ["red"]}},
    }
    tool = one_tool(document({"/a": {"post": operation(body=body)}}))
    definitions: Any = tool.input_schema["$defs"]
    said = {name: definitions[schema["$ref"].rsplit("/", 1)[-1]] for name, schema in properties(tool).items()}
    assert said["size"] == {"type": "integer"}
    assert said["color"]["enum"] == ["red"]


def test_documents_without_such_names_are_not_walked() -> None:
    plain = load_document(document({"/a": {"post": operation(body={"$ref": "#/components/schemas/A"})}}))
    assert not needs_pointers(plain.canonical)
    assert needs_pointers(load_document(document({}, components={"schemas": {"A": {"$id": "a"}}})).canonical)
