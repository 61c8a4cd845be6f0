"""Training episodes: each works on its own practice copies, and nothing it does reaches a live system."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from practicum.contracts.episodes import Episode
from practicum.contracts.tools import CallStatus
from practicum_gateway.settings import Settings
from tests.gateway.conftest import served
from tests.gateway.episodes.practising import SECRETS, START, TOKEN, Ground, app_of, practice_spec, practising
from tests.gateway.episodes.world import World


@pytest.fixture
async def ground(world: World) -> AsyncIterator[Ground]:
    async with practising(world) as made:
        yield made


async def test_two_episodes_side_by_side_do_not_see_each_other(ground: Ground) -> None:
    one, two = await asyncio.gather(ground.train(), ground.train())

    assert await ground.refund(one, 5) is CallStatus.OK
    assert await ground.refund(two, 7) is CallStatus.OK
    assert await ground.refund(two, 1, step=1) is CallStatus.OK

    first, second = await ground.states(one), await ground.states(two)
    assert first["erp"]["orders"]["7"]["refunded"] == 5
    assert second["erp"]["orders"]["7"]["refunded"] == 8
    assert (len(first["erp"]["refunds"]), len(second["erp"]["refunds"])) == (1, 2)
    assert ground.live_effects() == 0
    assert [path for heard in ground.live.values() for path in heard.paths if path != "/openapi.json"] == []


async def test_a_copy_begins_with_the_start_state_and_what_it_does_not_name_is_empty(ground: Ground) -> None:
    episode = await ground.train(start={"erp": START["erp"]})
    states = await ground.states(episode)
    assert states["erp"] == {"products": {}, "refunds": {}, "messages": {}, **START["erp"]}
    assert states["crm"] == {"customers": {}, "notes": {}, "tickets": {}}


async def test_a_system_that_only_the_start_state_names_is_begun_and_read_too(ground: Ground) -> None:
    episode = await ground.train(tools=["erp.*"])
    states = await ground.states(episode)
    assert states["crm"]["customers"] == START["crm"]["customers"]


async def test_without_a_start_state_the_copies_begin_as_their_owner_has_it(ground: Ground) -> None:
    states = await ground.states(await ground.train(start={}))
    assert len(states["crm"]["customers"]) == 40
    assert len(states["erp"]["orders"]) == 60


async def test_the_credentials_of_each_side_stay_there(ground: Ground, settings: Settings) -> None:
    episode = await ground.train()
    await ground.refund(episode, 5)
    live = await ground.world.start("Look at it.", tools=["erp.*", "crm.*"])
    assert await ground.call(live, "erp_get_order", {"order_id": 7}) is CallStatus.OK
    assert await ground.call(live, "crm_get_customer", {"customer_id": "C-1"}, step=1) is CallStatus.OK

    at_practice = "\n".join(ground.practice.heard)
    at_live = "\n".join(text for heard in ground.live.values() for text in heard.heard)
    assert TOKEN in at_practice
    assert "canary" in at_live
    assert not [secret for secret in SECRETS[:2] if secret in at_practice]
    assert TOKEN not in at_live
    # At rest they are sealed, and what is shown of the connectors, episodes and trajectories holds none.
    kept = b"".join(file.read_bytes() for file in _stored(settings))
    for path in ("/v1/connectors", "/v1/connectors/erp", "/v1/trajectories", f"/v1/episodes/{episode.id}/states"):
        kept += (await ground.world.admin.get(path)).content
    assert not [secret for secret in SECRETS if secret.encode() in kept]


async def test_a_live_connector_without_copies_refuses(ground: Ground) -> None:
    episode = await ground.train(tools=["crm.*", "shop.*"])
    assert await ground.call(episode, "shop_get_order", {"id": 8}) is CallStatus.DENIED
    assert set(await ground.states(episode)) == {"crm", "erp"}
    none = await ground.train(tools=["shop.*"], start={})
    answer = await ground.world.admin.get(f"/v1/episodes/{none.id}/states")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_a_practice_connector_is_reached_as_it_is(ground: Ground) -> None:
    async with served(ground.live["crm"].app) as url:
        spec = practice_spec(url, "everybodys").model_dump(mode="json")
        assert (await ground.world.admin.post("/v1/connectors", json=spec)).status_code == 201
        episode = await ground.train(tools=["everybodys.*"], start={})
        assert await ground.call(episode, "everybodys_get_customer", {"customer_id": "C-1"}) is CallStatus.OK
        assert (await ground.refused(start={"everybodys": START["crm"]})).status_code == 422


async def test_in_training_nobody_is_asked_and_a_denial_stays(ground: Ground) -> None:
    await ground.world.rules(
        {"id": "no-tickets", "tools": ["crm.create_ticket"], "outcome": "deny"}, {"id": "ask", "outcome": "ask"}
    )
    episode = await ground.train()
    assert await ground.refund(episode, 5) is CallStatus.OK
    ticket = {"customer_id": "C-1", "subject": "broken", "priority": "low"}
    assert await ground.call(episode, "crm_create_ticket", ticket, step=1) is CallStatus.DENIED
    assert (await ground.world.admin.get("/v1/approvals")).json() == []


async def test_an_agent_of_another_framework_works_on_its_copy(ground: Ground) -> None:
    episode = await ground.train()
    async with ground.world.client(await ground.world.episode_key(episode)) as agent:
        made = await agent.post("/v1/tools/erp_create_refund/call", json={"arguments": {"order_id": 7, "amount": 5}})
    assert made.json()["status"] == "ok"
    assert (await ground.states(episode))["erp"]["orders"]["7"]["refunded"] == 5
    assert ground.live_effects() == 0


async def test_states_and_release_are_none_of_an_agents_business(ground: Ground) -> None:
    episode = await ground.train()
    async with ground.world.client(await ground.world.episode_key(episode)) as agent:
        for client in (agent, ground.world.approver):
            assert (await client.get(f"/v1/episodes/{episode.id}/states")).status_code == 403
            assert (await client.delete(f"/v1/episodes/{episode.id}/practice")).status_code == 403
    assert (await ground.world.admin.get("/v1/episodes/ep_none/states")).status_code == 404
    assert set(await ground.states(episode)) == {"crm", "erp"}


async def test_states_stay_readable_after_the_end_until_they_are_released(ground: Ground) -> None:
    episode = await ground.train()
    other = await ground.train()
    await ground.refund(episode, 5)
    await ground.world.close(episode)
    assert (await ground.states(episode))["erp"]["orders"]["7"]["refunded"] == 5

    for _ in range(2):
        assert (await ground.world.admin.delete(f"/v1/episodes/{episode.id}/practice")).status_code == 204

    gone = await ground.world.admin.get(f"/v1/episodes/{episode.id}/states")
    assert (gone.status_code, gone.json()["code"]) == (409, "episode")
    assert ground.begun() == 2
    assert set(await ground.states(other)) == {"crm", "erp"}


async def test_an_episode_without_copies_is_released_too(ground: Ground) -> None:
    episode = await ground.world.start()
    assert (await ground.world.admin.delete(f"/v1/episodes/{episode.id}/practice")).status_code == 204
    assert (await ground.world.admin.get(f"/v1/episodes/{episode.id}/states")).status_code == 404


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ({"crm": {"dragons": {}}, "erp": START["erp"]}, "no such table: /dragons"),
        ({"payroll": {}}, "no such connector"),
        ({"shop": {}}, "no practice copies"),
    ],
)
async def test_a_start_state_that_does_not_fit_begins_no_episode(ground: Ground, start: Any, says: str) -> None:
    answer = await ground.refused(start=start)
    assert (answer.status_code, answer.json()["code"]) == (422, "request")
    assert says in answer.json()["detail"]
    assert ground.begun() == 0


async def test_a_live_episode_has_no_start_state(ground: Ground) -> None:
    answer = await ground.refused(mode="live")
    assert answer.status_code == 422
    assert ground.begun() == 0


async def test_a_durable_episode_that_cannot_be_handed_over_begins_no_copies(ground: Ground) -> None:
    assert (await ground.refused(driver="temporal")).status_code == 500
    assert ground.begun() == 0


async def test_where_one_copy_has_no_room_there_is_no_episode_and_no_copy(world: World) -> None:
    async with practising(world, most=3) as ground:
        await ground.train()
        answer = await ground.refused()
        assert (answer.status_code, answer.json()["code"]) == (502, "system")
        assert "in use" in answer.json()["detail"]
        assert answer.json()["retry_after"] == 5
        assert ground.begun() == 2


async def test_without_the_practice_server_there_is_no_episode(ground: Ground) -> None:
    down = {"base_url": "http://127.0.0.1:9/crm", "private_network": True}
    spec = practice_spec(ground.practice_url, "down").model_dump(mode="json")
    document = app_of(ground.live["crm"]).openapi()
    spec |= {"mode": "live", "source": None, "document": document, "base_url": "http://127.0.0.1:9", "practice": down}
    answer = await ground.world.admin.post("/v1/connectors", json=spec)
    assert (answer.status_code, answer.json()["connector"]["practice"]) == (201, "http://127.0.0.1:9/crm")

    answer = await ground.refused(tools=["crm.*", "down.*"])

    assert (answer.status_code, answer.json()["code"]) == (502, "system")
    assert ground.begun() == 0


async def test_a_copy_that_was_lost_is_no_empty_system(ground: Ground) -> None:
    episode = await ground.train()
    async with httpx.AsyncClient(headers={"X-API-Key": TOKEN}, timeout=60) as owner:
        url = f"{ground.practice_url}/crm/{episode.id}/_practice/state"
        assert (await owner.delete(url)).status_code == 204
    answer = await ground.world.admin.get(f"/v1/episodes/{episode.id}/states")
    assert (answer.status_code, answer.json()["code"]) == (502, "system")
    assert "gone" in answer.json()["detail"]


async def test_a_repeated_request_begins_no_second_copies(ground: Ground) -> None:
    async def again() -> Episode:
        body = {"task": "x", "model": "scripted", "driver": "client", "mode": "training", "tools": ["crm.*"]}
        answer = await ground.world.admin.post("/v1/episodes", json={**body, "start": START, "idempotency_key": "k"})
        assert answer.status_code in {200, 201}, answer.text
        return Episode.model_validate_json(answer.content)

    episodes = [*await asyncio.gather(again(), again(), again()), await again()]

    assert len({episode.id for episode in episodes}) == 1
    assert ground.begun() == 2
    assert set(await ground.states(episodes[0])) == {"crm", "erp"}


async def test_a_connector_that_was_removed_takes_its_copies_out_of_reach(ground: Ground) -> None:
    episode = await ground.train()
    assert (await ground.world.admin.delete("/v1/connectors/crm")).status_code == 204
    assert (await ground.world.admin.get(f"/v1/episodes/{episode.id}/states")).status_code == 502
    assert (await ground.world.admin.delete(f"/v1/episodes/{episode.id}/practice")).status_code == 204


def _stored(settings: Settings) -> list[Path]:
    found = list(settings.data_dir.glob("gateway.sqlite3*"))
    assert found
    return found
