import json

import pytest

from practicum.codecs.chatml import ChatMLCompact
from practicum.codecs.codec import text_of
from practicum.codecs.registry import codec_named
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Effect, Tool
from practicum.errors import ConfigurationError

CODEC = ChatMLCompact()
ORDER = Tool(
    name="erp_get_order",
    connector="erp",
    operation="get_order",
    description="Get an order.",
    input_schema={"type": "object", "properties": {"order_id": {"type": "integer"}}, "required": ["order_id"]},
    effect=Effect.READ,
    method="GET",
    path="/orders/{order_id}",
)
CONVERSATION = (
    Message(role="system", content="Do the task."),
    Message(role="user", content="Where is order 1042?"),
    Message(role="assistant", tool_calls=(ToolCall(id="call_1", name="erp_get_order", arguments={"order_id": 1042}),)),
    Message(role="tool", content='{"id": 1042, "status": "shipped"}', tool_call_id="call_1"),
)


def test_a_conversation_is_rendered_as_the_picture_shows() -> None:
    assert text_of(CODEC.render(CONVERSATION, (ORDER,))) == (
        "<|im_start|>system\n"
        "Do the task.\n"
        'Tools, called as <tool_call>{"name":"...","arguments":{...}}</tool_call>:\n'
        "erp_get_order(order_id: int)<|im_end|>\n"
        "<|im_start|>user\n"
        "Where is order 1042?<|im_end|>\n"
        "<|im_start|>assistant\n"
        '<tool_call>{"name":"erp_get_order","arguments":{"order_id":1042}}</tool_call><|im_end|>\n'
        "<|im_start|>tool\n"
        '{"id":1042,"status":"shipped"}<|im_end|>\n'
        "<|im_start|>assistant\n"
    )


def test_without_a_system_message_the_tools_still_are_listed() -> None:
    assert text_of(CODEC.render(CONVERSATION[1:2], (ORDER,))).startswith("<|im_start|>system\nTools, called as")
    assert text_of(CODEC.render(CONVERSATION[1:2], ())).startswith("<|im_start|>user\n")


def test_another_rendering_would_be_another_template() -> None:
    # Adapters are bound to this hash: whoever changes the rendering must train them again and write the new one here.
    assert CODEC.template_hash == "6e8d363dce96f1ae341502bb07fcab38d9da76d366ef74b744a9c88d807fb30d"


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name":"erp_get_order","arguments":{"order_id":10',
        '<tool_call>{"name":"erp_get_order","arguments":{"order_id":1}}',
        '<tool_call>{"name":"erp_get_order","arguments":[1]}</tool_call>',
        '<tool_call>{"name":"erp_get_order","arguments":{"x":NaN}}</tool_call>',
        '<tool_call>{"name":"erp_get_order","arguments":{},"more":1}</tool_call>',
        "<tool_call>erp_get_order(1)</tool_call>",
        "<tool_call></tool_call>",
        '<tool_call>{"name":"erp_get_order","arguments":' + '{"a":' * 5000 + "</tool_call>",
    ],
)
def test_what_cannot_be_read_is_kept_as_it_was_sampled(text: str) -> None:
    (call,) = CODEC.parse(text, (), 3).message.tool_calls
    assert call.malformed == text
    assert call.arguments == {}
    assert call.id == "call_4"
    assert text_of(CODEC.turn(Message(role="assistant", tool_calls=(call,)))) == text + "<|im_end|>"


def test_the_name_of_a_malformed_call_is_told_where_it_can_be_read() -> None:
    (call,) = CODEC.parse('<tool_call>{"name": "erp_get_order", "arguments": {', (), 0).message.tool_calls
    assert call.name == "erp_get_order"


def test_one_bad_call_does_not_spoil_its_neighbours() -> None:
    good = '<tool_call>{"name":"a","arguments":{}}</tool_call>'
    message = CODEC.parse(f"First.\n{good}\n<tool_call>{{broken\n{good}", (), 0).message
    assert message.content == "First."
    assert [(call.name, call.malformed is None) for call in message.tool_calls] == [
        ("a", True),
        ("", False),
        ("a", True),
    ]


def test_a_tag_within_an_argument_is_text() -> None:
    note = "ends with </tool_call> and <tool_call>"
    written = json.dumps({"name": "crm_add_note", "arguments": {"text": note}})
    (call,) = CODEC.parse(f"<tool_call>{written}</tool_call>", (), 0).message.tool_calls
    assert call.arguments == {"text": note}


def test_numbers_of_a_tool_result_stay_as_the_system_wrote_them() -> None:
    result = Message(
        role="tool", content='{ "paid": 10.50,\n "id": 12345678901234567890, "note": "a  b" }', tool_call_id="c"
    )
    rendered = text_of(CODEC.render((Message(role="user", content="?"), result), ()))
    assert '{"paid":10.50,"id":12345678901234567890,"note":"a  b"}<|im_end|>' in rendered


def test_a_tool_result_that_only_looks_like_json_is_left_alone() -> None:
    result = Message(role="tool", content="{ not json }", tool_call_id="c")
    assert "{ not json }" in text_of(CODEC.render((Message(role="user", content="?"), result), ()))


def test_an_unknown_codec_is_an_error_that_names_the_known() -> None:
    assert codec_named("chatml-compact").name == "chatml-compact"
    with pytest.raises(ConfigurationError, match="chatml-compact"):
        codec_named("klingon")
