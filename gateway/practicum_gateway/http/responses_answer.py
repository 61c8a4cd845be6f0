"""Answers in the form of OpenAI's Responses API: whole, and as the events of a stream. Pure."""

import json
import time
from collections.abc import Iterator

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import ToolCall
from practicum.contracts.models import Usage
from practicum_gateway.episodes.chat import Speaker
from practicum_gateway.http.chat_answer import model_of
from practicum_gateway.http.responses_request import ResponsesRequest
from practicum_gateway.models.chat_format import outgoing_call
from practicum_gateway.models.provider import Completed

_CUT_OFF = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Finish reasons of turns that are not whole, and what they are called here."""


def response(speaker: Speaker, request: ResponsesRequest, completed: Completed) -> JsonObject:
    """The whole answer.

    Args:
        speaker: who answers.
        request: what was asked.
        completed: what the model answered.
    """
    return _Answer(speaker, request).ended(completed)


class ResponseEvents:
    """The events of one streamed answer, each a server-sent event."""

    def __init__(self, speaker: Speaker, request: ResponsesRequest) -> None:
        """Begin a stream.

        Args:
            speaker: who answers.
            request: what was asked.
        """
        self._answer = _Answer(speaker, request)
        self._sequence = 0
        self._said: list[str] = []

    def first(self) -> str:
        """Says that it begins."""
        begun = self._answer.begun()
        return self._event("response.created", response=begun) + self._event("response.in_progress", response=begun)

    def text(self, text: str) -> str:
        """A piece of text."""
        opening = "" if self._said else self._opened()
        self._said.append(text)
        return opening + self._event("response.output_text.delta", **self._place(), delta=text, logprobs=[])

    def last(self, completed: Completed) -> str:
        """The calls, each whole, and the whole answer."""
        whole, status = self._answer.ended(completed), status_of(completed)
        ending = [self._closed(status)] if self._said else []
        if not self._said and completed.message.content:  # what was said came with the end alone
            ending = [self.text(completed.message.content), self._closed(status)]
        first = 1 if self._said else 0
        for index, wish in enumerate(completed.message.tool_calls, start=first):
            ending += self._called(index, wish)
        return "".join((*ending, self._event(f"response.{status}", response=whole)))

    def error(self, problem: JsonObject) -> str:
        """What went wrong after the stream began; clients raise it."""
        return self._event("error", **{**problem, "message": problem.get("detail"), "param": None})

    def _opened(self) -> str:
        item = self._answer.message("", "in_progress")
        part: JsonObject = {"type": "output_text", "text": "", "annotations": []}
        return self._event("response.output_item.added", output_index=0, item={**item, "content": []}) + self._event(
            "response.content_part.added", **self._place(), part=part
        )

    def _closed(self, status: str) -> str:
        text = "".join(self._said)
        part: JsonObject = {"type": "output_text", "text": text, "annotations": []}
        return "".join(
            (
                self._event("response.output_text.done", **self._place(), text=text, logprobs=[]),
                self._event("response.content_part.done", **self._place(), part=part),
                self._event("response.output_item.done", output_index=0, item=self._answer.message(text, status)),
            )
        )

    def _called(self, index: int, wish: ToolCall) -> Iterator[str]:
        item = self._answer.wish(wish, "completed")
        begun: JsonObject = {**item, "arguments": "", "status": "in_progress"}
        place: JsonObject = {"item_id": item["id"], "output_index": index}
        yield self._event("response.output_item.added", output_index=index, item=begun)
        yield self._event("response.function_call_arguments.delta", **place, delta=item["arguments"])
        yield self._event("response.function_call_arguments.done", **place, name=wish.name, arguments=item["arguments"])
        yield self._event("response.output_item.done", output_index=index, item=item)

    def _place(self) -> JsonObject:
        return {"item_id": self._answer.message_id, "output_index": 0, "content_index": 0}

    def _event(self, kind: str, **data: JsonValue) -> str:
        # A problem, which an error is, has a type of its own.
        event: JsonObject = {**data, "type": kind, "sequence_number": self._sequence}
        self._sequence += 1
        return f"event: {kind}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"


def status_of(completed: Completed) -> str:
    """Whether a turn is whole."""
    return "incomplete" if completed.finish_reason in _CUT_OFF else "completed"


class _Answer:
    """One answer as it is told at its beginning and at its end."""

    def __init__(self, speaker: Speaker, request: ResponsesRequest) -> None:
        self.message_id = f"msg_{speaker.call}"
        self._call = speaker.call
        self._base: JsonObject = {
            "id": f"resp_{speaker.call}",
            "object": "response",
            "created_at": int(time.time()),
            "model": model_of(speaker, request.model),
            "version": speaker.version,
            "error": None,
            "incomplete_details": None,
            "instructions": request.instructions,
            "metadata": dict(request.metadata or {}),
            "parallel_tool_calls": request.parallel_tool_calls,
            "previous_response_id": None,
            "store": False,
            "temperature": request.temperature,
            "tool_choice": request.model_dump(mode="json", include={"tool_choice"})["tool_choice"],
            "tools": [tool.model_dump(mode="json") for tool in request.tools],
            "top_p": request.top_p,
            "max_output_tokens": request.max_output_tokens,
            "text": request.text.model_dump(mode="json", by_alias=True, exclude_none=True),
            "truncation": "disabled",
            "user": request.user,
        }

    def begun(self) -> JsonObject:
        return {**self._base, "status": "in_progress", "output": [], "usage": None}

    def ended(self, completed: Completed) -> JsonObject:
        cut_off = _CUT_OFF.get(completed.finish_reason)
        text, wishes = completed.message.content, completed.message.tool_calls
        said = [self.message(text, status_of(completed))] if text else []
        return {
            **self._base,
            "status": status_of(completed),
            "incomplete_details": None if cut_off is None else {"reason": cut_off},
            "output": [*said, *(self.wish(wish, "completed") for wish in wishes)],
            "usage": _usage(completed.usage),
            **({"cached": True} if completed.cached else {}),
        }

    def message(self, text: str, status: str) -> JsonObject:
        part: JsonObject = {"type": "output_text", "text": text, "annotations": []}
        return {
            "type": "message",
            "id": self.message_id,
            "role": "assistant",
            "status": status,
            "content": [part],
        }

    def wish(self, wish: ToolCall, status: str) -> JsonObject:
        function = outgoing_call(wish)["function"]
        if not isinstance(function, dict):
            raise TypeError("a call calls a function")
        return {"type": "function_call", "id": f"fc_{wish.id}", "call_id": wish.id, "status": status, **function}


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }
