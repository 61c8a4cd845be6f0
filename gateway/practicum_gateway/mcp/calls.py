"""Calls of MCP clients: each goes through the pipeline, in an episode at its own place."""

import asyncio
from dataclasses import dataclass, replace

from practicum.contracts.access import Outcome
from practicum.contracts.base import JsonObject
from practicum.contracts.messages import ToolCall
from practicum.contracts.tools import CallStatus, Observation, Tool
from practicum.episode.disclosure import Search
from practicum.errors import CallError, NotFoundError, RequestError
from practicum_connectors.catalogue.search import ToolIndex
from practicum_gateway.access.principals import Actor, Principal
from practicum_gateway.access.questions import Asked, asked_as, latest_about
from practicum_gateway.access.rules import possible
from practicum_gateway.house import House
from practicum_gateway.invocation.intent import Intent, hash_of_arguments
from practicum_gateway.invocation.outcomes import mendable
from practicum_gateway.mcp.looks import look, wait_for_answer
from practicum_gateway.mcp.shown import DENIED, Shown
from practicum_gateway.record.values import StoredEpisode, as_json
from practicum_gateway.store.engine import new_id

LOOK_SECONDS = 20.0
"""How long a client that goes on waiting is kept waiting, before it is asked again."""
_SHOWN = 200


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
    """

    observation: Observation
    tool: str | None = None
    key: str | None = None


async def make(house: House, caller: Principal, wish: Wish) -> Made:
    """Make a call, once, and say how it ended or that it waits.

    Raises:
        NotFoundError: there is no such tool for this caller.
        RequestError: it looks again at what it did not ask.
        ConflictError: the key is in use with another tool or other arguments.
        EpisodeError: the episode of its key has ended, or is not driven by its agent.
    """
    stored = None if caller.episode is None else await house.episodes.stored(caller, caller.episode)
    tool = await _named(house, stored, wish.tool)
    if tool is None or possible(await house.rulebook.current(), tool, _actor(caller)) == DENIED:
        # A tool that no list shows can be named all the same: then it is denied, and the audit log tells of it.
        shown = await Shown.to(house, caller)
        if shown.look is not None and wish.tool == shown.look.name:
            return Made(await look(house, caller, wish.arguments))
        if shown.disclosure is not None and wish.tool in {one.name for one in shown.disclosure.tools}:
            return await _disclosed(house, caller, stored, shown, wish)
    if tool is None:
        raise NotFoundError(f"There is no tool '{wish.tool[:_SHOWN]}'.", mend="List the tools to see their names.")
    return await _call(house, caller, stored, tool, wish)


async def _disclosed(house: House, caller: Principal, stored: StoredEpisode | None, shown: Shown, wish: Wish) -> Made:
    """A search, or the call of a tool that one found."""
    if shown.disclosure is None:
        raise AssertionError("the two tools stand in for others")
    meant = shown.disclosure.read(ToolCall(id="", name=wish.tool, arguments=wish.arguments), shown.tools)
    if isinstance(meant, ToolCall):
        tool = next(one for one in shown.tools if one.name == meant.name)
        return await _call(house, caller, stored, tool, replace(wish, arguments=meant.arguments))
    if isinstance(meant, Search):
        meant = shown.found(await _fitting(house, stored, shown, meant), meant)
    if stored is not None:
        step, call = await house.record.episodes.next_call(stored.episode.id)
        told: JsonObject = {"call": call, "tool": wish.tool, "observation": as_json(meant)}
        await house.record.event(stored.episode.id, "call.finished", step, told)
    return Made(meant)


async def _fitting(house: House, stored: StoredEpisode | None, shown: Shown, wanted: Search) -> tuple[Tool, ...]:
    """The tools that fit, best first: an episode's as they were at its beginning, else by the index that is kept."""
    most = len(shown.tools)
    if stored is None:
        return await house.catalogue.search(wanted.query, most, within={tool.name for tool in shown.tools})
    return await asyncio.to_thread(lambda: tuple(ToolIndex(shown.tools).search(wanted.query, limit=most)))


async def _call(house: House, caller: Principal, stored: StoredEpisode | None, tool: Tool, wish: Wish) -> Made:
    try:
        intent = await _intent(house, caller, stored, tool, wish)
    except CallError as error:  # arguments that are no JSON
        return Made(mendable(error), tool.name)
    if wish.approval is not None and wish.waits:
        await wait_for_answer(house, wish.approval, LOOK_SECONDS)
    return Made(await house.pipeline.invoke(intent), tool.name, intent.key)


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

    A client that gives keys says itself which call is which. Of others the same call again is the one that waits: a
    model that looks again must not ask a second time, and what a person denied it stays denied for as long as a yes
    would have held.

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
    if wish.key is not None or decision.outcome is not Outcome.ASK:
        return None
    if wish.derived is not None and await house.ledger.recall(intent) is not None:
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
