"""Calls that never become invocations: each is answered so that the model can mend it. Pure."""

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches

from practicum.contracts.episodes import Limits
from practicum.contracts.messages import ToolCall
from practicum.contracts.tools import CallStatus, Observation, Tool

_NAMED = 20
_SHOWN = 500
_NOT_JSON = re.compile(r"<function=|<arg_key>|\A\[?\s*[A-Za-z_][\w.-]*\(")
"""Signs of a dialect that writes arguments within tags of their own, or as Python."""


def refusal(wish: ToolCall, place: int, tools: Sequence[Tool], limits: Limits) -> Observation | None:
    """What to answer to a call that cannot be made; None when it can.

    Args:
        wish: the call as the model gave it.
        place: its index within the turn.
        tools: the tools on offer.
        limits: the episode's limits.
    """
    if place >= limits.calls_per_step:
        return _mendable(
            f"This call was not made: a turn may have {limits.calls_per_step} calls at most. Make it in your next turn."
        )
    tool = next((tool for tool in tools if wish.name in (tool.name, tool.address)), None)
    if wish.malformed is not None:
        return _mendable(_malformed(wish.malformed, tool))
    if tool is None:
        return _mendable(_unknown(wish.name, tools))
    return None


def _mendable(text: str) -> Observation:
    return Observation(status=CallStatus.ERROR, content=text)


def _malformed(sampled: str, tool: Tool | None) -> str:
    shown = sampled if len(sampled) <= _SHOWN else sampled[:_SHOWN] + " ..."
    asked = "Give the arguments as one JSON object"
    fitting = "that fits"
    if _NOT_JSON.search(sampled):
        asked, fitting = "Make it again in the same form, whole, with arguments", "that fit"
    text = f"This call could not be read: {shown!r}. {asked}"
    if tool is None:
        return f"{text}."
    return f"{text} {fitting} the schema of {tool.name}: {json.dumps(tool.input_schema, ensure_ascii=False)}"


def _unknown(name: str, tools: Sequence[Tool]) -> str:
    names = [tool.name for tool in tools]
    if not names:
        return f"There is no tool '{name}': this task has no tools. Answer in words."
    near = get_close_matches(name, names, n=_NAMED, cutoff=0.5) or names[:_NAMED]
    return f"There is no tool '{name}'. Call one of these: {', '.join(near)}."
