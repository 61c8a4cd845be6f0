"""Messages, tools and calls in OpenAI's chat form, both ways. Pure."""

import json
import secrets

from pydantic import TypeAdapter, ValidationError

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message, ToolCall
from practicum.episode.offering import definition

__all__ = ["definition", "incoming_call", "outgoing", "outgoing_call"]

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


def outgoing(message: Message) -> JsonObject:
    """A message as chat completions write it; a malformed call goes out as the model wrote it."""
    wire: JsonObject = {"role": message.role, "content": message.content}
    if message.content is None and not message.tool_calls:
        wire["content"] = ""
    if message.tool_calls:
        wire["tool_calls"] = [outgoing_call(call) for call in message.tool_calls]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def outgoing_call(call: ToolCall) -> JsonObject:
    """A tool call as chat completions write it: the arguments are a string of JSON."""
    arguments = json.dumps(call.arguments, ensure_ascii=False) if call.malformed is None else call.malformed
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def incoming_call(call_id: str | None, name: str, arguments: str) -> ToolCall:
    """A tool call as a model wrote it.

    Arguments that are no JSON object make a malformed call, never a guess; no arguments at all mean none.

    Args:
        call_id: the id given to it; one is drawn when it is missing.
        name: the tool's name.
        arguments: the text of the arguments.
    """
    identity = call_id or f"call_{secrets.token_hex(12)}"
    if not arguments.strip():
        return ToolCall(id=identity, name=name, arguments={})
    try:
        return ToolCall(id=identity, name=name, arguments=_OBJECT.validate_json(arguments))
    except ValidationError:
        return ToolCall(id=identity, name=name, arguments={}, malformed=arguments)
