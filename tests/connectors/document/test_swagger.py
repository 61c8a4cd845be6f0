"""Swagger 2.0, construct by construct, as the OpenAPI 3 that it becomes."""

import json
from typing import Any

import pytest

from practicum.errors import DocumentError
from practicum_connectors import load_document
from practicum_connectors.document import Operation, Unreadable, list_operations
from practicum_connectors.document.swagger import is_swagger, upgraded
from tests.connectors.documents import Json


def swagger(paths: Json, **rest: Any) -> Json:
    return {"swagger": "2.0", "info": {"title": "Old", "version": "1"}, "paths": paths, **rest}


def made(paths: Json, source: str | None = None, **rest: Any) -> Json:
    before = swagger(paths, **rest)
    written = json.dumps(before)
    after = upgraded(before, source)
    assert json.dumps(before) == written
    return after


def operation_of(raw: Json, shared: Json | None = None, **rest: Any) -> Json:
    return made({"/x": {"post": raw, **(shared or {})}}, **rest)["paths"]["/x"]["post"]


def read(raw: Json, **rest: Any) -> Operation:
    (found,) = list_operations(load_document(made({"/x": {"post": raw}}, **rest)))
    assert isinstance(found, Operation)
    return found


@pytest.mark.parametrize(
    ("rest", "source", "urls"),
    [
        ({"host": "api.example.com", "basePath": "/v1/", "schemes": ["https"]}, None, ["https://api.example.com/v1"]),
        ({"host": "h:8080", "schemes": ["ws", "http", "https"]}, None, ["https://h:8080", "http://h:8080"]),
        ({"host": "h"}, None, ["https://h"]),
        ({"host": "h"}, "http://docs.example.com/s.json", ["http://h"]),
        ({"basePath": "/v2"}, "http://docs.example.com/s.json", ["/v2"]),
        ({"basePath": "/"}, None, None),
        ({"host": "http://h/"}, None, ["https://h"]),
    ],
)
def test_host_path_and_schemes_are_servers(rest: Json, source: str | None, urls: list[str] | None) -> None:
    servers = made({}, source, **rest).get("servers")
    assert servers == (urls and [{"url": url} for url in urls])


@pytest.mark.parametrize(
    ("place", "written", "style"),
    [
        ("query", None, ("form", False)),
        ("query", "csv", ("form", False)),
        ("query", "multi", ("form", True)),
        ("query", "ssv", ("spaceDelimited", False)),
        ("query", "pipes", ("pipeDelimited", False)),
        ("header", "csv", ("simple", False)),
    ],
)
def test_lists_keep_their_separators(place: str, written: str | None, style: tuple[str, bool]) -> None:
    raw = {"name": "ids", "in": place, "type": "array", "items": {"type": "integer", "maximum": 9}, "maxItems": 3}
    found = read({"parameters": [raw | ({"collectionFormat": written} if written else {})]})
    (parameter,) = found.parameters
    assert (parameter.style, parameter.explode) == style
    assert parameter.schema == {"type": "array", "items": {"type": "integer", "maximum": 9}, "maxItems": 3}


@pytest.mark.parametrize(
    ("place", "written", "word"), [("query", "tsv", "tabs"), ("header", "pipes", "`|`"), ("header", "ssv", "spaces")]
)
def test_a_list_without_a_style_is_text_and_says_how(place: str, written: str, word: str) -> None:
    raw = {"name": "ids", "in": place, "type": "array", "items": {"type": "string"}, "collectionFormat": written}
    parameter = operation_of({"parameters": [raw]})["parameters"][0]
    assert parameter["schema"] == {"type": "string", "description": f"Values separated by {word}."}
    assert word in parameter["x-practicum-losses"][0]


def test_a_list_in_a_list_is_text_within_the_outer_one() -> None:
    inner = {"type": "array", "items": {"type": "integer"}, "collectionFormat": "pipes"}
    raw = {"name": "m", "in": "query", "type": "array", "items": inner, "collectionFormat": "csv"}
    parameter = operation_of({"parameters": [raw]})["parameters"][0]
    assert parameter["schema"]["items"] == {"type": "string", "description": "Values separated by `|`."}
    assert parameter["x-practicum-losses"]


@pytest.mark.parametrize(("place", "kind"), [("header", "file"), ("query", "object")])
def test_types_that_no_parameter_has_are_said(place: str, kind: str) -> None:
    found = read({"parameters": [{"name": "p", "in": place, "type": kind}]})
    assert f"`{kind}`" in found.losses[0]


def test_a_body_speaks_what_the_operation_consumes() -> None:
    body = {"name": "b", "in": "body", "required": True, "description": "d", "schema": {"$ref": "#/definitions/B"}}
    schema = {"$ref": "#/components/schemas/B"}
    for consumes, there, expected in (
        (None, ["application/xml"], ["application/xml"]),
        (["application/merge-patch+json"], ["application/xml"], ["application/merge-patch+json"]),
        (["multipart/form-data", "application/json"], None, ["application/json"]),
        ([], ["application/xml"], ["application/json"]),
        (None, None, ["application/json"]),
    ):
        own = {} if consumes is None else {"consumes": consumes}
        rest: Json = {"definitions": {"B": {"type": "object"}}} | ({"consumes": there} if there else {})
        found = operation_of({"parameters": [body], **own}, **rest)
        assert found["requestBody"] == {
            "required": True,
            "description": "d",
            "content": {name: {"schema": schema} for name in expected},
        }
        assert found["parameters"] == []


FIELDS: list[Json] = [
    {"name": "file", "in": "formData", "type": "file", "required": True, "description": "The file."},
    {"name": "tags", "in": "formData", "type": "array", "items": {"type": "string"}, "collectionFormat": "multi"},
    {"name": "ids", "in": "formData", "type": "array", "items": {"type": "integer"}},
]


def test_form_fields_are_one_body() -> None:
    found = operation_of({"parameters": FIELDS[1:], "consumes": ["application/x-www-form-urlencoded"]})
    assert found["requestBody"] == {
        "required": False,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "tags": {"type": "array", "items": {"type": "string"}},
                        "ids": {"type": "array", "items": {"type": "integer"}},
                    },
                },
                "encoding": {
                    "tags": {"style": "form", "explode": True},
                    "ids": {"style": "form", "explode": False},
                },
            }
        },
    }


def test_files_make_it_multipart() -> None:
    found = operation_of({"parameters": FIELDS, "consumes": ["application/json"]})
    (media_type,) = found["requestBody"]["content"]
    schema = found["requestBody"]["content"][media_type]["schema"]
    assert (media_type, found["requestBody"]["required"]) == ("multipart/form-data", True)
    assert schema["properties"]["file"] == {"type": "string", "format": "binary", "description": "The file."}
    assert schema["properties"]["tags"]["type"] == "array"
    assert schema["properties"]["ids"] == {"type": "string", "description": "Values separated by commas."}
    assert schema["required"] == ["file"]
    assert "`ids`" in found["x-practicum-losses"][0]


def test_both_form_types_are_offered_where_both_are_consumed() -> None:
    both = ["multipart/form-data", "application/x-www-form-urlencoded"]
    found = operation_of({"parameters": [FIELDS[1]]}, consumes=both)
    assert list(found["requestBody"]["content"]) == both


def test_bodies_of_the_path_belong_to_each_operation_and_can_be_overridden() -> None:
    shared: Json = {
        "parameters": [
            {"name": "b", "in": "body", "schema": {"type": "string"}},
            {"name": "q", "in": "query", "type": "string"},
        ],
        "get": {},
    }
    own = {"parameters": [{"name": "b", "in": "body", "schema": {"type": "integer"}}]}
    item = made({"/x": {"post": own, **shared}})["paths"]["/x"]
    assert [parameter["name"] for parameter in item["parameters"]] == ["q"]
    schemas = [item[m]["requestBody"]["content"]["application/json"]["schema"] for m in ("post", "get")]
    assert schemas == [{"type": "integer"}, {"type": "string"}]


def test_two_bodies_are_said() -> None:
    raw: Json = {"parameters": [{"name": "a", "in": "body", "schema": {}}, FIELDS[1]]}
    assert read(raw).body is not None
    assert operation_of(raw)["x-practicum-losses"] == [
        "The request has more than one body; only the last `in: body` parameter is used."
    ]


def test_references_lead_where_things_stand_afterwards() -> None:
    rest: Json = {
        "definitions": {
            "Pet": {"properties": {"tag": {"$ref": "#/x-shared/Tag"}, "self": {"$ref": "#/definitions/Pet"}}}
        },
        "parameters": {
            "Page": {"name": "page", "in": "query", "type": "integer"},
            "Body": {"name": "b", "in": "body", "schema": {"$ref": "#/definitions/Pet/properties/tag"}},
        },
        "responses": {"Gone": {"description": "gone", "schema": {"$ref": "Pet"}}},
        "x-shared": {"Tag": {"type": "string", "x-nullable": True}},
    }
    raw = {
        "parameters": [{"$ref": "#/parameters/Page"}, {"$ref": "#/parameters/Body"}, {"$ref": "#/parameters/Absent"}],
        "responses": {"200": {"description": "", "schema": {"type": "file"}}, "410": {"$ref": "#/responses/Gone"}},
    }
    root = made({"/x": {"post": raw}, "/y": {"$ref": "#/paths/~1x"}}, produces=["image/png"], **rest)
    found = root["paths"]["/x"]["post"]
    assert root["paths"]["/y"] == root["paths"]["/x"]
    assert found["parameters"] == [{"$ref": "#/components/parameters/Page"}, {"$ref": "#/parameters/Absent"}]
    assert found["requestBody"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/Pet/properties/tag"
    }
    assert found["responses"] == {
        "200": {"description": "", "content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}},
        "410": {"$ref": "#/components/responses/Gone"},
    }
    components = root["components"]
    assert components["responses"]["Gone"]["content"]["image/png"]["schema"] == {"$ref": "#/components/schemas/Pet"}
    tag = components["schemas"]["Pet"]["properties"]["tag"]["$ref"].rsplit("/", 1)[-1]
    assert components["schemas"][tag] == {"type": "string", "x-nullable": True, "nullable": True}
    (refused, *_) = list_operations(load_document(root))
    assert isinstance(refused, Unreadable)
    assert "Absent" in refused.reason


def test_schemas_are_said_as_in_three() -> None:
    definitions: Json = {
        "Animal": {
            "discriminator": "kind",
            "properties": {"kind": {"type": "string"}, "$ref": {"type": "string"}, "photo": {"type": "file"}},
            "example": {"$ref": "#/definitions/Animal", "discriminator": "x"},
        },
        "Cat": {"allOf": [{"$ref": "#/definitions/Animal"}], "x-ms-discriminator-value": "cat"},
        "Odd": True,
    }
    schemas = made({}, definitions=definitions)["components"]["schemas"]
    assert schemas["Animal"] == {
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat"}},
        "properties": {
            "kind": {"type": "string"},
            "$ref": {"type": "string"},
            "photo": {"type": "string", "format": "binary"},
        },
        "example": {"$ref": "#/definitions/Animal", "discriminator": "x"},
    }
    assert schemas["Cat"]["allOf"] == [{"$ref": "#/components/schemas/Animal"}]
    assert schemas["Odd"] is True


def test_security_schemes() -> None:
    scopes = {"r": "read"}
    definitions: Json = {
        "b": {"type": "basic", "description": "d"},
        "k": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "o": {"type": "oauth2", "flow": "application", "tokenUrl": "https://t", "scopes": scopes},
        "c": {"type": "oauth2", "flow": "accessCode", "tokenUrl": "https://t", "authorizationUrl": "https://a"},
    }
    assert made({}, securityDefinitions=definitions)["components"]["securitySchemes"] == {
        "b": {"type": "http", "scheme": "basic", "description": "d"},
        "k": definitions["k"],
        "o": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://t", "scopes": scopes}}},
        "c": {
            "type": "oauth2",
            "flows": {"authorizationCode": {"authorizationUrl": "https://a", "tokenUrl": "https://t", "scopes": {}}},
        },
    }


def test_what_is_odd_stays_for_the_report() -> None:
    paths: Json = {"/a": None, "x-note": {"get": {}}, "/b": {"get": "no operation"}, "/c": {"$ref": "#/absent"}}
    assert made(paths)["paths"] == paths
    assert read({"parameters": [{"name": "e", "in": "query", "type": "string", "x-example": 1}]}).parameters


def test_versions() -> None:
    assert [is_swagger({"swagger": version}) for version in ("2.0", 2.0, 2, "1.2", None)] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert not is_swagger({"swagger": "2.0", "openapi": "3.0.0"})
    with pytest.raises(DocumentError, match="`paths`"):
        upgraded({"swagger": "2.0", "paths": []}, None)
