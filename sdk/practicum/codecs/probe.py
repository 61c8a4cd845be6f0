"""A fixed conversation with every kind of message, whose rendering tells one template from another."""

import hashlib
from functools import cache

from practicum.codecs.codec import Codec, text_of
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Effect, Tool

TOOL = Tool(
    name="shop_get",
    connector="shop",
    operation="get",
    description="",
    effect=Effect.READ,
    method="GET",
    path="/",
    input_schema={
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "integer"},
            "state": {"enum": ["open", "shut"]},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string"}}}},
            "extra": {},
        },
    },
)
CONVERSATION = (
    Message(role="system", content="S"),
    Message(role="user", content="U"),
    Message(
        role="assistant",
        content="A",
        tool_calls=(
            ToolCall(id="call_1", name="shop_get", arguments={"id": 1, "state": "open"}),
            ToolCall(id="call_2", name="", arguments={}, malformed="<tool_call>{"),
        ),
    ),
    Message(role="tool", content='{"a": [1, "b c"]}', tool_call_id="call_1"),
    Message(role="tool", content="not found", tool_call_id="call_2"),
)


@cache
def controls_of(codec: Codec) -> frozenset[str]:
    """The control tokens that a codec writes or reads."""
    rendered = (*codec.render(CONVERSATION, (TOOL,)), *codec.turn(CONVERSATION[2], "T"))
    return frozenset(piece.text for piece in rendered if piece.control) | {*codec.stops, *codec.marks}


@cache
def hash_of(codec: Codec) -> str:
    """SHA-256 of what a codec renders for the conversation, of how it writes a thought if it does, and of its grammar.

    The conversation is rendered with and without its system message and tools.
    """
    rendered = text_of(codec.render(CONVERSATION, (TOOL,))) + text_of(codec.render(CONVERSATION[1:], ()))
    said = CONVERSATION[2]
    thinking = text_of(codec.turn(said, "T"))
    if thinking != text_of(codec.turn(said)):
        rendered += thinking
    return hashlib.sha256(f"{codec.name}\n{rendered}\n{codec.grammar((TOOL,))}".encode()).hexdigest()
