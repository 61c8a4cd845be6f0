"""Answers that are given again: only if a registration wants it, to the same question, never in training."""

from typing import Any

import httpx

from practicum.contracts.models import Usage
from practicum.contracts.trajectory import Use
from practicum.testing import say
from tests.gateway.episodes.world import World

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]


async def keep(world: World, seconds: int | None) -> None:
    spec = {"alias": "scripted", "provider": "litellm", "target": "openai/scripted", "cache_seconds": seconds}
    given = {"base_url": world.model.base_url, "system": "You look after orders."}
    answer = await world.admin.post("/v1/models", json=spec | given)
    assert (answer.status_code, answer.json()["version"]) == (201, "openai/scripted"), answer.text
    assert answer.json()["cache_seconds"] == seconds


async def ask(client: httpx.AsyncClient, **given: Any) -> httpx.Response:
    answer = await client.post("/v1/chat/completions", json={"model": "scripted", "messages": HELLO, **given})
    assert answer.status_code == 200, answer.text
    return answer


async def test_the_same_question_is_asked_once_if_that_is_wanted(world: World) -> None:
    world.model.extend(*[say(f"answer {number}") for number in range(20)])
    for _ in range(2):
        assert "cached" not in (await ask(world.admin, temperature=0)).json()
    await keep(world, 600)
    first = (await ask(world.admin, temperature=0)).json()
    again = (await ask(world.admin, temperature=0)).json()
    assert again["choices"] == first["choices"]
    assert (again["cached"], again["usage"]["total_tokens"], first["usage"]["total_tokens"]) == (True, 0, 15)
    streamed = await ask(world.admin, temperature=0, stream=True)
    assert first["choices"][0]["message"]["content"] in streamed.text
    assert len(world.model.requests) == 3
    for other in ({"temperature": 1}, {}, {"temperature": 0, "max_tokens": 5}, {"temperature": 0, "seed": 1}):
        assert "cached" not in (await ask(world.admin, **other)).json()
    assert "cached" in (await ask(world.admin, temperature=0, seed=1)).json()
    await keep(world, None)
    assert "cached" not in (await ask(world.admin, temperature=0)).json()


async def test_the_record_tells_a_kept_answer_and_training_never_gets_one(world: World) -> None:
    await keep(world, 600)
    world.model.extend(*[say("Done.")] * 10)
    sampling = {"temperature": 0}
    first, episode = [await world.start(task="Look.", tools=[], sampling=sampling) for _ in range(2)]
    await world.turn(first, 0)
    receipt = await world.turn(episode, 0)
    await world.close(episode)
    assert receipt.usage == Usage()
    trajectory = await world.trajectory(episode)
    (call,) = trajectory.model_calls
    assert (call.cached, call.usage.total, call.sampled) == (True, 0, None)
    assert "an answer came from the cache" in next(each.reasons for each in trajectory.uses if each.use is Use.RL)
    for _ in range(2):
        episode = await world.start(task="Look.", tools=[], sampling=sampling, mode="training")
        await world.turn(episode, 0)
        assert [call.cached for call in (await world.trajectory(episode)).model_calls] == [False]
    assert len(world.model.requests) == 3
