"""What is sent although nobody gave it."""

import json

import pytest

from tests.connectors.documents import Json, document, one_tool, operation, properties
from tests.connectors.request.bodies import FORM, MULTIPART, built, taking

SCHEMA: Json = {
    "type": "object",
    "required": ["kind", "name"],
    "properties": {"kind": {"type": "string", "default": "note"}, "name": {"type": "string"}, "size": {"default": 3}},
}
DEFAULTS: Json = {"type": "object", "required": ["v"], "properties": {"v": {"default": 2}, "w": {"type": "string"}}}


def test_a_member_that_the_system_asks_for_is_not_asked_of_the_model_where_it_has_a_default() -> None:
    tool = one_tool(document({"/t": {"post": operation(body=SCHEMA)}}))
    assert tool.input_schema["required"] == ["name"]
    assert properties(tool)["kind"] == {"type": "string", "default": "note"}


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        ({"name": "x"}, {"kind": "note", "name": "x"}),
        ({"name": "x", "kind": "task"}, {"kind": "task", "name": "x"}),
        ({"name": "x", "size": 0}, {"kind": "note", "name": "x", "size": 0}),
    ],
)
def test_it_is_sent(arguments: Json, body: Json) -> None:
    assert json.loads(built(operation(body=SCHEMA), arguments).body or b"") == body


def test_it_is_sent_in_forms_and_parts() -> None:
    assert built(taking(FORM, SCHEMA), {"name": "x"}).body == b"kind=note&name=x"
    assert b'name="kind"\r\n\r\nnote\r\n' in (built(taking(MULTIPART, SCHEMA), {"name": "x"}).body or b"")


def test_an_optional_body_is_not_made_of_defaults_alone() -> None:
    made = operation(body=DEFAULTS, required=False)
    assert built(made, {}).body is None
    assert json.loads(built(made, {"w": "x"}).body or b"") == {"v": 2, "w": "x"}
