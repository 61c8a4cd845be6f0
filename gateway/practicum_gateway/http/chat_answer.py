"""Chat completions in OpenAI's form: whole, and as the chunks of a stream. Pure."""

import json
import time

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.models import Usage, parted
from practicum_gateway.episodes.chat import Speaker
from practicum_gateway.models.chat_format import outgoing_call
from practicum_gateway.models.provider import Completed

DONE = "data: [DONE]\n\n"


def completion(speaker: Speaker, asked: str, completed: Completed) -> JsonObject:
    """The whole answer.

    Args:
        speaker: who answers.
        asked: the model asked for.
        completed: what the model answered.
    """
    message: JsonObject = {"role": "assistant", "content": completed.message.content}
    if completed.message.tool_calls:
        message["tool_calls"] = [outgoing_call(wish) for wish in completed.message.tool_calls]
    return {
        **_base(speaker, asked, "chat.completion"),
        "choices": [
            {"index": 0, "message": message, "finish_reason": completed.finish_reason, "logprobs": None},
        ],
        "usage": _usage(completed.usage),
        **({"cached": True} if completed.cached else {}),
    }


class Chunks:
    """The chunks of one streamed answer, each a server-sent event."""

    def __init__(self, speaker: Speaker, asked: str, *, with_usage: bool) -> None:
        """Begin a stream.

        Args:
            speaker: who answers.
            asked: the model asked for.
            with_usage: whether the last chunk reports the tokens.
        """
        self._base = _base(speaker, asked, "chat.completion.chunk")
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


def model_of(speaker: Speaker, asked: str) -> str:
    """The model that an answer names: the one asked for, unless another alias answers in its place."""
    return asked if parted(asked)[0] == speaker.model else speaker.model


def _base(speaker: Speaker, asked: str, kind: str) -> JsonObject:
    """What every part of an answer says."""
    return {
        "id": f"chatcmpl-{speaker.call}",
        "object": kind,
        "created": int(time.time()),
        "model": model_of(speaker, asked),
        "version": speaker.version,
    }


def _event(data: JsonObject) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n"


def _usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
