"""Agents of three frameworks and a bare client, with nothing but a URL and a key, leave the record that ours leaves."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from benchmarks.runners import Runner
from practicum.contracts.episodes import Episode
from practicum.contracts.trajectory import Trajectory, Use
from practicum.testing import RecordedRequest, Reply, ScriptedCall, call, say
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
Asked = Callable[[RecordedRequest], Reply]


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


def spoken(told: str) -> str:
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
        assert str(one.observation.content) in spoken(told[one.key])
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
