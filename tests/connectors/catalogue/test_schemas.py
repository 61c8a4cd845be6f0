"""Documents' schemas as JSON Schema 2020-12."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from practicum_connectors import load_document
from practicum_connectors.catalogue.definitions import DefinitionTable
from practicum_connectors.catalogue.schemas import Converted, Direction, SchemaConverter
from tests.connectors.documents import Json, document


def converted(schema: Any, version: str = "3.0.3", direction: Direction = "write", **schemas: Any) -> Json:
    """The schema with its definitions, valid by the meta-schema."""
    converter = SchemaConverter(load_document(document({}, version, components={"schemas": schemas})), direction)
    made: Converted = converter.convert(schema)
    definitions = DefinitionTable(converter).closure(made.needs)
    whole: Any = made.schema if isinstance(made.schema, dict) else {"allOf": [made.schema]}
    whole = {**whole, **({"$defs": definitions} if definitions else {})}
    Draft202012Validator.check_schema(whole)
    return whole


def accepts(schema: Json, value: Any) -> bool:
    checked: Any = Draft202012Validator(schema)
    return checked.is_valid(value)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "string", "nullable": True, "enum": ["A", "B"]},
            {"type": ["string", "null"], "enum": ["A", "B", None]},
        ),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"maximum": 9, "exclusiveMaximum": False}, {"maximum": 9}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "file"}, {"type": "string"}),
        (
            {"type": "string", "example": {"$id": "x", "$ref": "y"}},
            {"type": "string", "examples": [{"$id": "x", "$ref": "y"}]},
        ),
        ({"type": "string", "enum": [1.0, True, "x"]}, {"type": "string", "enum": ["1.0", "true", "x"]}),
        ({"enum": [0, 1, 3], "type": "integer"}, {"type": "integer", "enum": [0, 1, 3]}),
        ({"type": "string", "xml": {}, "x-y": 1, "externalDocs": {}, "deprecated": True}, {"type": "string"}),
        ({"type": "string", "minLength": "3", "pattern": "(", "required": True}, {"type": "string"}),
        (
            {"items": [{"type": "string"}, {}], "type": "array"},
            {"type": "array", "prefixItems": [{"type": "string"}, {}]},
        ),
        ({"maxItems": 10.0}, {"maxItems": 10}),
        ({"type": "any"}, {}),
    ],
)
def test_what_30_says_is_said_in_2020_12(raw: Json, expected: Json) -> None:
    assert converted(raw) == expected


def test_31_is_kept() -> None:
    raw = {
        "type": ["object", "null"],
        "properties": {"k": {"const": 3}, "t": {"prefixItems": [{"type": "string"}], "items": False}, "any": True},
        "patternProperties": {"^x": {"type": "integer"}},
        "unevaluatedProperties": False,
        "if": {"required": ["k"]},
        "then": {"minProperties": 2},
        "dependentRequired": {"k": ["t"]},
    }
    assert converted(raw, "3.1.0") == raw


def test_property_names_are_never_keywords() -> None:
    raw: Json = {
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"type": "string"},
            "properties": {"type": "object"},
            "nullable": {"type": "boolean"},
            "$ref": {"type": "string"},
            "required": {"type": "integer"},
            "enum": {"type": "array", "items": {}},
            "example": {"type": "string"},
        },
    }
    assert converted(raw) == raw


def test_recursion_is_kept_as_definitions() -> None:
    node = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}},
    }
    schema = converted({"$ref": "#/components/schemas/Node"}, Node=node)
    assert list(schema["$defs"]) == ["Node"]
    assert accepts(schema, {"children": [{"children": []}]})
    assert not accepts(schema, {"children": [{"children": 3}]})


def test_only_reachable_definitions_all_the_way_down() -> None:
    schemas: Json = {
        "A": {"properties": {"b": {"$ref": "#/components/schemas/B"}}},
        "B": {"allOf": [{"$ref": "#/components/schemas/C"}]},
        "C": {"additionalProperties": {"$ref": "#/components/schemas/A"}},
        "Unused": {"type": "string"},
    }
    assert list(converted({"$ref": "#/components/schemas/A"}, **schemas)["$defs"]) == ["A", "B", "C"]


def test_definitions_of_the_same_name_are_told_apart() -> None:
    source = document({}, components={"schemas": {"X": {"type": "string"}}, "responses": {"X": {"type": "integer"}}})
    converter = SchemaConverter(load_document(source), "write")
    made = converter.convert({"anyOf": [{"$ref": "#/components/schemas/X"}, {"$ref": "#/components/responses/X"}]})
    definitions = DefinitionTable(converter).closure(made.needs)
    assert sorted(str(value) for value in definitions.values()) == ["{'type': 'integer'}", "{'type': 'string'}"]


def test_siblings_of_references() -> None:
    raw = {"$ref": "#/components/schemas/S", "description": "mine", "maxLength": 3}
    s = {"type": "string", "description": "theirs"}
    assert converted(raw, "3.0.3", S=s) == {"$ref": "#/$defs/S", "description": "mine", "$defs": {"S": s}}
    assert not accepts(converted(raw, "3.1.0", S=s), "long")


def test_nullable_around_a_reference() -> None:
    schema = converted(
        {"nullable": True, "allOf": [{"$ref": "#/components/schemas/S"}], "description": "d"}, S={"type": "string"}
    )
    assert schema["description"] == "d"
    assert accepts(schema, None)
    assert accepts(schema, "x")
    assert not accepts(schema, 3)


def test_read_only_is_not_asked_for_and_write_only_not_expected() -> None:
    base = {
        "type": "object",
        "required": ["id", "secret", "name"],
        "properties": {
            "id": {"readOnly": True},
            "secret": {"writeOnly": True, "type": "string"},
            "name": {"type": "string"},
        },
    }
    written, read = converted(base), converted(base, direction="read")
    assert written["required"] == ["secret", "name"]
    assert list(written["properties"]) == ["secret", "name"]
    assert read["required"] == ["id", "name"]
    inherited = converted({"allOf": [{"$ref": "#/components/schemas/B"}, {"required": ["id", "other"]}]}, B=base)
    assert inherited["allOf"][1] == {"required": ["other"]}


CAT = {
    "type": "object",
    "properties": {"kind": {"type": "string"}, "lives": {"type": "integer"}},
    "required": ["lives"],
}
DOG = {"type": "object", "properties": {"kind": {"type": "string"}, "bark": {"type": "string"}}}


def test_a_discriminator_decides_by_its_tag() -> None:
    members = [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}]
    mapping = {"c": "#/components/schemas/Cat", "dog": "Dog", "hound": "Dog"}
    raw = {"oneOf": members, "discriminator": {"propertyName": "kind", "mapping": mapping}}
    schema = converted(raw, Cat=CAT, Dog=DOG)
    assert accepts(schema, {"kind": "c", "lives": 9})
    assert accepts(schema, {"kind": "hound", "lives": 9})  # would fit both without the tag
    assert not accepts(schema, {"kind": "c"})
    assert not accepts(schema, {"kind": "cow", "lives": 1})
    assert not accepts(schema, {"lives": 9})


def test_subtypes_are_found_from_below() -> None:
    schemas: Json = {
        "Pet": {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"type": "string"}},
            "discriminator": {"propertyName": "kind"},
        },
        "Dog": {
            "allOf": [
                {"$ref": "#/components/schemas/Pet"},
                {"properties": {"bark": {"type": "string"}}, "required": ["bark"]},
            ]
        },
        "Puppy": {"allOf": [{"$ref": "#/components/schemas/Dog"}, {"properties": {"age": {"type": "integer"}}}]},
    }
    schema = converted({"properties": {"pet": {"$ref": "#/components/schemas/Pet"}}}, **schemas)
    assert sorted(schema["$defs"]) == ["Dog", "Pet", "Puppy"]
    assert accepts(schema, {"pet": {"kind": "Dog", "bark": "w"}})
    assert accepts(schema, {"pet": {"kind": "Puppy", "bark": "w", "age": 1}})
    assert not accepts(schema, {"pet": {"kind": "Dog"}})
    assert not accepts(schema, {"pet": {"kind": "Cat"}})


def test_a_discriminator_asks_for_its_tag_where_branches_stand_in_place() -> None:
    card = {"type": "object", "properties": {"kind": {"const": "card"}, "number": {"type": "string"}}}
    raw = {"oneOf": [card, {"$ref": "#/components/schemas/Cat"}], "discriminator": {"propertyName": "kind"}}
    schema = converted(raw, "3.1.0", Cat=CAT)
    assert accepts(schema, {"kind": "card", "number": "1"})
    assert accepts(schema, {"kind": "Cat", "lives": 9})
    assert not accepts(schema, {"number": "1"})
    assert not accepts(schema, {"kind": "cow"})


def test_nullable_beside_a_reference_is_honoured() -> None:
    schema = converted({"$ref": "#/components/schemas/S", "nullable": True, "description": "d"}, S={"type": "string"})
    assert schema["description"] == "d"
    assert accepts(schema, None)
    assert accepts(schema, "x")
    assert not accepts(schema, 3)


def test_what_is_left_out_is_noted() -> None:
    converter = SchemaConverter(load_document(document({})), "write")
    made = converter.convert(
        {"type": "text", "minLength": -1, "pattern": "(?<", "enum": [], "$dynamicRef": "#x", "items": 3}
    )
    assert len(made.notes) == 6
