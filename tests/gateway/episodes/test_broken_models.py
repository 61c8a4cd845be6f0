"""Model servers that break in every way, and those that ask for rest: typed, recorded, asked once, never hung on."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from practicum.contracts.models import Attempt
from practicum.testing import ScriptedModelServer, say
from practicum_gateway.settings import Settings
from tests.gateway.episodes.conftest import ADMIN, APPROVER, WORKER
from tests.gateway.episodes.world import World
from tests.gateway.models.broken import WAYS, Broken, broken_server

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        data_dir=tmp_path,
        admin_key=SecretStr(ADMIN),
        worker_key=SecretStr(WORKER),
        approver_key=SecretStr(APPROVER),
        model_seconds=1.0,
    )


@pytest.fixture
def broken() -> Iterator[Broken]:
    with broken_server() as server:
        yield server


async def registered(world: World, broken: Broken) -> None:
    """`hosted` and `local` are both reached there."""
    for spec in (
        {"alias": "hosted", "provider": "litellm", "target": "openai/x", "base_url": f"{broken.url}/v1"},
        {"alias": "local", "provider": "llama_cpp", "target": "x", "base_url": broken.url},
    ):
        assert (await world.admin.post("/v1/models", json=spec)).status_code == 201


async def ask(client: httpx.AsyncClient, model: str, **given: Any) -> httpx.Response:
    return await client.post("/v1/chat/completions", json={"model": model, "messages": HELLO, **given})


def fault(answer: httpx.Response) -> dict[str, Any]:
    """The problem of an answer, or that with which its stream ends."""
    if answer.headers["content-type"].startswith("text/event-stream"):
        *_, last = (line for line in answer.text.splitlines() if line.startswith("data: "))
        assert "[DONE]" not in last
        return dict(json.loads(last.removeprefix("data: ")))
    assert answer.status_code == 502, answer.text
    return dict(answer.json())


@pytest.mark.parametrize("model", ["hosted", "local"])
async def test_a_broken_server_is_a_typed_error_that_the_record_tells(world: World, broken: Broken, model: str) -> None:
    await registered(world, broken)
    episode = await world.start(model=model, limits={"steps": 100})
    async with world.client(await world.episode_key(episode)) as agent:
        for way in WAYS:
            for stream in (False, True):
                broken.way, before = way, broken.asked
                async with asyncio.timeout(30):
                    answer = await ask(agent, model, stream=stream)
                told = fault(answer)
                assert told["code"] == "model_provider", (way, stream, told)
                assert model in told["detail"], (way, stream, told)
                assert told["error"]["message"]
                assert broken.asked == before + 1, f"{way}: nobody here tries again"
    calls = (await world.trajectory(episode)).model_calls
    assert len(calls) == 2 * len(WAYS)
    assert {call.standing for call in calls} == {Attempt.FAILED}
    assert all(call.error and model in call.error and call.response is None for call in calls)


async def test_a_provider_that_asks_for_rest_is_not_asked_again_by_anybody(world: World, broken: Broken) -> None:
    await registered(world, broken)
    with ScriptedModelServer(lambda _: say("I am the spare.")) as spare:
        given = {"alias": "spare", "provider": "litellm", "target": "openai/y", "base_url": spare.base_url}
        assert (await world.admin.post("/v1/models", json=given)).status_code == 201
        broken.way = "busy"
        first = await ask(world.admin, "hosted")
        assert (first.status_code, first.headers["retry-after"], first.json()["code"]) == (429, "30", "model_busy")
        episodes = [await world.start(model="hosted") for _ in range(4)]
        later = await asyncio.gather(
            *(ask(world.admin, "hosted", stream=bool(number % 2)) for number in range(56)),
            *(world.post(f"/v1/episodes/{episode.id}/turns", {"step": 0}) for episode in episodes for _ in range(2)),
        )
        assert {(answer.status_code, answer.json()["code"]) for answer in later} == {(429, "model_busy")}
        assert all(10 <= int(answer.headers["retry-after"]) <= 33 for answer in later)
        assert broken.asked == 1
        assert (await world.admin.put("/v1/models/hosted/fallbacks", json={"fallbacks": ["spare"]})).status_code == 200
        assert (await ask(world.admin, "hosted")).json()["model"] == "spare"
        assert (await ask(world.admin, "local")).json()["code"] == "model_busy"
        assert broken.asked == 2, "another target has a rest of its own"
