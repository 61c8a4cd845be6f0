"""Turns: accepted once, every attempt in the record, every failure a typed error."""

import asyncio

import httpx
import pytest

from practicum.contracts.episodes import EpisodeStatus
from practicum.contracts.models import Attempt, Sampled
from practicum.testing import Reply, ScriptedCall, call, fail, garbage, hang_up, say
from tests.gateway.episodes.world import World

KEY = "sk-of-the-provider-0123456789"


async def test_a_repeated_turn_is_the_same_turn_and_one_model_call(world: World) -> None:
    world.model.extend(call("shop_get_order", {"id": 8}), say("never asked for"))
    episode = await world.start()
    first = await world.turn(episode, 0)
    assert await world.turn(episode, 0, attempt=2) == first
    assert len(world.model.requests) == 1
    assert len((await world.trajectory(episode)).model_calls) == 1


async def test_the_same_turn_asked_for_at_once_is_taken_once(world: World) -> None:
    world.model.extend(Reply(content="Done.", delay=0.3), say("never asked for"))
    episode = await world.start()
    receipts = await asyncio.gather(*(world.turn(episode, 0) for _ in range(5)))
    assert all(receipt == receipts[0] for receipt in receipts)
    assert len(world.model.requests) == 1


async def test_a_caller_who_hangs_up_finds_the_turn_taken(world: World) -> None:
    world.model.extend(Reply(content="Done.", delay=0.5), say("never asked for"))
    episode = await world.start()
    with pytest.raises(httpx.ReadTimeout):
        await world.admin.post(f"/v1/episodes/{episode.id}/turns", json={"step": 0}, timeout=0.2)
    assert (await world.turn(episode, 0, attempt=2)).calls == ()
    assert len(world.model.requests) == 1


@pytest.mark.parametrize(
    ("reply", "status", "code"),
    [
        (fail(500), 502, "model_provider"),
        (fail(429, "slow down"), 502, "model_provider"),
        (garbage(), 502, "model_provider"),
        (garbage(b""), 502, "model_provider"),
        (say(""), 502, "model_provider"),
        (hang_up(), 502, "model_provider"),
        (fail(401, f"bad key {KEY}"), 422, "request"),
    ],
)
async def test_a_failed_attempt_is_recorded_and_the_next_one_accepted(
    world: World, reply: Reply, status: int, code: str
) -> None:
    world.model.extend(reply, say("Done."))
    episode = await world.start()
    failed = await world.post(f"/v1/episodes/{episode.id}/turns", {"step": 0})
    assert (failed.status_code, failed.json()["code"]) == (status, code)
    assert KEY not in failed.text
    assert len(world.model.requests) == 1
    await world.turn(episode, 0, attempt=2)
    told = (await world.admin.get("/metrics")).text
    retries = [line for line in told.splitlines() if line.startswith("practicum_model_retries_total")]
    assert ['gen_ai_request_model="scripted"' in line and line.endswith(" 1") for line in retries] == [True]
    trajectory = await world.trajectory(episode)
    assert [(made.attempt, made.standing) for made in trajectory.model_calls] == [
        (1, Attempt.FAILED),
        (2, Attempt.ACCEPTED),
    ]
    assert trajectory.model_calls[0].error == failed.json()["detail"]
    assert KEY not in trajectory.model_dump_json()
    await world.close(episode)
    events = await world.events(episode)
    assert [event.type for event in events][1:5] == ["turn.started", "turn.failed", "turn.started", "turn.finished"]


async def test_a_dead_model_is_one_clear_error(world: World) -> None:
    episode = await world.start()
    world.model.stop()
    failed = await world.post(f"/v1/episodes/{episode.id}/turns", {"step": 0})
    assert (failed.status_code, failed.json()["code"]) == (502, "model_provider")
    assert "scripted" in failed.json()["detail"]
    assert failed.headers["content-type"] == "application/problem+json"
    assert (await world.get(episode)).status is EpisodeStatus.RUNNING


async def test_steps_come_in_order_and_within_the_limit(world: World) -> None:
    world.model.extend(call("shop_get_order", {"id": 8}), call("shop_get_order", {"id": 8}), say("Done."))
    episode = await world.start(limits={"steps": 2})
    for step, words in ((1, "next is 0"),):
        answer = await world.post(f"/v1/episodes/{episode.id}/turns", {"step": step})
        assert (answer.status_code, answer.json()["code"]) == (409, "episode")
        assert words in answer.json()["detail"]
    for step in range(2):
        await world.turn(episode, step)
        await world.call(episode, step)
    answer = await world.post(f"/v1/episodes/{episode.id}/turns", {"step": 2})
    assert (answer.status_code, answer.json()["code"]) == (409, "episode")
    assert "2 steps" in answer.json()["detail"]


async def test_nothing_follows_the_final_answer(world: World) -> None:
    world.model.extend(say("Done."), say("never asked for"))
    episode = await world.start()
    await world.turn(episode, 0)
    answer = await world.post(f"/v1/episodes/{episode.id}/turns", {"step": 1})
    assert (answer.status_code, answer.json()["code"]) == (409, "episode")


async def test_ids_that_a_server_gives_twice_are_told_apart(world: World) -> None:
    world.model.extend(
        call("shop_get_order", {"id": 2}, id="call_0"),
        Reply(
            tool_calls=(
                ScriptedCall("shop_get_order", {"id": 4}, "call_0"),
                ScriptedCall("shop_get_order", {"id": 6}, "call_0"),
            )
        ),
        say("Done."),
    )
    episode = await world.start()
    await world.turn(episode, 0)
    await world.call(episode, 0)
    await world.turn(episode, 1)
    await world.call(episode, 1, 0)
    await world.call(episode, 1, 1)
    await world.turn(episode, 2)
    messages = (await world.trajectory(episode)).messages
    asked = [wish.id for message in messages for wish in message.tool_calls]
    assert len(set(asked)) == 3
    assert [message.tool_call_id for message in messages if message.role == "tool"] == asked


async def test_token_ids_are_recorded_as_the_server_gave_them(world: World) -> None:
    spec = (await world.admin.get("/v1/models/scripted")).json()
    alias = {"alias": "ids", "provider": "litellm", "target": "hosted_vllm/scripted", "base_url": spec["base_url"]}
    assert (await world.post("/v1/models", alias)).status_code == 201
    first = Sampled(prompt_ids=(1, 2, 3), completion_ids=(4, 5), logprobs=(-0.1, -1e-9))
    second = Sampled(prompt_ids=(1, 2, 3, 4, 5, 6, 7), completion_ids=(8,), logprobs=(-2.5,))
    world.model.extend(
        Reply(tool_calls=(ScriptedCall("shop_get_order", {"id": 2}),), sampled=first),
        Reply(content="Done.", sampled=second),
    )
    episode = await world.start(model="ids", sampling={"temperature": 1.0, "top_p": 1.0})
    await world.turn(episode, 0)
    await world.call(episode, 0)
    await world.turn(episode, 1)
    calls = (await world.trajectory(episode)).model_calls
    assert [made.sampled for made in calls] == [first, second]
    assert [(made.sampling.temperature, made.sampling.top_p) for made in calls] == [(1.0, 1.0)] * 2
