"""What a model sees of big schemas."""

import json
import random
from typing import Any

from jsonschema import Draft202012Validator

from practicum_connectors import load_document
from practicum_connectors.catalogue.definitions import DefinitionTable
from practicum_connectors.catalogue.schemas import SchemaConverter
from practicum_connectors.catalogue.view import shown
from tests.connectors.documents import Json, compiled, document, operation

PREFIX = "#/components/schemas/"


def ref(name: str) -> Json:
    return {"$ref": f"{PREFIX}{name}"}


SCHEMAS: Json = {
    "Near": {"type": "object", "properties": {"far": ref("Far"), "n": {"type": "integer"}}, "required": ["n"]},
    "Far": {
        "type": "object",
        "description": "Far away. " + "word " * 60,
        "required": ["a"],
        "properties": {
            "a": {"type": "string", "maxLength": 3},
            "b": {"type": "array", "items": {"type": "integer"}},
            "kind": {"oneOf": [ref("Cat"), ref("Dog")]},
        },
        "unevaluatedProperties": False,
    },
    "Cat": {"type": "object", "required": ["lives"], "properties": {"lives": {"type": "integer"}}},
    "Dog": {"type": "object", "required": ["bark"], "properties": {"bark": {"type": "string"}}, "not": ref("Cat")},
}


def seen(most: int, raw: Json | None = None) -> tuple[Json, Json, tuple[str, ...]]:
    """The whole schema, what is shown of it, and what was cut."""
    converter = SchemaConverter(load_document(document({}, components={"schemas": SCHEMAS})), "write")
    made = converter.convert(
        raw or {"type": "object", "properties": {"near": ref("Near"), "cat": {"oneOf": [ref("Cat"), ref("Dog")]}}}
    )
    assert isinstance(made.schema, dict)
    table = DefinitionTable(converter)
    table.state(made.needs)
    view, lost = shown(made.schema, made.needs, table, most)
    return {**made.schema, "$defs": table.closure(made.needs)}, view, lost


def test_a_small_schema_is_shown_whole() -> None:
    whole, view, lost = seen(10_000)
    assert view == whole
    assert lost == ()


def value(chance: random.Random, depth: int = 0) -> Any:
    """Anything near to what the schemas speak of."""
    if depth > 3 or chance.random() < 0.2:
        plain: list[Any] = ["x", "long text", 3, None, True, [], {}]
        return chance.choice(plain)
    names = chance.sample(["near", "cat", "far", "n", "a", "b", "kind", "lives", "bark"], chance.randint(0, 4))
    return {name: value(chance, depth + 1) for name in names}


def test_what_is_cut_accepts_all_that_the_whole_accepts() -> None:
    chance = random.Random(7)  # noqa: S311 (no secret)
    values = [value(chance) for _ in range(3000)]
    values += [{"near": {"n": 1, "far": {"a": "x", "b": [1], "kind": {"lives": 3}}}}, {"cat": {"bark": "w"}}]
    for most in (0, 300, 700, 900, 1200):
        whole, view, lost = seen(most)
        assert bool(lost) == (view != whole)
        Draft202012Validator.check_schema(view)
        full: Any = Draft202012Validator(whole)
        cut: Any = Draft202012Validator(view)
        accepted = [one for one in values if full.is_valid(one)]
        assert len(accepted) > 100
        assert all(cut.is_valid(one) for one in accepted)


def test_the_nearest_is_kept_and_what_is_cut_keeps_its_fields() -> None:
    _, view, lost = seen(900)
    assert "Near" not in lost
    far = view["$defs"]["Far"]
    assert far["type"] == "object"
    assert far["properties"] == {"a": {"type": "string"}, "b": {"type": "array", "items": {}}, "kind": {}}
    assert far["description"].startswith("Far away.")


def test_a_schema_that_is_too_big_by_itself_is_cut_where_it_is_deep() -> None:
    deep: Json = {"type": "string", "description": "word " * 50}
    for _ in range(12):
        deep = {"type": "object", "properties": {"in": deep, "x": {"type": "string", "description": "word " * 50}}}
    whole, view, _ = seen(2000, {"type": "object", "properties": {"deep": deep, "near": ref("Near")}})
    assert len(json.dumps(view)) < 2600 < len(json.dumps(whole))
    assert view["properties"]["deep"]["properties"]["x"]["type"] == "string"
    assert "Near" in view["$defs"]


def test_tools_stay_within_their_budget() -> None:
    schemas = {
        f"S{n}": {
            "type": "object",
            "properties": {f"p{m}": ref(f"S{(n * 5 + m) % 200}") for m in range(8)},
            "description": "word " * 80,
        }
        for n in range(200)
    }
    made = compiled(document({"/a": {"post": operation(body=ref("S1"))}}, components={"schemas": schemas}))
    (tool,) = made.tools.values()
    assert 12_000 < len(json.dumps(tool.input_schema)) < 30_000
    assert made.report[0].fidelity == "exact"
    Draft202012Validator.check_schema(tool.input_schema)
