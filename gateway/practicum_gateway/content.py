"""What was said, put on spans in the form of the GenAI conventions: for the tenants whose operator asked for it alone.

A tenant that is not named has no `Content`, so there is nothing that could put a word of it there.
"""

import json
import re
from collections.abc import Iterable, Sequence

from opentelemetry.trace import Span
from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message

ALL = "*"
"""Stands for every tenant."""
_KEYLIKE = re.compile(r"\b(?:sk|pk|rk|gsk|xai|prk|key|AIza)[-_][\w*.-]{6,}|Bearer\s+\S+", re.IGNORECASE)
_MASK = "[key]"
_SHORTEST_KEY = 8  # shorter ones, such as EMPTY, are no secrets and occur in any text
_LONGEST_TEXT = 8_192
_LONGEST = 65_536
"""Characters that a text, and that a whole attribute may have."""


def without_keys(text: str, *keys: str | None) -> str:
    """The text without these keys, and without anything that looks like one."""
    for key in keys:
        if key is not None and len(key) >= _SHORTEST_KEY:
            text = text.replace(key, _MASK)
    return _KEYLIKE.sub(_MASK, text)


class Content:
    """Puts prompts, answers, arguments and results on the spans of one tenant; long ones are cut."""

    def asked(self, span: Span, messages: Sequence[Message], key: str | None) -> None:
        """Say what a model was asked; of a long conversation, the latest messages.

        Args:
            span: of the call.
            messages: the conversation.
            key: the provider's key, which is taken out.
        """
        kept: list[str] = []
        room = _LONGEST
        for message in reversed(messages):
            said = _json(_message(message), key)
            if len(said) > room:
                break
            room -= len(said) + 1
            kept.append(said)
        span.set_attribute("gen_ai.input.messages", f"[{','.join(reversed(kept))}]")
        if len(kept) < len(messages):
            span.set_attribute("practicum.content.messages_left_out", len(messages) - len(kept))

    def answered(self, span: Span, message: Message, finish_reason: str, reasoning: str | None) -> None:
        """Say what a model answered.

        Args:
            span: of the call.
            message: its turn, without the provider's key.
            finish_reason: why it ended.
            reasoning: what it thought before.
        """
        said = _message(message)
        thought: list[JsonValue] = [] if reasoning is None else [{"type": "reasoning", "content": reasoning}]
        reason = "tool_call" if finish_reason == "tool_calls" else finish_reason
        answer: JsonObject = {**said, "parts": [*thought, *_parts(message)], "finish_reason": reason}
        span.set_attribute("gen_ai.output.messages", f"[{_json(answer)}]")

    def called(self, span: Span, arguments: JsonObject) -> None:
        """Say with what a tool is called, the connector's credentials being taken out already."""
        span.set_attribute("gen_ai.tool.call.arguments", _json(arguments))

    def observed(self, span: Span, content: str) -> None:
        """Say what a model is told of the call."""
        try:
            value: JsonValue = json.loads(content)
        except ValueError:
            value = content
        span.set_attribute("gen_ai.tool.call.result", _json(value if isinstance(value, dict) else {"content": value}))


def _message(message: Message) -> JsonObject:
    return {"role": message.role, "parts": [*_parts(message)]}


def _parts(message: Message) -> Iterable[JsonObject]:
    if message.tool_call_id is not None:
        yield {"type": "tool_call_response", "id": message.tool_call_id, "response": message.content}
    elif message.content is not None:
        yield {"type": "text", "content": message.content}
    for call in message.tool_calls:
        arguments: JsonValue = call.arguments if call.malformed is None else call.malformed
        yield {"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments}


def _json(value: JsonValue, key: str | None = None) -> str:
    """JSON without keys, each text cut; the whole of it as one cut text where it is too long all the same."""
    whole = json.dumps(_cut(value, key), ensure_ascii=False, separators=(",", ":"))
    if len(whole) <= _LONGEST:
        return whole
    return json.dumps({"cut": whole[: _LONGEST // 2]}, ensure_ascii=False)


def _cut(value: JsonValue, key: str | None) -> JsonValue:
    if isinstance(value, str):
        text = without_keys(value, key)
        return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} ... ({len(text)} characters)"
    if isinstance(value, dict):
        return {without_keys(name, key): _cut(each, key) for name, each in value.items()}
    return [_cut(each, key) for each in value] if isinstance(value, list) else value
