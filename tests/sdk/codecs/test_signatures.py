from practicum.codecs.signatures import signature
from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Effect, Tool


def _signature(properties: JsonObject, *required: str, **more: object) -> str:
    schema: JsonObject = {"type": "object", "properties": properties, "required": list(required)}
    schema.update(more)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return signature(
        Tool(
            name="t",
            connector="c",
            operation="o",
            description="",
            input_schema=schema,
            effect=Effect.READ,
            method="GET",
            path="/",
        )
    )


def test_optional_arguments_carry_a_question_mark_and_keep_their_order() -> None:
    assert _signature({"b": {"type": "string"}, "a": {"type": "integer"}}, "a") == "t(b?: str, a: int)"


def test_choices_are_written_out_unless_they_are_many() -> None:
    assert _signature({"p": {"type": "string", "enum": ["low", "high"]}}, "p") == 't(p: "low"|"high")'
    assert _signature({"p": {"type": "integer", "enum": list(range(30))}}, "p") == "t(p: int)"


def test_objects_and_arrays_show_what_they_hold() -> None:
    line: JsonObject = {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}
    assert _signature({"lines": {"type": "array", "items": line}}, "lines") == "t(lines: {sku: str}[])"


def test_references_and_unions_with_null_are_followed() -> None:
    found = _signature(
        {"x": {"anyOf": [{"$ref": "#/$defs/Amount"}, {"type": "null"}]}, "y": {"type": ["boolean", "null"]}},
        "x",
        **{"$defs": {"Amount": {"type": "number"}}},
    )
    assert found == "t(x: num, y?: bool)"


def test_a_recursive_schema_ends() -> None:
    node: JsonObject = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    assert "object" in _signature({"root": {"$ref": "#/$defs/Node"}}, "root", **{"$defs": {"Node": node}})
    loop: JsonObject = {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}
    assert _signature({"x": {"$ref": "#/$defs/A"}}, "x", **{"$defs": loop}) == "t(x: any)"


def test_what_has_no_single_type_is_any() -> None:
    assert _signature({"x": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}, "x") == "t(x: any)"
    assert _signature({"x": {}}, "x") == "t(x: any)"
