"""Durable episodes: the gateway starts, tells and cancels their workflows on a real Temporal server."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic import SecretStr
from temporalio.client import Client, WorkflowExecutionStatus

from practicum.agent import GatewayDoor
from practicum.client import AsyncPracticum
from practicum.contracts.episodes import Driver, Episode, EpisodeRequest, EpisodeStatus
from practicum.contracts.models import ModelSpec, Provider
from practicum.episode.durable import workflow_id
from practicum.errors import GatewayUnavailableError
from practicum.testing import Reply, call, say
from practicum_gateway.app import build, running
from practicum_gateway.record.values import NewEpisode
from practicum_gateway.settings import Settings
from practicum_workflows.settings import WorkerSettings
from practicum_workflows.worker import episode_worker
from tests.gateway.episodes.conftest import ADMIN, APPROVER, WORKER
from tests.gateway.episodes.world import World
from tests.workflows.staging import connected, temporal_server

ALLOW = {"id": "allow-all", "outcome": "allow"}
SOON = 30.0
MODEL = ModelSpec(alias="scripted", provider=Provider.LITELLM, target="openai/scripted")


@pytest.fixture(scope="module")
def temporal() -> Generator[str]:
    with temporal_server() as address:
        yield address


@pytest.fixture
async def client(temporal: str) -> Client:
    return await connected(temporal)


@pytest.fixture
def settings(tmp_path: Path, temporal: str) -> Settings:
    return Settings(
        data_dir=tmp_path,
        admin_key=SecretStr(ADMIN),
        worker_key=SecretStr(WORKER),
        approver_key=SecretStr(APPROVER),
        temporal_address=temporal,
        task_queue=f"test-{uuid4().hex}",
    )


@asynccontextmanager
async def working(world: World, client: Client, settings: Settings) -> AsyncGenerator[None]:
    """A worker, for as long as the block lasts."""
    worker = WorkerSettings(temporal=settings.temporal_address or "", task_queue=settings.task_queue, grace=1)
    async with AsyncPracticum(world.url, WORKER) as practicum, episode_worker(client, GatewayDoor(practicum), worker):
        yield


async def soon(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SOON):
        while not await condition():  # noqa: ASYNC110  # what is waited for happens in another process or thread
            await asyncio.sleep(0.05)


async def until(world: World, episode: Episode, status: EpisodeStatus) -> Episode:
    async def stands() -> bool:
        return (await world.get(episode)).status is status

    await soon(stands)
    return await world.get(episode)


async def approve(world: World) -> None:
    (approval,) = (await world.approver.get("/v1/approvals", params={"status": "pending"})).json()
    answer = await world.approver.post(
        f"/v1/approvals/{approval['id']}", json={"approve": True, "arguments_hash": approval["arguments_hash"]}
    )
    assert answer.status_code == 200, answer.text


async def test_a_worker_finishes_what_the_gateway_starts(world: World, client: Client, settings: Settings) -> None:
    await world.rules(ALLOW)
    world.model.extend(call("shop_refund_order", {"id": 8, "amount": 5}), say("Refunded."))
    async with working(world, client, settings):
        given: dict[str, Any] = {"driver": "temporal", "idempotency_key": "once"}
        episode = await world.start(**given)
        again = await world.post(
            "/v1/episodes", {"task": episode.task, "model": "scripted", "tools": ["shop.*"], **given}
        )
        assert (again.status_code, again.json()["id"]) == (200, episode.id)
        ended = await until(world, episode, EpisodeStatus.COMPLETED)
    assert ended.result is not None
    assert ended.result.answer == "Refunded."
    assert world.shop.refunds == [(8, 5.0)]
    assert [made.standing for made in (await world.trajectory(episode)).model_calls] == ["accepted", "accepted"]


async def test_an_answer_reaches_a_worker_at_once(world: World, client: Client, settings: Settings) -> None:
    world.model.extend(call("shop_refund_order", {"id": 8, "amount": 5}), say("Refunded."))
    async with working(world, client, settings):
        episode = await world.start(driver="temporal")
        await until(world, episode, EpisodeStatus.WAITING)
        assert world.shop.refunds == []
        await approve(world)
        await until(world, episode, EpisodeStatus.COMPLETED)
    assert world.shop.refunds == [(8, 5.0)]


async def test_an_answer_given_while_no_worker_is_there_waits_for_one(
    world: World, client: Client, settings: Settings
) -> None:
    world.model.extend(call("shop_refund_order", {"id": 8, "amount": 5}), say("Refunded."))
    async with working(world, client, settings):
        episode = await world.start(driver="temporal")
        await until(world, episode, EpisodeStatus.WAITING)
    await approve(world)
    assert world.shop.refunds == []
    async with working(world, client, settings):
        await until(world, episode, EpisodeStatus.COMPLETED)
    assert world.shop.refunds == [(8, 5.0)]


async def test_cancelling_reaches_the_workflow(world: World, client: Client, settings: Settings) -> None:
    world.model.extend(Reply(content="too late", delay=30))
    async with working(world, client, settings):
        episode = await world.start(driver="temporal")

        async def asked() -> bool:
            return bool(world.model.requests)

        await soon(asked)
        assert (await world.post(f"/v1/episodes/{episode.id}/cancel")).json()["status"] == "cancelled"
        handle = client.get_workflow_handle(workflow_id(episode.id))

        async def over() -> bool:
            return (await handle.describe()).status is not WorkflowExecutionStatus.RUNNING

        await soon(over)
    assert (await world.get(episode)).status is EpisodeStatus.CANCELLED
    assert (await world.post(f"/v1/episodes/{episode.id}/cancel")).status_code == 200


async def test_nobody_but_the_worker_drives_a_durable_episode(world: World) -> None:
    episode = await world.start(driver="temporal")
    key = (await world.post("/v1/keys", {"principal": "app", "role": "developer"})).json()["key"]
    async with world.client(key) as app:
        refused = await app.post(f"/v1/episodes/{episode.id}/turns", json={"step": 0})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    refused = await world.post(f"/v1/episodes/{episode.id}/keys")
    assert (refused.status_code, refused.json()["code"]) == (409, "episode")


async def test_what_was_written_and_not_handed_over_is_handed_over_at_the_next_start(
    client: Client, settings: Settings
) -> None:
    """A gateway that died between writing an episode down and starting its workflow leaves just such a row."""
    first = build(settings)
    async with running(first):
        principal = await first.keys.authenticate(ADMIN)
        await first.registry.put(MODEL, by="ann")
        request = EpisodeRequest(task="Refund order 8.", model="scripted", driver=Driver.TEMPORAL)
        new = NewEpisode(
            id="ep_1",
            request=request,
            principal=principal.name,
            model="scripted",
            version="openai/scripted",
            tools=(),
            opening=(),
        )
        await first.record.episodes.begin(new)
        assert await first.record.episodes.not_handed_over() == ("ep_1",)
    handle = client.get_workflow_handle(workflow_id("ep_1"))
    second = build(settings)

    async def handed_over() -> bool:
        return not await second.record.episodes.not_handed_over()

    async with running(second):
        await soon(handed_over)
    assert (await handle.describe()).status is WorkflowExecutionStatus.RUNNING


async def test_without_temporal_nothing_is_written(tmp_path: Path) -> None:
    house = build(Settings(data_dir=tmp_path, admin_key=SecretStr(ADMIN), temporal_address="127.0.0.1:9"))
    async with running(house):
        await house.registry.put(MODEL, by="ann")
        principal = await house.keys.authenticate(ADMIN)
        request = EpisodeRequest(task="Refund order 8.", model="scripted", driver=Driver.TEMPORAL)
        with pytest.raises(GatewayUnavailableError, match=r"127\.0\.0\.1:9"):
            await house.episodes.start(principal, request)
        assert await house.episodes.list(principal) == ()
