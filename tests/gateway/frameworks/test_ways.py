"""What agents of frameworks do besides is in the record: waiting for a person, handing over, forms, tries again."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx
import pytest

from benchmarks.runners import Runner
from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import Episode
from practicum.contracts.models import Attempt
from practicum.contracts.trajectory import Trajectory
from practicum.testing import RecordedRequest, Reply, ScriptedModelServer, call, fail, say
from practicum.trajectories import explain
from tests.gateway.episodes.world import World

ALLOW = {"id": "allow-all", "outcome": "allow"}
VERDICT: JsonObject = {"refunded": True, "why": "It was broken."}
FORMS = {"final_result", "Verdict"}
"""The tools by which PydanticAI and LangGraph have an answer in a form, unless told otherwise."""


def spoken(request: RecordedRequest) -> list[JsonObject]:
    """The assistant's turns so far."""
    messages = cast("list[JsonObject]", request.messages)
    return [message for message in messages if message["role"] == "assistant"]


def offered(request: RecordedRequest) -> set[str]:
    """Names of the tools on offer."""
    tools = cast("list[Any]", request.body.get("tools") or [])
    return {tool["function"]["name"] for tool in tools}


@asynccontextmanager
async def thinking(
    world: World, name: str, script: Callable[[RecordedRequest], Reply]
) -> AsyncGenerator[ScriptedModelServer]:
    """A model of its own that answers what a function says."""
    with ScriptedModelServer(script) as model:
        spec = {"alias": name, "provider": "litellm", "target": "openai/scripted", "base_url": model.base_url}
        answer = await world.post("/v1/models", spec)
        assert answer.status_code == 201, answer.text
        yield model


def approve(world: World) -> None:
    """A person says yes to the one question that there is; called from the thread of a model."""
    with httpx.Client(base_url=world.url, headers=dict(world.approver.headers), timeout=30) as person:
        (one,) = person.get("/v1/approvals", params={"status": "pending"}).json()
        body = {"approve": True, "arguments_hash": one["arguments_hash"]}
        person.post(f"/v1/approvals/{one['id']}", json=body).raise_for_status()


async def captured(world: World, agents: Runner, name: str, **more: Any) -> tuple[str, Trajectory]:
    """What an agent answered, and its record."""
    episode: Episode = await world.start("Refund 5 of order 8.", model=name)
    wish = {"url": world.url, "key": await world.episode_key(episode), "model": name, "task": episode.task}
    answer = await asyncio.wrap_future(agents.run(**({"api": "chat", "streamed": False} | wish | more)))
    await world.close(episode)
    trajectory = await world.trajectory(episode)
    assert all(not one.candidates for one in trajectory.model_calls)
    assert not any(call.quarantined for call in explain(trajectory).calls)
    return answer, trajectory


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_call_that_waits_for_a_person_is_asked_for_once_and_made_once(
    world: World, agents: Runner, api: str
) -> None:
    await world.rules({"id": "ask", "tools": ["shop.refund_order"], "outcome": "ask"}, ALLOW)

    def script(request: RecordedRequest) -> Reply:
        turn = len(spoken(request))
        if turn == 1:
            approve(world)
        return say("Refunded.") if turn == 2 else call("shop_refund_order", {"id": 8, "amount": 5}, id=f"c{turn}")

    async with thinking(world, "patient", script):
        answer, trajectory = await captured(world, agents, "patient", api=api)
    assert (answer, world.shop.refunds) == ("Refunded.", [(8, 5.0)])
    assert [(one.key, one.observation.status) for one in trajectory.invocations] == [("c0", "ok")]
    told = [str(message.content) for message in trajectory.messages if message.role == "tool"]
    assert "waits for a person" in told[0]
    assert "refunded" in told[1]
    assert len((await world.admin.get("/v1/approvals")).json()) == 1


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_an_answer_in_a_form_says_in_the_record_what_it_was_held_to(
    world: World, agents: Runner, api: str
) -> None:
    await world.rules(ALLOW)

    def script(request: RecordedRequest) -> Reply:
        by_tool = offered(request) & FORMS
        return call(by_tool.pop(), VERDICT, id="f1") if by_tool else say(json.dumps(VERDICT))

    async with thinking(world, "formal", script) as model:
        answer, trajectory = await captured(world, agents, "formal", formed=True, api=api)
    assert json.loads(answer) == VERDICT
    (request,), (made,) = model.requests, trajectory.model_calls
    for name in ("tool_choice", "response_format"):
        assert getattr(made.sampling, name) == request.body.get(name)
    assert made.sampling.holding
    assert made.response is not None
    assert VERDICT in (
        json.loads(made.response.content or "null"),
        *(one.arguments for one in made.response.tool_calls),
    )


async def test_whoever_is_handed_over_to_has_a_conversation_of_its_own_in_the_same_record(
    world: World, agents: Runner
) -> None:
    await world.rules(ALLOW)

    def script(request: RecordedRequest) -> Reply:
        asked = [cast("list[Any]", turn.get("tool_calls") or []) for turn in spoken(request)]
        names = [one["function"]["name"] for calls in asked for one in calls]
        if "shop_refund_order" in offered(request):
            done = "shop_refund_order" in names
            return say("It is refunded.") if done else call("shop_refund_order", {"id": 8, "amount": 5}, id="c2")
        what: JsonObject = {} if agents.framework == "openai_agents" else {"what": "Refund 5 of order 8."}
        return say("Done.") if names else call("transfer_to_refunds", what, id="c1")

    async with thinking(world, "leading", script):
        answer, trajectory = await captured(world, agents, "leading", hands_over=True)
    assert world.shop.refunds == [(8, 5.0)]
    assert [(one.key, one.tool, one.step) for one in trajectory.invocations] == [("c2", "shop_refund_order", 1)]
    parents = [one.parent for one in trajectory.model_calls]
    calls = [one.id for one in trajectory.model_calls]
    systems = [one.messages[0].content for one in trajectory.model_calls]
    if (
        agents.framework == "openai_agents"
    ):  # the other one goes on with the conversation, under instructions of its own
        assert (answer, parents) == ("It is refunded.", [None, None, calls[1]])
    else:
        assert (answer, parents) == ("Done.", [None, None, calls[1], calls[0]])
    assert systems[:3] == ["You look after orders.", "You give refunds.", "You give refunds."]
    assert trajectory.result is not None
    assert trajectory.result.answer == answer


async def test_what_a_framework_tries_again_is_in_the_record_as_often_as_it_was_tried(
    world: World, agents: Runner
) -> None:
    await world.rules(ALLOW)
    replies = iter([fail(500), fail(429), call("shop_get_order", {"id": 8}, id="c1"), fail(503), say("Delivered.")])
    async with thinking(world, "weary", lambda _: next(replies)):
        answer, trajectory = await captured(world, agents, "weary")
    assert answer == "Delivered."
    made = trajectory.model_calls
    standings = [Attempt.FAILED, Attempt.FAILED, Attempt.ACCEPTED, Attempt.FAILED, Attempt.ACCEPTED]
    assert [one.standing for one in made] == standings
    assert all(bool(one.error) is (one.standing is Attempt.FAILED) for one in made)
    assert made[4].parent == made[2].id
    assert [(one.key, one.step) for one in trajectory.invocations] == [("c1", 2)]
    assert next(use for use in trajectory.uses if use.use == "sft").eligible
