"""Chat completions in OpenAI's form: whole, and as the chunks of a stream. Pure."""

import json
import time

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.models import Usage
from practicum_gateway.models.chat_format import outgoing_call
from practicum_gateway.models.provider import Completed

DONE = "data: [DONE]\n\n"


def completion(call: str, model: str, completed: Completed) -> JsonObject:
    """The whole answer.

    Args:
        call: id of the model call.
        model: the alias asked for.
        completed: what the model answered.
    """
    message: JsonObject = {"role": "assistant", "content": completed.message.content}
    if completed.message.tool_calls:
        message["tool_calls"] = [outgoing_call(wish) for wish in completed.message.tool_calls]
    return {
        "id": f"chatcmpl-{call}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {"index": 0, "message": message, "finish_reason": completed.finish_reason, "logprobs": None},
        ],
        "usage": _usage(completed.usage),
    }


class Chunks:
    """The chunks of one streamed answer, each a server-sent event."""

    def __init__(self, call: str, model: str, *, with_usage: bool) -> None:
        """Begin a stream.

        Args:
            call: id of the model call.
            model: the alias asked for.
            with_usage: whether the last chunk reports the tokens.
        """
        self._base: JsonObject = {
            "id": f"chatcmpl-{call}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
        }
        self._with_usage = with_usage

    def first(self) -> str:
        """Says who speaks."""
        return self._chunk({"role": "assistant", "content": ""})

    def text(self, text: str) -> str:
        """A piece of text."""
        return self._chunk({"content": text})

    def last(self, completed: Completed) -> str:
        """The calls, each whole, the finish reason, the tokens if asked for, and the end."""
        calls = [
            self._chunk({"tool_calls": [{"index": index, **outgoing_call(wish)}]})
            for index, wish in enumerate(completed.message.tool_calls)
        ]
        ending = [*calls, self._chunk({}, completed.finish_reason)]
        if self._with_usage:
            ending.append(_event({**self._base, "choices": [], "usage": _usage(completed.usage)}))
        return "".join((*ending, DONE))

    def error(self, problem: JsonObject) -> str:
        """What went wrong after the stream began; clients raise it."""
        return _event(problem)

    def _chunk(self, delta: JsonObject, finish_reason: JsonValue = None) -> str:
        choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return _event({**self._base, "choices": [choice]})


def _event(data: JsonObject) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def _usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
