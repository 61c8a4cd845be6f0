"""Messages: what a conversation is made of."""

from typing import Literal

from practicum.contracts.base import JsonObject, Value


class ToolCall(Value):
    """A model's wish to call a tool.

    Attributes:
        id: identifies the call within its episode.
        name: exposed tool name as the model gave it.
        arguments: parsed arguments; empty when `malformed` is set.
        malformed: the text as sampled, when it could not be read as a call.
    """

    id: str
    name: str
    arguments: JsonObject
    malformed: str | None = None


class Message(Value):
    """One message of a conversation.

    Attributes:
        role: who speaks.
        content: the text; None for an assistant turn that only calls tools.
        tool_calls: the calls of an assistant turn, in the model's order.
        tool_call_id: which call a `tool` message answers.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
