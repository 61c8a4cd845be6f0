"""Episodes begin once, end once, and are for those who may see and drive them."""

import asyncio

import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import EpisodeStatus
from practicum.contracts.tools import CallStatus
from practicum.testing import Reply, call, say
from tests.gateway.embedding_server import embedding_server
from tests.gateway.episodes.conftest import WORKER
from tests.gateway.episodes.world import World

REFUND: JsonObject = {"id": 8, "amount": 5}


async def key_of(world: World, principal: str, role: str) -> str:
    answer = await world.post("/v1/keys", {"principal": principal, "role": role})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["key"])


async def test_a_repeated_key_gives_the_first_episode(world: World) -> None:
    body = {"task": "Refund order 8.", "model": "scripted", "driver": "client", "idempotency_key": "k1"}
    answers = await asyncio.gather(*(world.post("/v1/episodes", body) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    other = await world.post("/v1/episodes", {**body, "task": "Refund order 9."})
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert len((await world.admin.get("/v1/episodes")).json()) == 1


async def test_a_key_of_somebody_else_is_another_key(world: World) -> None:
    body = {"task": "Refund order 8.", "model": "scripted", "driver": "client", "idempotency_key": "k1"}
    first = await world.post("/v1/episodes", body)
    async with world.client(await key_of(world, "app", "developer")) as app:
        second = await app.post("/v1/episodes", json=body)
    assert second.status_code == 201
    assert second.json()["id"] != first.json()["id"]


@pytest.mark.parametrize(
    ("given", "status", "code", "words"),
    [
        ({"model": "nobody"}, 404, "not_found", "scripted"),
        ({"tools": ["shop.*", "crm.*"]}, 422, "request", "crm.*"),
        ({"task": ""}, 422, "request", "task"),
        ({"limits": {"steps": 0}}, 422, "request", "steps"),
        ({"limits": {"stepz": 1}}, 422, "request", "stepz"),
        ({"driver": "temporal"}, 500, "configuration", "PRACTICUM_TEMPORAL_ADDRESS"),
    ],
)
async def test_what_does_not_fit_is_refused_and_nothing_is_written(
    world: World, given: JsonObject, status: int, code: str, words: str
) -> None:
    body = {"task": "Refund order 8.", "model": "scripted", "tools": ["shop.*"], "driver": "client", **given}
    answer = await world.post("/v1/episodes", body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert words in answer.text
    assert (await world.admin.get("/v1/episodes")).json() == []


async def test_the_first_result_stands(world: World) -> None:
    world.model.extend(say("Done."))
    episode = await world.start()
    await world.turn(episode, 0)
    first = await world.close(episode)
    second = await world.close(episode, status="failed", cause="infrastructure")
    assert second == first
    assert second.status is EpisodeStatus.COMPLETED
    unended = await world.post(f"/v1/episodes/{episode.id}/close", {"status": "running", "cause": "policy"})
    assert (unended.status_code, unended.json()["code"]) == (422, "request")


async def test_cancelling_ends_everything_at_once(world: World) -> None:
    world.model.extend(call("shop_refund_order", REFUND), Reply(content="too late", delay=30))
    episode = await world.start()
    await world.turn(episode, 0)
    waiting = await world.call(episode, 0)
    assert waiting.status is CallStatus.WAITING
    cancelled = await world.post(f"/v1/episodes/{episode.id}/cancel")
    assert cancelled.json()["status"] == "cancelled"
    assert cancelled.json()["result"]["cause"] == "person"
    assert cancelled.json()["result"]["steps"] == 1
    assert (await world.admin.get(f"/v1/approvals/{waiting.approval}")).json()["status"] == "cancelled"
    for path, body in (("turns", {"step": 1}), ("calls", {"step": 0, "call": 0})):
        refused = await world.post(f"/v1/episodes/{episode.id}/{path}", body)
        assert (refused.status_code, refused.json()["code"]) == (409, "episode")
    assert world.shop.refunds == []
    assert (await world.post(f"/v1/episodes/{episode.id}/cancel")).json() == cancelled.json()
    assert (await world.events(episode))[-1].type == "episode.ended"


async def test_cancelling_breaks_the_models_answer_off(world: World) -> None:
    world.model.extend(Reply(content="too late", delay=30))
    episode = await world.start()
    turn = asyncio.create_task(world.post(f"/v1/episodes/{episode.id}/turns", {"step": 0}))
    while not world.model.requests:  # noqa: ASYNC110  # the model server is a thread and knows no events of ours
        await asyncio.sleep(0.02)
    await world.post(f"/v1/episodes/{episode.id}/cancel")
    refused = await asyncio.wait_for(turn, 25)
    assert (refused.status_code, refused.json()["code"]) == (409, "episode")
    trajectory = await world.trajectory(episode)
    assert [message.role for message in trajectory.messages] == ["system", "user"]
    assert [(made.standing, made.response) for made in trajectory.model_calls] == [("failed", None)]
    assert "Broken off" in (trajectory.model_calls[0].error or "")


async def test_who_may_drive_and_who_may_see(world: World) -> None:
    episode = await world.start()
    turn = (f"/v1/episodes/{episode.id}/turns", {"step": 0})
    async with world.client(await key_of(world, "app", "developer")) as app:
        assert (await app.get(f"/v1/episodes/{episode.id}")).status_code == 200
        assert (await app.post(turn[0], json=turn[1])).status_code == 403
        assert (
            await app.post(f"/v1/episodes/{episode.id}/close", json={"status": "completed", "cause": "policy"})
        ).status_code == 403
    async with world.client(await key_of(world, "bot", "agent")) as bot:
        assert (await bot.get(f"/v1/episodes/{episode.id}")).status_code == 404
        assert (await bot.get(f"/v1/trajectories/{episode.id}")).status_code == 404
        assert (await bot.get("/v1/episodes")).json() == []
        assert (await bot.get("/v1/trajectories")).json() == []
        assert (await bot.post("/v1/episodes", json={"task": "x", "model": "scripted"})).status_code == 403
        assert (await bot.post(f"/v1/episodes/{episode.id}/cancel")).status_code == 404
    assert (await world.approver.post(turn[0], json=turn[1])).status_code == 403
    world.model.extend(say("Done."))
    async with world.client(WORKER) as worker:
        assert (await worker.post(turn[0], json=turn[1])).status_code == 200


async def test_models_show_everything_but_their_key(world: World) -> None:
    shown = await world.admin.get("/v1/models/scripted")
    assert shown.json()["target"] == "openai/scripted"
    assert "sk-of-the-provider" not in shown.text
    listed = (await world.admin.get("/v1/models")).json()
    assert listed["object"] == "list"
    assert [model["id"] for model in listed["data"]] == ["scripted"]
    async with world.client(await key_of(world, "app", "developer")) as app:
        spec = {"alias": "mine", "provider": "litellm", "target": "openai/x"}
        assert (await app.post("/v1/models", json=spec)).status_code == 403
        assert (await app.delete("/v1/models/scripted")).status_code == 403
    silly = {"alias": "mine", "provider": "litellm", "target": "openai/x", "codec": "chatml-compact"}
    assert (await world.post("/v1/models", silly)).status_code == 422
    assert (
        await world.post("/v1/models", {"alias": "mine", "provider": "llama_cpp", "target": "x"})
    ).status_code == 422
    assert (await world.admin.delete("/v1/models/scripted")).status_code == 204
    assert (await world.admin.get("/v1/models/scripted")).status_code == 404


async def test_the_nearest_solved_task_is_shown_before_the_episodes_own(world: World) -> None:
    spec = (await world.admin.get("/v1/models/scripted")).json()
    solved = [
        [{"role": "user", "content": "Refund order 3."}, {"role": "assistant", "content": "Refunded."}],
        [{"role": "user", "content": "Who is customer 7?"}, {"role": "assistant", "content": "Ann."}],
    ]
    alias = {
        "alias": "shown",
        "provider": "litellm",
        "target": "openai/scripted",
        "base_url": spec["base_url"],
        "examples": {"episodes": solved, "shown": 1},
    }
    assert (await world.post("/v1/models", alias)).json()["examples"] == 2
    world.model.extend(say("Refunded."))
    episode = await world.start("Refund order 9.", model="shown")
    await world.turn(episode, 0)
    contents = [message["content"] for message in world.model.requests[0].messages if isinstance(message, dict)]
    assert contents[1:] == ["Refund order 3.", "Refunded.", "Refund order 9."]


async def test_an_embedding_model_says_which_solved_task_is_nearest(world: World) -> None:
    spec = (await world.admin.get("/v1/models/scripted")).json()
    solved = [
        [{"role": "user", "content": "Refund order 3."}, {"role": "assistant", "content": "Refunded."}],
        [{"role": "user", "content": "Money back for 7."}, {"role": "assistant", "content": "Paid."}],
    ]
    with embedding_server("money", "reimburse") as vectors:
        embedder = {"alias": "near", "provider": "llama_cpp", "target": "near", "base_url": vectors.url}
        assert (await world.post("/v1/models", embedder)).status_code == 201
        alias = {
            "alias": "shown",
            "provider": "litellm",
            "target": "openai/scripted",
            "base_url": spec["base_url"],
            "examples": {"episodes": solved, "shown": 1, "embedder": "near"},
        }
        assert (await world.post("/v1/models", alias)).status_code == 201
        world.model.extend(say("Refunded."))
        # In words it is like the first alone.
        episode = await world.start("Refund order 9: money.", model="shown")
        await world.turn(episode, 0)
        contents = [message["content"] for message in world.model.requests[0].messages if isinstance(message, dict)]
        assert contents[1:] == ["Money back for 7.", "Paid.", "Refund order 9: money."]
        # Entities say nothing of how near two tasks are, so they are not sent.
        assert vectors.asked == [["Refund order NUMBER : money.", "Refund order NUMBER .", "Money back for NUMBER ."]]
        vectors.down = True
        begun = len((await world.admin.get("/v1/episodes")).json())
        body = {"task": "Something new.", "model": "shown", "tools": ["shop.*"], "driver": "client"}
        answer = await world.admin.post("/v1/episodes", json=body)
        assert (answer.status_code, "near" in answer.json()["detail"]) == (502, True)
        assert len((await world.admin.get("/v1/episodes")).json()) == begun
