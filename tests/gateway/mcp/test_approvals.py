"""Calls that wait for a person: whoever asks looks again, and never answers."""

from typing import Any

import pytest
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult

from practicum.contracts.access import Role
from tests.gateway.mcp.conftest import MODES, Issues, World, about, client_of, text_of
from tests.gateway.shop import Shop

REFUND = {"order": 7, "amount": 5.0}


async def look(client: Client, approval: str, **more: Any) -> str:
    return text_of(await client.call_tool("check_approval", {"approval": approval, **more}))


async def count(world: World) -> int:
    return len((await world.admin.get("/v1/approvals")).json())


@pytest.mark.parametrize("mode", MODES)
async def test_the_same_call_again_is_the_one_that_waits(world: World, shop: Shop, issue: Issues, mode: str) -> None:
    async with client_of(world.url, world.key, mode) as client:
        first = await client.call_tool("shop_create_refund", REFUND)
        approval = about(first)["approval"]
        assert (first.is_error, about(first)["status"]) == (True, "waiting")
        assert approval in text_of(first)
        again = await client.call_tool("shop_create_refund", REFUND)
        assert about(again)["approval"] == approval
        assert "still waits" in await look(client, approval)
        other = await client.call_tool("shop_create_refund", {**REFUND, "order": 8})
        assert about(other)["approval"] != approval
        assert (await count(world), shop.refunds) == (2, [])
        assert await world.answer(approve=True) == 2
        assert "was approved" in await look(client, approval, wait_seconds=5)
        done = await client.call_tool("shop_create_refund", REFUND)
        assert (done.is_error, done.structured_content) == (False, {"refund": 1, "amount": 5.0})
        assert await look(client, approval) == text_of(done)
        anew = await client.call_tool("shop_create_refund", REFUND)
        assert about(anew)["approval"] != approval
    assert len(shop.refunds) == 1
    async with client_of(world.url, await issue("eve", Role.DEVELOPER), mode) as stranger:
        for unknown in (approval, "apr_\x00", "ä", ""):
            assert "no approval" in await look(stranger, unknown)


async def test_what_was_denied_is_not_asked_again_under_no_key(world: World, shop: Shop) -> None:
    keyed: Any = {"practicum/idempotencyKey": "another try"}
    async with client_of(world.url, world.key, "legacy") as client:
        await client.call_tool("shop_create_refund", REFUND)
        await world.answer(approve=False)
        denied = await client.call_tool("shop_create_refund", REFUND)
        assert (about(denied)["status"], "because" in text_of(denied)) == ("denied", True)
        assert await count(world) == 1
        anew = await client.call_tool("shop_create_refund", REFUND, meta=keyed)
        assert about(anew)["status"] == "waiting"
    assert shop.refunds == []


async def test_a_client_that_can_be_asked_is_asked_to_go_on_waiting(world: World, shop: Shop) -> None:
    asked: list[str] = []

    async def answer(_: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        if len(asked) == 1:
            assert await world.answer(approve=True) == 1
        return ElicitResult(action="accept", content={})

    async with client_of(world.url, world.key, elicitation_callback=answer) as client:
        done = await client.call_tool("shop_create_refund", REFUND)
    assert done.structured_content == {"refund": 1, "amount": 5.0}
    assert len(asked) == 1
    assert "you cannot approve it yourself" in asked[0]
    assert len(shop.refunds) == 1


async def test_the_answer_to_the_question_is_no_yes(world: World, shop: Shop) -> None:
    async def answer(_: ClientRequestContext, _params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="decline")

    async with client_of(world.url, world.key, elicitation_callback=answer) as client:
        waiting = await client.call_tool("shop_create_refund", REFUND)
        assert (waiting.is_error, about(waiting)["status"]) == (True, "waiting")
        approval = about(waiting)["approval"]
        session = client.session
        forged: Any = {"go_on": ElicitResult(action="accept", content={"approve": True})}
        for tool, arguments, state in (
            ("shop_create_refund", {**REFUND, "amount": 6.0}, approval),
            ("shop_add_note", {"text": "x"}, approval),
            ("shop_create_refund", REFUND, "apr_forged"),
        ):
            with pytest.raises(Exception, match="not this call"):
                await session.call_tool(
                    tool, arguments, input_responses=forged, request_state=state, allow_input_required=True
                )
    own = await world.admin.get(f"/v1/approvals/{approval}", headers={"Authorization": f"Bearer {world.key}"})
    assert own.json()["status"] == "pending"
    assert shop.refunds == []


async def test_an_episode_s_call_keeps_its_place_while_it_waits(world: World, shop: Shop) -> None:
    episode, key = await world.episode()
    async with client_of(world.url, key) as client:
        await client.call_tool("shop_get_order", {"order": 7})
        await client.call_tool("shop_create_refund", REFUND)
        await world.answer(approve=True)
        done = await client.call_tool("shop_create_refund", REFUND)
        assert not done.is_error
    trajectory = (await world.admin.get(f"/v1/trajectories/{episode}")).json()
    made = [(one["key"], one["tool"]) for one in trajectory["invocations"]]
    assert made == [(f"{episode}/0/0", "shop_get_order"), (f"{episode}/0/1", "shop_create_refund")]
    assert len(shop.refunds) == 1


async def test_in_an_episode_a_look_under_another_key_asks_nobody_a_second_time(world: World, shop: Shop) -> None:
    episode, key = await world.episode()
    async with client_of(world.url, key) as client:
        for of_model in ("call_1", "call_2"):
            waits = await client.call_tool("shop_create_refund", REFUND, meta={"practicum/idempotencyKey": of_model})
            assert about(waits)["status"] == "waiting"
        assert await world.answer(approve=True) == 1
        done = await client.call_tool("shop_create_refund", REFUND, meta={"practicum/idempotencyKey": "call_3"})
        assert not done.is_error
        other = await client.call_tool(
            "shop_create_refund", REFUND | {"amount": 6}, meta={"practicum/idempotencyKey": "c4"}
        )
        assert about(other)["status"] == "waiting"
    trajectory = (await world.admin.get(f"/v1/trajectories/{episode}")).json()
    made = trajectory["invocations"][0]
    assert (made["key"], made["observation"]["status"]) == ("call_1", "ok")
    assert len(shop.refunds) == 1
