"""A trajectory as a row of OpenAI-style chat data."""

import json

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message
from practicum.contracts.trajectory import Trajectory
from practicum.errors import RequestError


def chat_row(trajectory: Trajectory) -> JsonObject:
    """The accepted conversation as OpenAI's chat fine-tuning takes it: `messages`, and `tools` where any were offered.

    The arguments of a call are JSON text, as OpenAI's API has them; a trainer whose chat template wants an object
    parses them.

    Raises:
        RequestError: it holds no assistant message, or a call that cannot be written in this form.
    """
    if not any(message.role == "assistant" for message in trajectory.messages):
        raise RequestError(f"Episode {trajectory.episode} has no message of the model's.")
    row: JsonObject = {"messages": [_message(message, trajectory.episode) for message in trajectory.messages]}
    if trajectory.tools:
        row["tools"] = list(trajectory.tools)
    return row


def _message(message: Message, episode: str) -> JsonObject:
    body: JsonObject = {"role": message.role, "content": message.content}
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    if any(call.malformed is not None for call in message.tool_calls):
        raise RequestError(f"Episode {episode} holds a call that could not be read.")
    if message.tool_calls:
        body["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for call in message.tool_calls
        ]
    return body
