"""Calls of MCP clients: each goes through the pipeline, in an episode at its own place."""

import asyncio
import re
from dataclasses import dataclass, replace
from difflib import get_close_matches

from pydantic import JsonValue

from practicum.contracts.access import Outcome
from practicum.contracts.base import JsonObject
from practicum.contracts.messages import ToolCall
from practicum.contracts.tools import CallStatus, Observation, Tool
from practicum.episode.disclosure import Search
from practicum.errors import CallError, NotFoundError, RequestError
from practicum_connectors.catalogue.search import ToolIndex
from practicum_gateway.access.principals import Actor, Principal
from practicum_gateway.access.questions import Asked, asked_as, latest_about
from practicum_gateway.episodes.chat import place_key
from practicum_gateway.house import House
from practicum_gateway.invocation.intent import Intent, hash_of_arguments
from practicum_gateway.invocation.outcomes import mendable
from practicum_gateway.mcp.looks import look, wait_for_answer
from practicum_gateway.mcp.shown import Display, Shown
from practicum_gateway.record.values import StoredEpisode, as_json
from practicum_gateway.store.engine import new_id

LOOK_SECONDS = 20.0
"""How long a client that goes on waiting is kept waiting, before it is asked again."""
_OURS = re.compile(r"(search_tools|call_tool|check_approval)(_\d+)?")
"""Names that tools beside those of systems may have."""
_SHOWN = 200
_NEAR = 5
_MOST_FITTING = 100


@dataclass(frozen=True, slots=True)
class Wish:
    """A call as it came.

    Attributes:
        tool: the name it was called by.
        arguments: its arguments.
        key: the idempotency key that the client gave.
        derived: the idempotency key that its session and the request's id come to; none outside a session.
        approval: the approval that it was told to wait for, when it looks again.
        waits: whether it goes on waiting for that approval.
    """

    tool: str
    arguments: JsonObject
    key: str | None = None
    derived: str | None = None
    approval: str | None = None
    waits: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """What became of a call.

    Attributes:
        observation: what the model is told.
        tool: the tool it was a call of, in every respect; None for a search, a look and what could not be read.
        key: its idempotency key.
        answers: the schema that the list showed of its answers, if it showed one.
    """

    observation: Observation
    tool: str | None = None
    key: str | None = None
    answers: JsonObject | None = None


async def make(house: House, caller: Principal, wish: Wish, display: Display) -> Made:
    """Make a call, once, and say how it ended or that it waits.

    Args:
        house: the services of the caller's tenant.
        caller: whose key it came with.
        wish: the call.
        display: knows what callers are shown.

    Raises:
        NotFoundError: there is no such tool for this caller.
        RequestError: it looks again at what it did not ask.
        ConflictError: the key is in use with another tool or other arguments.
        EpisodeError: the episode of its key has ended, or is not driven by its agent.
    """
    stored = None if caller.episode is None else await house.episodes.stored(caller, caller.episode)
    if _OURS.fullmatch(wish.tool):
        shown = await display.to(house, caller, stored)
        if shown.look is not None and wish.tool == shown.look.name:
            return await _told(house, stored, wish, await look(house, caller, wish.arguments))
        if shown.disclosure is not None and wish.tool in {one.name for one in shown.disclosure.tools}:
            return await _disclosed(house, caller, stored, shown, wish)
    # A tool that no list shows can be named all the same: then it is denied, and the audit log tells of it.
    tool = await _named(house, stored, wish.tool)
    if tool is None:
        raise NotFoundError(f"There is no tool '{wish.tool[:_SHOWN]}'.", mend="List the tools to see their names.")
    return await _call(house, caller, stored, tool, wish)


async def _disclosed(house: House, caller: Principal, stored: StoredEpisode | None, shown: Shown, wish: Wish) -> Made:
    """A search, or the call of a tool that one found."""
    if shown.disclosure is None:
        raise AssertionError("the two tools stand in for others")
    tools = await _perhaps(house, stored, shown, wish.arguments.get("name"))
    meant = shown.disclosure.read(ToolCall(id="", name=wish.tool, arguments=wish.arguments), tools)
    if isinstance(meant, ToolCall):
        tool = next(one for one in tools if one.name == meant.name)
        made = await _call(house, caller, stored, tool, replace(wish, arguments=meant.arguments))
        return replace(made, answers=None)
    if isinstance(meant, Search):
        meant = shown.found(await _fitting(house, stored, shown, meant), meant)
    return await _told(house, stored, wish, meant)


async def _told(house: House, stored: StoredEpisode | None, wish: Wish, observation: Observation) -> Made:
    """What no system was asked: a search, a look, a call that cannot be read; its episode records it all the same."""
    if stored is not None and not stored.episode.status.ended:
        step, call = await house.record.episodes.next_call(stored.episode.id)
        key = wish.key or wish.derived or place_key(stored.episode.id, step, call)
        told: JsonObject = {"call": call, "tool": wish.tool, "observation": as_json(observation)}
        told |= {"key": key, "arguments": wish.arguments}
        await house.record.event(stored.episode.id, "call.finished", step, told)
    return Made(observation)


async def _perhaps(house: House, stored: StoredEpisode | None, shown: Shown, name: JsonValue) -> tuple[Tool, ...]:
    """The tool that a name may mean, or else those whose names are near."""
    if not isinstance(name, str):
        return ()
    meant = await _named(house, stored, name)
    if meant is not None and meant.name in shown.names:
        return (meant,)
    near = get_close_matches(name[:_SHOWN], shown.names, n=_NEAR)
    found = [await _named(house, stored, one) for one in near]
    return tuple(tool for tool in found if tool is not None)


async def _fitting(house: House, stored: StoredEpisode | None, shown: Shown, wanted: Search) -> tuple[Tool, ...]:
    """The tools that fit, best first: an episode's as they were at its beginning, else by the index that is kept."""
    if stored is None:
        return await house.catalogue.search(wanted.query, _MOST_FITTING, within=shown.names)
    tools = [tool for tool in stored.tools if tool.name in shown.names]
    return await asyncio.to_thread(lambda: tuple(ToolIndex(tools).search(wanted.query, limit=len(tools))))


async def _call(house: House, caller: Principal, stored: StoredEpisode | None, tool: Tool, wish: Wish) -> Made:
    try:
        intent = await _intent(house, caller, stored, tool, wish)
    except CallError as error:  # arguments that are no JSON
        return Made(mendable(error), tool.name)
    if wish.approval is not None and wish.waits:
        await wait_for_answer(house, wish.approval, LOOK_SECONDS)
    return Made(await house.pipeline.invoke(intent), tool.name, intent.key, tool.output_schema)


async def _intent(house: House, caller: Principal, stored: StoredEpisode | None, tool: Tool, wish: Wish) -> Intent:
    key = wish.key or wish.derived
    intent = Intent(principal=caller, tool=tool.name, arguments=wish.arguments, key=key or "", episode=caller.episode)
    asked = await _asked(house, intent, tool, wish)
    if asked is not None:
        approval = asked.approval
        intent = replace(intent, key=asked.key, step=approval.step, call=approval.call)
        return intent if stored is None else replace(intent, mode=stored.episode.mode)
    if stored is None:
        return replace(intent, key=key or new_id("call"), fresh=key is None)
    placed = await house.chat.place(stored, tool.name)
    return replace(
        intent, key=key or placed.key, step=placed.step, call=placed.call, mode=placed.mode, fresh=key is None
    )


async def _asked(house: House, intent: Intent, tool: Tool, wish: Wish) -> Asked | None:
    """The question that was asked about this very call, where it is made again to look at the answer.

    A principal's client that gives keys says itself which call is which. Of others the same call again is the one that
    waits: a model that looks again must not ask a second time, and what a person denied it stays denied for as long as
    a yes would have held. So it is in an episode, whatever the key: frameworks make keys of the model's own ids of its
    calls, and when it looks again it gives another one.

    Raises:
        RequestError: the approval that is named was asked for another call, or by another caller.
        CallError: the arguments are no JSON.
    """
    digest = hash_of_arguments(intent.arguments)
    if wish.approval is not None:
        named = await asked_as(house.store, intent.scope, wish.approval)
        if named is None or (named.approval.tool, named.approval.arguments_hash) != (tool.name, digest):
            raise RequestError("What is looked at again is not this call.", mend="Make the call as it was made first.")
        return named
    decision = await house.rulebook.decide(tool, _actor(intent.principal), intent.arguments)
    if decision.outcome is not Outcome.ASK or (wish.key is not None and intent.episode is None):
        return None
    if intent.key and await house.ledger.recall(intent) is not None:
        return None
    latest = await latest_about(house.store, intent.scope, tool.name, digest)
    return latest if latest is not None and latest.stands else None


async def _named(house: House, stored: StoredEpisode | None, name: str) -> Tool | None:
    if stored is not None:
        return stored.tool(name)
    try:
        return await house.catalogue.tool(name)
    except NotFoundError:
        return None


def _actor(caller: Principal) -> Actor:
    return Actor(caller.name, caller.role)


def is_waiting(made: Made) -> bool:
    """Whether the call waits for a person."""
    return made.observation.status is CallStatus.WAITING and made.observation.approval is not None
