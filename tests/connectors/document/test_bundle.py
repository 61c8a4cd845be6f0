"""References to other documents: taken in once, bounded, and nothing from where a document must not lead."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from practicum.errors import DocumentError
from practicum_connectors import load_document
from practicum_connectors.document import Operation, Unreadable, bundle, list_operations
from practicum_connectors.document.bundle import bundled
from practicum_connectors.document.sources import NOWHERE, folder_source, given
from tests.connectors.documents import Json, document, operation, query

BASE = "https://docs.example.com/api/openapi.json"


class Shelf:
    """Documents by address, and which of them were asked for."""

    def __init__(self, documents: dict[str, Any]) -> None:
        self.documents = documents
        self.asked: list[str] = []

    async def __call__(self, address: str) -> bytes:
        self.asked.append(address)
        if address not in self.documents:
            raise DocumentError("the server answered 404.")
        value = self.documents[address]
        return value if isinstance(value, bytes) else json.dumps(value).encode()


def together(root: Json, shelf: Shelf, base: str = BASE) -> tuple[Any, tuple[str, ...]]:
    before = json.dumps(root)
    made = asyncio.run(bundled(root, base, shelf, {}))
    assert json.dumps(root) == before
    return made


def test_every_kind_of_object_can_stand_elsewhere() -> None:
    root = document(
        {
            "/a": {"$ref": "paths.yaml#/a"},
            "/b": {
                "post": {
                    "parameters": [{"$ref": "../common.json#/parameters/Page"}],
                    "requestBody": {"$ref": "../common.json#/bodies/Pet"},
                    "responses": {"200": {"$ref": "../common.json#/responses/Ok"}},
                }
            },
        }
    )
    shelf = Shelf(
        {
            "https://docs.example.com/api/paths.yaml": b"a: {get: {parameters: [$ref: ../common.json#/page]}}",
            "https://docs.example.com/common.json": {
                "page": {"$ref": "#/parameters/Page"},
                "parameters": {"Page": query("page", {"$ref": "#/schemas/Count"})},
                "bodies": {"Pet": {"content": {"application/json": {"schema": {"$ref": "pet.json"}}}}},
                "responses": {"Ok": {"description": "", "headers": {"X": {"$ref": "#/headers/X"}}}},
                "headers": {"X": {"schema": {"type": "string"}}},
                "schemas": {"Count": {"type": "integer"}},
            },
            "https://docs.example.com/pet.json": {"type": "object", "properties": {"parent": {"$ref": "#"}}},
        }
    )
    made, notes = together(root, shelf)
    assert notes == ()
    assert sorted(shelf.asked) == sorted(shelf.documents)
    components = made["components"]
    assert components["schemas"]["Count"] == {"type": "integer"}
    assert components["parameters"]["page"] == {"$ref": "#/components/parameters/Page"}
    assert components["parameters"]["Page"]["schema"] == {"$ref": "#/components/schemas/Count"}
    assert components["schemas"]["pet"] == {
        "type": "object",
        "properties": {"parent": {"$ref": "#/components/schemas/pet"}},
    }
    assert components["headers"]["X"] == {"schema": {"type": "string"}}
    operations = list(list_operations(load_document(made)))
    assert [(type(o), o.method, o.path) for o in operations] == [(Operation, "GET", "/a"), (Operation, "POST", "/b")]


def test_circles_across_documents_and_back_stay_references() -> None:
    root = document(
        {"/a": {"post": operation(body={"$ref": "b.json#/B"})}}, components={"schemas": {"A": {"$ref": "b.json#/B"}}}
    )
    other = {
        "B": {"properties": {"a": {"$ref": "openapi.json#/components/schemas/A"}, "c": {"$ref": "c.json"}}},
    }
    shelf = Shelf(
        {
            "https://docs.example.com/api/b.json": other,
            "https://docs.example.com/api/c.json": {"items": {"$ref": "b.json#/B"}},
        }
    )
    made, _ = together(root, shelf)
    assert made["components"]["schemas"] == {
        "A": {"$ref": "#/components/schemas/B"},
        "B": {"properties": {"a": {"$ref": "#/components/schemas/A"}, "c": {"$ref": "#/components/schemas/c"}}},
        "c": {"items": {"$ref": "#/components/schemas/B"}},
    }


def test_names_that_meet_stay_apart_and_the_documents_own_keep_theirs() -> None:
    root = document(
        {"/a": {"post": operation(body={"allOf": [{"$ref": "x/pet.json"}, {"$ref": "y/pet.json"}]})}},
        components={"schemas": {"pet": {"type": "null"}}},
    )
    shelf = Shelf({f"https://docs.example.com/api/{at}/pet.json": {"title": at} for at in ("x", "y")})
    made, _ = together(root, shelf)
    schemas = made["components"]["schemas"]
    assert schemas["pet"] == {"type": "null"}
    assert sorted(str(schema.get("title")) for schema in schemas.values()) == ["None", "x", "y"]
    assert made == together(root, Shelf(shelf.documents))[0]


def test_data_that_looks_like_a_reference_is_data() -> None:
    body: Json = {
        "example": {"$ref": "nowhere.json"},
        "properties": {"$ref": {"type": "string"}, "enum": {"const": {"$ref": "nowhere.json"}}},
    }
    root = document({"/a": {"post": operation(body=body)}})
    shelf = Shelf({})
    assert together(root, shelf) == (root, ())
    assert shelf.asked == []


def test_a_discriminator_leads_to_documents_too() -> None:
    union = {
        "oneOf": [{"$ref": "dog.json"}],
        "discriminator": {"propertyName": "kind", "mapping": {"d": "dog.json", "c": "Cat"}},
    }
    root = document({"/a": {"post": operation(body=union)}}, components={"schemas": {"Cat": {}}})
    made, _ = together(root, Shelf({"https://docs.example.com/api/dog.json": {"type": "object"}}))
    schema = made["paths"]["/a"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["discriminator"]["mapping"] == {"d": "#/components/schemas/dog", "c": "Cat"}


def test_anchors_and_own_identifiers() -> None:
    root = document(
        {"/a": {"post": operation(body={"allOf": [{"$ref": "s.json#pet"}, {"$ref": "https://ids.example.com/own"}]})}},
        components={"schemas": {"Own": {"$id": "https://ids.example.com/own", "type": "string"}}},
    )
    shelf = Shelf({"https://docs.example.com/api/s.json": {"$defs": {"x": {"$anchor": "pet", "type": "integer"}}}})
    made, notes = together(root, shelf)
    assert notes == ()
    assert made["components"]["schemas"]["pet"] == {"$anchor": "pet", "type": "integer"}
    schema = made["paths"]["/a"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["allOf"][1] == {"$ref": "https://ids.example.com/own"}


def test_what_cannot_be_had_is_said_and_only_its_operation_is_lost() -> None:
    root = document(
        {
            "/a": {"get": operation({"$ref": "gone.json?key=secret#/P"})},
            "/b": {"get": operation({"$ref": "here.json#/Absent"})},
            "/c": {"get": operation({"$ref": "broken.json#/P"})},
            "/d": {"get": operation()},
        }
    )
    shelf = Shelf(
        {
            "https://docs.example.com/api/here.json": {},
            "https://docs.example.com/api/broken.json": b"<html>",
        }
    )
    made, notes = together(root, shelf)
    found = list(list_operations(load_document(made)))
    assert [type(entry) for entry in found] == [Unreadable, Unreadable, Unreadable, Operation]
    assert "gone.json cannot be used: the server answered 404." in notes
    assert any(note.startswith("here.json#/Absent cannot be used") for note in notes)
    assert any("HTML" in note for note in notes)
    assert "secret" not in str(notes)


@pytest.mark.parametrize("reference", ["file:///etc/passwd", "ftp://h/x", "data:application/json,{}", "http://[/x"])
def test_a_document_from_the_web_leads_only_to_the_web(reference: str) -> None:
    root = document({"/a": {"post": operation(body={"$ref": f"{reference}#/A"})}})
    shelf = Shelf({reference: {"A": {}}})
    together(root, shelf)
    assert shelf.asked == []


def test_endless_references_end() -> None:
    class Endless:
        asked = 0

        async def __call__(self, _: str) -> bytes:
            self.asked += 1
            return json.dumps({"A": {"items": {"$ref": f"{self.asked}.json#/A"}}}).encode()

    endless = Endless()
    root = document({"/a": {"post": operation(body={"$ref": "0.json#/A"})}})
    _, notes = asyncio.run(bundled(root, BASE, endless, {}))
    assert endless.asked == bundle.MAX_STEPS
    assert "in a row" in notes[0]


def test_not_more_than_so_many_documents_are_drawn_in() -> None:
    many = {"anyOf": [{"$ref": f"{number}.json"} for number in range(bundle.MAX_DOCUMENTS + 30)]}
    shelf = Shelf(
        {
            f"https://docs.example.com/api/{number}.json": {"const": number}
            for number in range(bundle.MAX_DOCUMENTS + 30)
        }
    )
    _, notes = together(document({"/a": {"post": operation(body=many)}}), shelf)
    assert len(shelf.asked) == bundle.MAX_DOCUMENTS
    assert notes[-1] == "10 more references cannot be used."


def test_parts_that_lie_in_each_other_are_a_bomb() -> None:
    part: Any = {"enum": list(range(30_000))}
    for _ in range(90):
        part = {"items": part}
    inner = [{"$ref": f"deep.json#{'/items' * depth}"} for depth in range(90)]
    shelf = Shelf({"https://docs.example.com/api/deep.json": part})
    with pytest.raises(DocumentError, match="unfolds"):
        together(document({"/a": {"post": operation(body={"anyOf": inner})}}), shelf)


def test_all_objects_of_a_kind_can_stand_elsewhere() -> None:
    root: Json = {
        "openapi": "3.1.0",
        "paths": {"$ref": "paths.json"},
        "components": {"schemas": {"$ref": "parts.json#/a~1b"}, "parameters": {"$ref": "absent.json"}},
    }
    item = {"post": operation(body={"$ref": "openapi.json#/components/schemas/Pet"})}
    shelf = Shelf(
        {
            "https://docs.example.com/api/paths.json": {"/x/{id}": item},
            "https://docs.example.com/api/parts.json": {
                "a/b": {"Pet": {"properties": {"o": {"$ref": "#/a~1b/Owner"}}}, "Owner": {}}
            },
        }
    )
    made, _ = together(root, shelf)
    assert sorted(shelf.asked) == [f"https://docs.example.com/api/{name}.json" for name in ("absent", "parts", "paths")]
    (found,) = list_operations(load_document(made))
    assert isinstance(found, Operation)
    assert found.path == "/x/{id}"
    pointers = load_document(made).pointers
    owner = pointers.follow(pointers.at("#/components/schemas/Pet"))["properties"]["o"]["$ref"]
    assert pointers.at(owner) == {}


def test_swagger_parts_go_where_swagger_keeps_them() -> None:
    root = {"swagger": "2.0", "paths": {"/a": {"$ref": "p.json"}}}
    shelf = Shelf(
        {
            "https://docs.example.com/api/p.json": {
                "post": {"parameters": [{"name": "b", "in": "body", "schema": {"$ref": "s.json#/definitions/S"}}]}
            },
            "https://docs.example.com/api/s.json": {"definitions": {"S": {"type": "object"}}},
        }
    )
    made, _ = together(root, shelf)
    assert made["paths"]["/a"] == {"$ref": "#/x-path-items/p"}
    assert made["definitions"] == {"S": {"type": "object"}}


def test_files_are_read_below_the_folder_only(tmp_path: Path) -> None:
    folder = tmp_path / "api"
    (folder / "schemas").mkdir(parents=True)
    (folder / "schemas" / "pet name.yaml").write_text("type: object\nproperties: {tag: {$ref: ../tag.yaml}}\n")
    (folder / "tag.yaml").write_text("type: string\n")
    (tmp_path / "secret.yaml").write_text("type: integer\n")
    (folder / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    names = ("schemas/pet%20name.yaml", "../secret.yaml", "link.yaml", "/etc/hostname", "absent.yaml")
    root = document({"/a": {"post": operation(body={"anyOf": [{"$ref": name} for name in names]})}})
    base = (folder / "openapi.yaml").as_uri()
    made, notes = asyncio.run(bundled(root, base, folder_source(folder), {}))
    assert list(made["components"]["schemas"]) == ["pet_name", "tag"]
    assert len([note for note in notes if "outside the folder" in note]) == 3
    assert any("absent.yaml" in note for note in notes)


def test_documents_at_hand_need_no_reading() -> None:
    root = document({"/a": {"post": operation(body={"$ref": "schemas/pet.yaml#/Pet"})}})
    documents = {"schemas/pet.yaml": {"Pet": {"$ref": "tag.yaml"}}, "schemas/tag.yaml": {"type": "string"}}
    made, notes = asyncio.run(bundled(root, NOWHERE, None, given(documents, NOWHERE)))
    assert notes == ()
    assert made["components"]["schemas"] == {"Pet": {"$ref": "#/components/schemas/tag"}, "tag": {"type": "string"}}
    _, notes = asyncio.run(bundled(root, NOWHERE, None, {}))
    assert notes == ("schemas/pet.yaml cannot be used: it was not handed over with the document.",)
