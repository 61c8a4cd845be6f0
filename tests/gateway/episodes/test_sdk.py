"""The SDK's own client and driver against the real gateway."""

import asyncio

from practicum.agent import Agent, GatewayDoor
from practicum.client import AsyncPracticum
from practicum.contracts.access import ApprovalStatus
from practicum.contracts.episodes import Driver, EpisodeStatus
from practicum.testing import call, fail, say
from tests.gateway.episodes.conftest import ADMIN, APPROVER
from tests.gateway.episodes.world import World


async def test_the_in_process_driver_finishes_an_episode_that_fails_once_and_asks_once(world: World) -> None:
    world.model.extend(
        call("shop_get_order", {"id": 8}),
        fail(503),
        call("shop_refund_order", {"id": 8, "amount": 5}),
        say("Refunded."),
    )
    async with AsyncPracticum(world.url, ADMIN) as app, AsyncPracticum(world.url, APPROVER) as approver:
        handle = await app.episodes.start("Refund order 8.", model="scripted", tools="shop.*", driver=Driver.CLIENT)
        started = await handle.get()
        driving = asyncio.create_task(Agent(GatewayDoor(app), recheck=0.1).run(handle.id, started.limits))
        kinds: list[str] = []
        async for event in handle.events():
            kinds.append(event.type)
            if event.type == "approval.requested":
                (approval,) = await approver.approvals.list(status=ApprovalStatus.PENDING)
                await approver.approvals.approve(approval)
        ended = await driving
        assert ended.status is EpisodeStatus.COMPLETED
        assert (await handle.result()).answer == "Refunded."
        assert (await app.trajectories.get(handle.id)).result == ended.result
    assert world.shop.refunds == [(8, 5.0)]
    assert kinds.count("turn.failed") == 1
    assert kinds[-1] == "episode.ended"
