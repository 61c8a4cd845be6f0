"""Messages, tools and calls in OpenAI's chat form, both ways. Pure."""

import secrets

from pydantic import TypeAdapter, ValidationError

from practicum.codecs.bodies import outgoing, outgoing_call
from practicum.contracts.base import JsonObject
from practicum.contracts.messages import ToolCall
from practicum.episode.offering import definition

__all__ = ["definition", "incoming_call", "outgoing", "outgoing_call"]

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


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
