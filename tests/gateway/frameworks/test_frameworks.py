"""Agents of three frameworks and a bare client, with nothing but a URL and a key, leave the record that ours leaves.

So they do when they wait for a person, hand over to another agent, answer in a form, and try again.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx

from benchmarks.runners import Runner
from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import Episode
from practicum.contracts.models import Attempt
from practicum.contracts.trajectory import Trajectory, Use
from practicum.testing import RecordedRequest, Reply, ScriptedCall, ScriptedModelServer, call, fail, say
from practicum.trajectories import explain, export
from tests.gateway.episodes.conftest import SYSTEM
from tests.gateway.episodes.world import World
from tests.gateway.frameworks.by_hand import by_hand

TASK = "Refund 5 of order 8, and look at order 10: „ganz genau“."
ANSWER = "I refunded 5.00 for order 8; order 404 there is none.\n\nRegards 🧾"
SCRIPT = (
    call("shop_get_order", {"id": 8}, id="c1"),
    Reply(
        content="Now I refund.",
        tool_calls=(
            ScriptedCall("shop_refund_order", {"id": 8, "amount": 5}, "c2"),
            ScriptedCall("shop_get_order", {"id": 10}, "c3"),
        ),
    ),
    call("shop_get_order", {"id": "eight"}, id="c4"),
    call("shop_get_order", {"id": 404}, id="c5"),
    say(ANSWER),
)
WAYS = [("chat", False), ("chat", True), ("responses", False), ("responses", True)]


async def ours(world: World) -> Trajectory:
    """The record of our own driver."""
    world.model.extend(*SCRIPT)
    episode = await world.start(TASK)
    for step, reply in enumerate(SCRIPT):
        await world.turn(episode, step)
        for number in range(len(reply.tool_calls)):
            await world.call(episode, step, number)
    await world.close(episode)
    return await world.trajectory(episode)


def said(trajectory: Trajectory) -> list[Any]:
    """The conversation without what the frameworks write of a call's outcome themselves."""
    return [
        (message.role, message.tool_call_id if message.role == "tool" else message.content, message.tool_calls)
        for message in trajectory.messages
    ]


def made(trajectory: Trajectory) -> list[Any]:
    """What became of the calls, in the order of the model's."""
    calls = sorted(trajectory.invocations, key=lambda one: (one.step, json.dumps(one.arguments)))
    return [
        (one.step, one.tool, one.arguments, one.observation.model_dump(exclude={"artifacts", "approval"}))
        for one in calls
    ]


def texts_in(told: str) -> str:
    """A tool's message, and every text in it where it is JSON."""
    try:
        read: object = json.loads(told)
    except ValueError:
        return told
    parts = cast("dict[str, object]", read).values() if isinstance(read, dict) else ()
    return "".join((told, *(str(part) for part in parts)))


def turns(trajectory: Trajectory) -> list[Any]:
    return [
        (one.step, one.standing, one.finish_reason, one.usage, one.response, one.candidates, one.error)
        for one in trajectory.model_calls
    ]


async def test_a_framework_leaves_the_record_of_our_own_driver(world: World, agents: Runner, tmp_path: Path) -> None:
    await world.rules({"id": "allow-all", "outcome": "allow"})
    expected = await ours(world)
    for api, streamed in WAYS:
        world.model.extend(*SCRIPT)
        episode = await world.start(TASK, metadata={"framework": agents.framework})
        key = await world.episode_key(episode)
        wish = {"url": world.url, "key": key, "model": "scripted", "task": TASK, "api": api, "streamed": streamed}
        assert await asyncio.wrap_future(agents.run(**wish)) == ANSWER
        await world.close(episode)
        await whole(world, episode, expected, tmp_path / f"{api}-{streamed}")
        assert all(bool(request.body.get("stream")) is streamed for request in world.model.requests[-5:])


async def test_a_bare_client_leaves_the_record_of_our_own_driver(world: World, tmp_path: Path) -> None:
    await world.rules({"id": "allow-all", "outcome": "allow"})
    expected = await ours(world)
    world.model.extend(*SCRIPT)
    episode = await world.start(TASK)
    key = await world.episode_key(episode)
    assert await by_hand(world.url, key, SYSTEM, TASK) == ANSWER
    await world.close(episode)
    await whole(world, episode, expected, tmp_path)


async def whole(world: World, episode: Episode, expected: Trajectory, folder: Path) -> None:
    """The record says what ours says, and serves as ours serves."""
    trajectory = await world.trajectory(episode)
    assert said(trajectory) == said(expected)
    assert made(trajectory) == made(expected)
    assert turns(trajectory) == turns(expected)
    assert [one.key for one in trajectory.invocations if one.step != 1] == ["c1", "c4", "c5"]
    calls = trajectory.model_calls
    assert [one.parent for one in calls] == [None, *(one.id for one in calls[:-1])]
    # Frameworks may write more around what they were told; they leave nothing of it out.
    told = {message.tool_call_id: str(message.content) for message in trajectory.messages if message.role == "tool"}
    for one in trajectory.invocations:
        assert str(one.observation.content) in texts_in(told[one.key])
    assert trajectory.result is not None
    assert expected.result is not None
    assert (trajectory.result.answer, trajectory.result.steps) == (ANSWER, expected.result.steps)
    verdict = {"reward": 1.0, "source": "their tests"}
    assert (await world.post(f"/v1/episodes/{episode.id}/reward", verdict)).status_code == 200
    explained = explain(await world.trajectory(episode))
    assert [use.reasons for use in explained.uses if use.use is Use.SFT] == [()]
    assert export([trajectory], folder / "sft").excluded == ()
    kinds = [event.type for event in await world.events(episode)]
    assert (kinds.count("turn.finished"), kinds.count("call.finished"), kinds[-1]) == (5, 5, "episode.ended")


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


async def test_a_call_that_waits_for_a_person_is_asked_for_once_and_made_once(world: World, agents: Runner) -> None:
    await world.rules({"id": "ask", "tools": ["shop.refund_order"], "outcome": "ask"}, ALLOW)

    def script(request: RecordedRequest) -> Reply:
        turn = len(spoken(request))
        if turn == 1:
            approve(world)
        return say("Refunded.") if turn == 2 else call("shop_refund_order", {"id": 8, "amount": 5}, id=f"c{turn}")

    async with thinking(world, "patient", script):
        for number, api in enumerate(("chat", "responses"), start=1):
            answer, trajectory = await captured(world, agents, "patient", api=api)
            assert (answer, world.shop.refunds) == ("Refunded.", [(8, 5.0)] * number)
            assert [(one.key, one.observation.status) for one in trajectory.invocations] == [("c0", "ok")]
            told = [str(message.content) for message in trajectory.messages if message.role == "tool"]
            assert "waits for a person" in told[0]
            assert "refunded" in told[1]
            assert len((await world.admin.get("/v1/approvals")).json()) == number


async def test_an_answer_in_a_form_says_in_the_record_what_it_was_held_to(world: World, agents: Runner) -> None:
    await world.rules(ALLOW)

    def script(request: RecordedRequest) -> Reply:
        by_tool = offered(request) & FORMS
        return call(by_tool.pop(), VERDICT, id="f1") if by_tool else say(json.dumps(VERDICT))

    async with thinking(world, "formal", script) as model:
        for api in ("chat", "responses"):
            answer, trajectory = await captured(world, agents, "formal", formed=True, api=api)
            assert json.loads(answer) == VERDICT
            request, (made,) = model.requests[-1], trajectory.model_calls
            for name in ("tool_choice", "response_format"):
                assert getattr(made.sampling, name) == request.body.get(name)
            assert made.sampling.holding
            assert made.response is not None
            said = json.loads(made.response.content or "null")
            assert VERDICT in (said, *(wish.arguments for wish in made.response.tool_calls))


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
