# ruff: noqa: RUF001
"""Conversations of every kind, drawn for one codec: what no dialect can tell apart is left out."""

from typing import Any

from hypothesis import strategies as st
from pydantic import JsonValue

from practicum.codecs.codec import Codec, Turn
from practicum.contracts.base import JsonObject
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tools import Effect, Tool

BARE = {"qwen3-coder": ("</parameter>", "</function>"), "glm": ("</arg_value>",)}
"""What ends an argument that stands without quotes, and so cannot be part of one."""
_NASTY = (
    *('"', "'", "\\", "\n", "{", "}", "[", "]", "é", "日本", "\U0001f389", "null", "True", "1", "```", "<", "</", "|>"),
    *(
        "<tool_call>",
        "</tool_call>",
        "[TOOL_CALLS]",
        "[ARGS]",
        "<|tool_call|>",
        "<｜tool▁sep｜>",
        "<think>",
        "; ",
        ", ",
    ),
)


def tool(name: str, **properties: JsonObject) -> Tool:
    needed: list[JsonValue] = []
    needed.extend([*properties][:1])
    schema: JsonObject = {"type": "object", "properties": dict(properties), "required": needed}
    return Tool(
        name=name,
        connector="crm",
        operation=name,
        description=f"What {name} does.",
        input_schema=schema,
        effect=Effect.READ,
        method="GET",
        path="/",
    )


ORDER = tool("crm_get_order", order_id={"type": "integer"}, note={"type": "string"})
MIXED = tool(
    "erp-post.entry",
    text={"type": "string"},
    amount={"type": "number"},
    paid={"type": "boolean"},
    state={"enum": ["open", "5", "shut"]},
    tags={"type": "array", "items": {"type": "string"}},
    extra={"type": "object"},
)
PING = tool("ping")
TOOLS = (ORDER, MIXED, PING)

_letters = st.text(st.characters(codec="utf-8"), max_size=12)
_texts = st.lists(st.sampled_from(_NASTY) | _letters, max_size=5).map("".join)
_json: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=5,
)


def _strings(codec: Codec) -> st.SearchStrategy[str]:
    return _texts.filter(lambda text: not any(end in text for end in BARE.get(codec.name, ())))


@st.composite
def _arguments(draw: st.DrawFn, codec: Codec, name: str) -> JsonObject:
    if name == "ping":
        return {}
    if name == ORDER.name:
        return {"order_id": draw(st.integers()), "note": draw(_strings(codec))}
    drawn: dict[str, st.SearchStrategy[Any]] = {
        "text": _strings(codec),
        "amount": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        "paid": st.booleans(),
        "state": st.sampled_from(["open", "5"]),
        "tags": st.lists(_strings(codec), max_size=3),
        "extra": st.dictionaries(_strings(codec), _json, max_size=2),
    }
    whole: JsonObject = {key: draw(strategy) for key, strategy in drawn.items() if key == "text" or draw(st.booleans())}
    return whole if not any(end in repr(whole) for end in BARE.get(codec.name, ())) else {"text": "plain"}


def _said(codec: Codec) -> st.SearchStrategy[str]:
    shut_out = (
        "<think>",
        "</think>",
        "[THINK]",
        "[/THINK]",
        *getattr(codec, "begins", ("<tool_call>",)),
        *getattr(codec, "leads", ()),
        *codec.marks,
    )
    if codec.name == "harmony":
        shut_out = (*shut_out, "<|", "to=")

    def plain(text: str) -> bool:
        return bool(text) and not any(mark in text for mark in shut_out)

    return _texts.map(str.strip).filter(plain)


@st.composite
def turns(draw: st.DrawFn, codec: Codec, *, thinking: bool = True) -> Turn:
    """A turn with a thought, words and parallel calls, each or none of them, numbered as in a conversation's first."""
    content = draw(st.just("") | _said(codec))
    names = draw(st.lists(st.sampled_from([tool.name for tool in TOOLS]), max_size=3))
    calls = tuple(
        ToolCall(id=f"call_{number}", name=name, arguments=draw(_arguments(codec, name)))
        for number, name in enumerate(names, 1)
    )
    message = Message(role="assistant", content=content if content or not calls else None, tool_calls=calls)
    thinks = thinking and getattr(codec, "thinking", None) is not None
    return Turn(message, draw(st.none() | _said(codec)) if thinks else None)


@st.composite
def messages(draw: st.DrawFn, codec: Codec) -> Message:
    """Anything that may stand in a conversation."""
    role = draw(st.sampled_from(("user", "tool", "assistant")))
    if role == "assistant":
        return draw(turns(codec, thinking=False)).message
    return Message(role="user" if role == "user" else "tool", content=draw(_texts))
