"""Messages, tools and calls in OpenAI's chat form, both ways. Pure."""

import secrets

from pydantic import TypeAdapter, ValidationError

from practicum.codecs.bodies import chat_body, outgoing, outgoing_call
from practicum.contracts.base import JsonObject
from practicum.contracts.messages import ToolCall
from practicum.episode.offering import definition
from practicum_gateway.models.provider import Prompt

__all__ = ["body_of", "definition", "incoming_call", "outgoing", "outgoing_call"]

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


def body_of(prompt: Prompt) -> JsonObject:
    """What a server is asked that speaks OpenAI's form, or whatever litellm makes that form for."""
    definitions = prompt.definitions
    if definitions is None:
        definitions = tuple(definition(tool) for tool in prompt.tools)
    return chat_body(prompt.spec.target, prompt.messages, definitions, prompt.sampling)


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
