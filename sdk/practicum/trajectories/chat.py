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
    row: JsonObject = {"messages": [*_conversation(trajectory)]}
    if trajectory.tools:
        row["tools"] = list(trajectory.tools)
    return row


def messages_row(trajectory: Trajectory) -> JsonObject:
    """The accepted conversation for loaders of tables: `messages`, `tools` as JSON text, and the `episode`.

    Such loaders give every tool the parameters of all others, as nulls, unless the tools are text.

    Raises:
        RequestError: as for `chat_row`.
    """
    return {
        "messages": [*_conversation(trajectory)],
        "tools": json.dumps(trajectory.tools),
        "episode": trajectory.episode,
    }


def chat_message(message: Message, episode: str) -> JsonObject:
    """A message as OpenAI's API has it.

    Args:
        message: the message.
        episode: the episode it is of, for the error.

    Raises:
        RequestError: it holds a call that could not be read.
    """
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


def _conversation(trajectory: Trajectory) -> list[JsonObject]:
    if not any(message.role == "assistant" for message in trajectory.messages):
        raise RequestError(f"Episode {trajectory.episode} has no message of the model's.")
    return [chat_message(message, trajectory.episode) for message in trajectory.messages]
