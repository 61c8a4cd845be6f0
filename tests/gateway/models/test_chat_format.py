"""Messages and calls survive the way to OpenAI's form and back."""

import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Tool
from practicum_gateway.models.chat_format import definition, incoming_call, outgoing, outgoing_call


@pytest.mark.parametrize(
    ("arguments", "parsed", "malformed"),
    [
        ('{"id": 1}', {"id": 1}, None),
        ("", {}, None),
        ("  ", {}, None),
        ("{}", {}, None),
        ('{"id": 1', {}, '{"id": 1'),
        ("[1]", {}, "[1]"),
        ("null", {}, "null"),
        ('"text"', {}, '"text"'),
    ],
)
def test_arguments_are_an_object_or_malformed(arguments: str, parsed: JsonObject, malformed: str | None) -> None:
    call = incoming_call("call_1", "f", arguments)
    assert (call.arguments, call.malformed) == (parsed, malformed)


def test_a_call_comes_back_as_it_went_out() -> None:
    for call in (
        ToolCall(id="c1", name="f", arguments={"text": "Größe", "n": 1.5, "deep": {"list": [None, True]}}),
        ToolCall(id="c2", name="f", arguments={}, malformed='{"id": '),
    ):
        wire = outgoing_call(call)
        function = wire["function"]
        assert isinstance(function, dict)
        assert isinstance(function["arguments"], str)
        assert incoming_call(str(wire["id"]), str(function["name"]), function["arguments"]) == call


def test_a_call_without_an_id_gets_one_of_its_own() -> None:
    first, second = incoming_call(None, "f", "{}"), incoming_call("", "f", "{}")
    assert first.id != second.id
    assert first.id.startswith("call_")


def test_messages_go_out_as_chat_completions_write_them() -> None:
    call = ToolCall(id="c1", name="f", arguments={"a": 1})
    assert outgoing(Message(role="assistant", tool_calls=(call,))) == {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
    }
    assert outgoing(Message(role="tool", content="ok", tool_call_id="c1")) == {
        "role": "tool",
        "content": "ok",
        "tool_call_id": "c1",
    }
    assert outgoing(Message(role="assistant")) == {"role": "assistant", "content": ""}


def test_a_tool_is_defined_by_name_description_and_schema(refund_tool: Tool) -> None:
    assert definition(refund_tool) == {
        "type": "function",
        "function": {
            "name": "erp_refund_order",
            "description": "Refund an order.",
            "parameters": refund_tool.input_schema,
        },
    }
