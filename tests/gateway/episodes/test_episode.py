"""An episode from its task to its trajectory, driven over HTTP."""

import asyncio

from practicum.contracts.episodes import EpisodeStatus
from practicum.contracts.messages import Message
from practicum.contracts.models import Attempt, Usage
from practicum.contracts.tools import CallStatus
from practicum.testing import Reply, ScriptedCall, call, say
from tests.gateway.episodes.world import SYSTEM, World

ALLOW = {"id": "allow-all", "outcome": "allow"}


async def test_a_task_is_done_and_leaves_a_complete_trajectory(world: World) -> None:
    await world.rules(ALLOW)
    world.model.extend(
        call("shop_get_order", {"id": 8}, id="c1"),
        call("shop_refund_order", {"id": 8, "amount": 5}, id="c2"),
        say("I refunded 5.00 for order 8."),
    )
    episode = await world.start(metadata={"suite": "orders", "split": "train"})
    first = await world.turn(episode, 0)
    assert [(asked.index, asked.tool, asked.malformed) for asked in first.calls] == [(0, "shop_get_order", False)]
    assert first.usage == Usage(prompt_tokens=10, completion_tokens=5)
    assert (await world.call(episode, 0)).status is CallStatus.OK
    await world.turn(episode, 1)
    assert (await world.call(episode, 1)).status is CallStatus.OK
    last = await world.turn(episode, 2)
    assert last.calls == ()
    assert not last.truncated
    ended = await world.close(episode)

    assert world.shop.refunds == [(8, 5.0)]
    assert ended.status is EpisodeStatus.COMPLETED
    assert ended.result is not None
    assert ended.result.answer == "I refunded 5.00 for order 8."
    assert ended.result.steps == 3
    assert ended.result.usage == Usage(prompt_tokens=30, completion_tokens=15)

    trajectory = await world.trajectory(episode)
    assert [message.role for message in trajectory.messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
    assert trajectory.messages[0] == Message(role="system", content=SYSTEM)
    assert trajectory.messages[1] == Message(role="user", content="Refund order 8.")
    assert trajectory.messages[3].tool_call_id == "c1"
    assert '"delivered"' in (trajectory.messages[3].content or "")
    assert [asked.standing for asked in trajectory.model_calls] == [Attempt.ACCEPTED] * 3
    assert [asked.parent for asked in trajectory.model_calls] == [
        None,
        trajectory.model_calls[0].id,
        trajectory.model_calls[1].id,
    ]
    for position, asked in zip((2, 4, 6), trajectory.model_calls, strict=True):
        assert asked.messages == trajectory.messages[:position]
        assert asked.response == trajectory.messages[position]
        assert asked.version == "openai/scripted"
        assert asked.tools == trajectory.tools
    assert [(made.step, made.call, made.tool) for made in trajectory.invocations] == [
        (0, 0, "shop_get_order"),
        (1, 0, "shop_refund_order"),
    ]
    assert trajectory.metadata == {"suite": "orders", "split": "train"}
    assert {use.use for use in trajectory.uses} == {"sft", "preference", "pivot", "rl"}
    assert next(use for use in trajectory.uses if use.use == "sft").eligible


async def test_events_tell_everything_in_order(world: World) -> None:
    await world.rules(ALLOW)
    world.model.extend(call("shop_get_order", {"id": 8}), say("It was delivered."))
    episode = await world.start()
    following = asyncio.create_task(world.events(episode))
    await world.turn(episode, 0)
    await world.call(episode, 0)
    await world.turn(episode, 1)
    await world.close(episode)
    events = await asyncio.wait_for(following, 60)
    assert [event.type for event in events] == [
        "episode.started",
        "turn.started",
        "turn.finished",
        "call.started",
        "call.finished",
        "turn.started",
        "turn.finished",
        "episode.ended",
    ]
    assert [event.sequence for event in events] == list(range(1, 9))
    assert await world.events(episode, after=6) == events[6:]
    async with world.admin.stream("GET", f"/v1/episodes/{episode.id}/events", headers={"Last-Event-ID": "7"}) as answer:
        text = (await answer.aread()).decode()
    assert text.startswith("id: 8\nevent: episode.ended\n")
    assert await world.events(episode, after=8) == []


async def test_parallel_calls_stand_in_the_models_order_however_they_settle(world: World) -> None:
    await world.rules(ALLOW)
    world.shop.delay = 0.5
    world.model.extend(
        Reply(
            tool_calls=(
                ScriptedCall("shop_get_order", {"id": 1}, "slow"),
                ScriptedCall("shop_get_order", {"id": 2}, "fast"),
            )
        ),
        say("Both were delivered."),
    )
    episode = await world.start()
    await world.turn(episode, 0)
    slow = asyncio.create_task(world.call(episode, 0, 0))
    await world.call(episode, 0, 1)
    refused = await world.post(f"/v1/episodes/{episode.id}/turns", {"step": 1})
    assert (refused.status_code, refused.json()["code"]) == (409, "episode")
    assert "(0)" in refused.json()["detail"]
    await slow
    await world.turn(episode, 1)
    messages = (await world.trajectory(episode)).messages
    assert [message.tool_call_id for message in messages if message.role == "tool"] == ["slow", "fast"]
    sent = [message for message in world.model.requests[1].messages if isinstance(message, dict)]
    assert [message.get("tool_call_id") for message in sent if message["role"] == "tool"] == ["slow", "fast"]


async def test_calls_that_cannot_be_made_are_answered_so_that_the_model_can_mend_them(world: World) -> None:
    await world.rules(ALLOW)
    world.model.extend(
        Reply(
            tool_calls=(
                ScriptedCall("shop_get_order", '{"id": '),
                ScriptedCall("shop_get_orders", {"id": 8}),
                ScriptedCall("shop_get_order", {"number": 8}),
                ScriptedCall("shop_get_order", {"id": 8}),
            )
        ),
    )
    episode = await world.start(limits={"calls_per_step": 3})
    receipt = await world.turn(episode, 0)
    assert [asked.malformed for asked in receipt.calls] == [True, False, False, False]
    for index in range(4):
        assert (await world.call(episode, 0, index)).status is CallStatus.ERROR
        assert (await world.call(episode, 0, index)).status is CallStatus.ERROR
    trajectory = await world.trajectory(episode)
    malformed, unknown, unfit, surplus = [
        message.content or "" for message in trajectory.messages if message.role == "tool"
    ]
    assert '{"id": ' in malformed
    assert "one JSON object" in malformed
    assert "shop_get_order" in unknown
    assert "number" in unfit or "id" in unfit
    assert "3 calls at most" in surplus
    assert [made.call for made in trajectory.invocations] == [0, 1, 2, 3]
    assert {made.observation.status for made in trajectory.invocations} == {CallStatus.ERROR}


async def test_a_long_answer_cut_off_is_truncated(world: World) -> None:
    world.model.extend(Reply(content="It was", finish_reason="length"))
    episode = await world.start()
    assert (await world.turn(episode, 0)).truncated


async def test_labels_find_episodes_and_trajectories(world: World) -> None:
    first = await world.start(metadata={"suite": "orders", "split": "train"})
    second = await world.start(metadata={"suite": "orders", "split": "held_out"})
    for path, name in (("/v1/episodes", "id"), ("/v1/trajectories", "episode")):
        both = await world.admin.get(path, params={"metadata": "suite:orders"})
        assert [found[name] for found in both.json()] == [second.id, first.id]
        one = await world.admin.get(path, params=[("metadata", "suite:orders"), ("metadata", "split:train")])
        assert [found[name] for found in one.json()] == [first.id]
        none = await world.admin.get(path, params={"metadata": "suite"})
        assert (none.status_code, none.json()["code"]) == (422, "request")
    page = await world.admin.get("/v1/trajectories", params={"after": second.id, "limit": 5})
    assert [found["episode"] for found in page.json()] == [first.id]


async def test_rewards_add_up_and_the_latest_counts(world: World) -> None:
    episode = await world.start()
    for reward, source in ((1.0, "verifier"), (None, "person")):
        answer = await world.post(
            f"/v1/episodes/{episode.id}/reward", {"reward": reward, "source": source, "reason": "why"}
        )
        assert answer.status_code == 200
        assert answer.json()["reward"] == reward
    trajectory = await world.trajectory(episode)
    assert [(given.reward, given.source) for given in trajectory.rewards] == [(1.0, "verifier"), (None, "person")]
    assert trajectory.reward is None
