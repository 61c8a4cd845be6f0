"""Whom an alias has answer: another model where its own cannot, and versions by weight; the record says who it was."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import openai
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from practicum.contracts.models import Attempt
from practicum.contracts.trajectory import Use
from practicum.testing import ScriptedModelServer, call, fail, garbage, say
from tests.gateway.episodes.conftest import ADMIN
from tests.gateway.episodes.world import World

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def spare() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as server:
        yield server


@pytest.fixture
async def client(world: World) -> AsyncIterator[Any]:
    async with openai.AsyncOpenAI(base_url=f"{world.url}/v1", api_key=ADMIN, max_retries=0) as opened:
        yield opened


@pytest.fixture
async def falling(world: World, spare: ScriptedModelServer) -> World:
    """A world in which `spare` answers where `scripted` cannot."""
    await register(world, "spare", spare, version="s-1")
    answer = await world.admin.put("/v1/models/scripted/fallbacks", json={"fallbacks": ["spare"]})
    assert answer.status_code == 200, answer.text
    assert answer.json()["fallbacks"] == ["spare"]
    return world


async def register(world: World, alias: str, server: ScriptedModelServer, path: str = "", **given: Any) -> None:
    spec = {"alias": alias, "provider": "litellm", "target": "openai/scripted", "base_url": server.base_url, **given}
    answer = await world.admin.post(f"/v1/models{path}", json=spec)
    assert answer.status_code == 201, answer.text


async def test_another_model_answers_where_the_first_cannot_and_says_so(
    falling: World, spare: ScriptedModelServer, client: Any, spans: InMemorySpanExporter
) -> None:
    falling.model.extend(fail(503), garbage(), say("I am back."))
    spare.extend(say("I am the spare."), say("Still me."))
    answer = await client.chat.completions.create(model="scripted", messages=HELLO)
    assert (answer.choices[0].message.content, answer.model, answer.version) == ("I am the spare.", "spare", "s-1")
    stream = await client.chat.completions.create(model="scripted", messages=HELLO, stream=True)
    chunks = [chunk async for chunk in stream]
    assert {(chunk.model, chunk.version) for chunk in chunks} == {("spare", "s-1")}
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Still me."
    answer = await client.chat.completions.create(model="scripted", messages=HELLO)
    assert (answer.model, answer.version) == ("scripted", "openai/scripted")
    asked = [span for span in spans.get_finished_spans() if span.name.startswith("chat ")]
    assert [(span.attributes or {})["gen_ai.response.model"] for span in asked] == [
        *("openai/scripted", "s-1"),
        *("openai/scripted", "s-1"),
        "openai/scripted",
    ]
    falling.model.extend(fail(502, "down"))
    spare.extend(fail(400, "I refuse"))
    with pytest.raises(openai.APIStatusError, match="down"):
        await client.chat.completions.create(model="scripted", messages=HELLO)


async def test_nobody_else_is_asked_after_a_refusal_for_a_version_or_once_text_was_given_out(
    falling: World, spare: ScriptedModelServer, client: Any
) -> None:
    half = b'{"id":"1","object":"chat.completion.chunk","created":0,"model":"m","choices":[{"index":0,"delta":'
    falling.model.extend(
        fail(400, "context too long"), fail(503), garbage(b"data: " + half + b'{"content":"Half"}}]}\n\n')
    )
    with pytest.raises(openai.UnprocessableEntityError, match="context too long"):
        await client.chat.completions.create(model="scripted", messages=HELLO)
    with pytest.raises(openai.APIStatusError, match="503"):
        await client.chat.completions.create(model="scripted@openai/scripted", messages=HELLO)
    stream = await client.chat.completions.create(model="scripted", messages=HELLO, stream=True)
    with pytest.raises(openai.APIError, match="scripted"):
        _ = [chunk async for chunk in stream]
    assert spare.requests == []


async def test_an_episode_falls_back_only_if_that_was_said_when_it_began(
    falling: World, spare: ScriptedModelServer
) -> None:
    kept, falls = await falling.start(), await falling.start(fallback=True)
    await register(falling, "spare", spare, version="s-2", system="Another.")
    falling.model.extend(fail(503), fail(503), say("Refunded."))
    spare.extend(call("shop_get_order", {"id": 8}))
    answer = await falling.post(f"/v1/episodes/{kept.id}/turns", {"step": 0})
    assert answer.status_code == 502
    assert spare.requests == []
    await falling.turn(falls, 0)
    await falling.call(falls, 0)
    await falling.turn(falls, 1)
    await falling.close(falls)
    trajectory = await falling.trajectory(falls)
    assert [(one.step, one.attempt, one.standing, one.model, one.version) for one in trajectory.model_calls] == [
        (0, 1, Attempt.FAILED, "scripted", "openai/scripted"),
        (0, 2, Attempt.ACCEPTED, "spare", "s-1"),
        (1, 1, Attempt.ACCEPTED, "scripted", "openai/scripted"),
    ]
    reasons = next(each.reasons for each in trajectory.uses if each.use is Use.RL)
    assert "several model versions answered" in reasons
    finished = [event.data for event in await falling.events(falls) if event.type == "turn.finished"]
    assert [(data["model"], data["version"]) for data in finished] == [
        ("spare", "s-1"),
        ("scripted", "openai/scripted"),
    ]


async def test_a_foreign_agents_calls_fall_back_within_their_step(falling: World, spare: ScriptedModelServer) -> None:
    episode = await falling.start(fallback=True)
    falling.model.extend(fail(503))
    spare.extend(say("I am the spare."))
    async with falling.client(await falling.episode_key(episode)) as agent:
        answer = await agent.post("/v1/chat/completions", json={"model": "scripted", "messages": HELLO})
    assert answer.json()["version"] == "s-1"
    calls = (await falling.trajectory(episode)).model_calls
    assert [(one.step, one.attempt, one.standing, one.model) for one in calls] == [
        (0, 1, Attempt.FAILED, "scripted"),
        (0, 2, Attempt.ACCEPTED, "spare"),
    ]


async def test_a_rollout_is_of_one_policy(falling: World, spare: ScriptedModelServer) -> None:
    begun = {"task": "Look.", "model": "scripted", "driver": "client"}
    refused = await falling.post("/v1/episodes", begun | {"mode": "training", "fallback": True})
    assert (refused.status_code, "never falls back" in refused.json()["detail"]) == (422, True)
    refused = await falling.post("/v1/episodes", begun | {"model": "spare", "fallback": True})
    assert (refused.status_code, "has no fallbacks" in refused.json()["detail"]) == (422, True)
    await register(falling, "scripted", spare, "/scripted/versions", version="v2", system="Other.")
    weights = {"openai/scripted": 1, "v2": 1}
    split = await falling.admin.put("/v1/models/scripted/split", json={"weights": weights})
    assert (split.status_code, split.json()["split"]) == (200, weights)
    refused = await falling.post("/v1/episodes", begun | {"mode": "training"})
    assert (refused.status_code, "cannot be of several" in refused.json()["detail"]) == (422, True)


async def test_what_begins_draws_a_version_and_keeps_it(world: World, spare: ScriptedModelServer, client: Any) -> None:
    await register(world, "scripted", spare, "/scripted/versions", version="v2", system="Other.")
    weights = {"openai/scripted": 50, "v2": 50}
    assert (await world.admin.put("/v1/models/scripted/split", json={"weights": weights})).status_code == 200
    episodes = {key: await world.start(idempotency_key=key) for key in (f"k{number}" for number in range(12))}
    assert {episode.version for episode in episodes.values()} == set(weights)
    assert (await world.admin.post("/v1/models/scripted/rollback")).json()["split"] == {}
    spare.extend(say("I am two."))
    drawn = next(episode for episode in episodes.values() if episode.version == "v2")
    await world.turn(drawn, 0)
    assert [one.version for one in (await world.trajectory(drawn)).model_calls] == ["v2"]
    assert (await world.admin.post("/v1/models/scripted/promote", json={"version": "openai/scripted"})).json()[
        "split"
    ] == {}
    assert (await world.admin.put("/v1/models/scripted/split", json={"weights": weights})).status_code == 200
    world.model.extend(*[say("one")] * 20)
    spare.extend(*[say("two")] * 20)
    users = [f"user-{number}" for number in range(8)]
    told = [
        [(await client.chat.completions.create(model="scripted", messages=HELLO, user=user)).version for user in users]
        for _ in range(2)
    ]
    assert told[0] == told[1]
    assert set(told[0]) == set(weights)
