"""Calls: each side effect once, and a person is asked where the rules say so."""

import asyncio

from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import Episode, EpisodeStatus
from practicum.contracts.tools import CallStatus
from practicum.testing import call, say
from tests.gateway.episodes.world import World

ALLOW = {"id": "allow-all", "outcome": "allow"}
REFUND: JsonObject = {"id": 8, "amount": 5}


async def refunding(world: World) -> Episode:
    world.model.extend(call("shop_refund_order", REFUND, id="c1"), say("Done."))
    episode = await world.start()
    await world.turn(episode, 0)
    return episode


async def answer(world: World, approval: str | None, *, approve: bool, arguments_hash: str | None) -> None:
    given = await world.approver.post(
        f"/v1/approvals/{approval}", json={"approve": approve, "arguments_hash": arguments_hash, "reason": "because"}
    )
    assert given.status_code == 200, given.text


async def test_a_repeated_call_is_one_side_effect(world: World) -> None:
    await world.rules(ALLOW)
    world.shop.delay = 0.2
    episode = await refunding(world)
    at_once = await asyncio.gather(*(world.call(episode, 0) for _ in range(4)))
    later = await world.call(episode, 0)
    assert {receipt.status for receipt in (*at_once, later)} == {CallStatus.OK}
    assert world.shop.refunds == [(8, 5.0)]
    assert len((await world.trajectory(episode)).invocations) == 1


async def test_a_call_waits_for_a_person_and_proceeds_once(world: World) -> None:
    episode = await refunding(world)
    waiting = await world.call(episode, 0)
    assert waiting.status is CallStatus.WAITING
    assert waiting.approval is not None
    assert await world.call(episode, 0) == waiting
    assert world.shop.refunds == []
    assert (await world.get(episode)).status is EpisodeStatus.WAITING
    approval = (await world.approver.get(f"/v1/approvals/{waiting.approval}")).json()
    assert approval["arguments"] == REFUND
    assert waiting.arguments_hash == approval["arguments_hash"]

    for _ in range(2):
        await answer(world, waiting.approval, approve=True, arguments_hash=waiting.arguments_hash)
    assert (await world.get(episode)).status is EpisodeStatus.RUNNING
    for _ in range(3):
        assert (await world.call(episode, 0)).status is CallStatus.OK
    assert world.shop.refunds == [(8, 5.0)]
    await world.turn(episode, 1)
    await world.close(episode)
    await answer(world, waiting.approval, approve=True, arguments_hash=waiting.arguments_hash)  # again: nothing new
    assert [event.type for event in await world.events(episode)] == [
        "episode.started",
        "turn.started",
        "turn.finished",
        "approval.requested",
        "approval.decided",
        "call.started",
        "call.finished",
        "turn.started",
        "turn.finished",
        "episode.ended",
    ]


async def test_a_denied_call_is_told_to_the_model_and_recorded(world: World) -> None:
    episode = await refunding(world)
    waiting = await world.call(episode, 0)
    await answer(world, waiting.approval, approve=False, arguments_hash=waiting.arguments_hash)
    assert (await world.call(episode, 0)).status is CallStatus.DENIED
    assert (await world.get(episode)).status is EpisodeStatus.RUNNING
    await world.turn(episode, 1)
    assert world.shop.refunds == []
    trajectory = await world.trajectory(episode)
    assert [made.observation.status for made in trajectory.invocations] == [CallStatus.DENIED]
    told = next(message for message in trajectory.messages if message.role == "tool")
    assert told.content


async def test_what_the_system_refuses_the_model_reads(world: World) -> None:
    world.model.extend(call("shop_get_order", {"id": 404}))
    episode = await world.start()
    await world.turn(episode, 0)
    assert (await world.call(episode, 0)).status is CallStatus.ERROR
    trajectory = await world.trajectory(episode)
    assert "no such order" in (trajectory.messages[-1].content or "")
    assert [made.observation.http_status for made in trajectory.invocations] == [404]


async def test_a_call_nobody_asked_for_is_not_made(world: World) -> None:
    episode = await refunding(world)
    for step, index in ((0, 1), (1, 0)):
        refused = await world.post(f"/v1/episodes/{episode.id}/calls", {"step": step, "call": index})
        assert (refused.status_code, refused.json()["code"]) == (409, "episode")
    assert world.shop.refunds == []


async def test_a_training_episode_never_touches_a_live_system(world: World) -> None:
    await world.rules(ALLOW)
    world.model.extend(call("shop_refund_order", REFUND))
    episode = await world.start(mode="training")
    await world.turn(episode, 0)
    assert (await world.call(episode, 0)).status is CallStatus.DENIED
    assert world.shop.refunds == []
