"""The official client lists, searches and calls, in both revisions of the protocol."""

from typing import Any

import pytest
from agents.mcp import MCPServerStreamableHttp
from mcp import Client, MCPError

from practicum_gateway.house import House
from practicum_gateway.settings import Settings
from tests.gateway.mcp.conftest import MODES, World, about, client_of, text_of
from tests.gateway.shop import SECRET, Shop

NOTE = {"text": "the parcel was wet"}
REFUND = {"order": 7, "amount": 5.0}
ALLOW = {"id": "all", "outcome": "allow"}


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


async def test_tools_are_listed_as_the_native_api_shows_them(world: World) -> None:
    native = {tool["name"]: tool for tool in (await world.admin.get("/v1/tools")).json()}
    for mode in (*MODES, "auto"):
        async with client_of(world.url, world.key, mode) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
            if mode != "2026-07-28":  # there the test's client asks nobody who they are
                assert client.server_info is not None
                assert client.server_info.name == "practicum"
            listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == ["check_approval", *native]
        refund = next(tool for tool in listed.tools if tool.name == "shop_create_refund")
        assert (refund.description, refund.input_schema) == (
            native["shop_create_refund"]["description"],
            native["shop_create_refund"]["input_schema"],
        )
        assert refund.annotations is not None
        assert (refund.annotations.read_only_hint, refund.annotations.destructive_hint) == (False, True)
        order = next(tool for tool in listed.tools if tool.name == "shop_get_order")
        assert order.annotations is not None
        assert (order.annotations.read_only_hint, order.annotations.destructive_hint) == (True, False)


async def test_a_call_answers_what_the_native_one_does(world: World) -> None:
    async def native(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return (await world.admin.post(f"/v1/tools/{tool}/call", json={"arguments": arguments})).json()

    for mode in MODES:
        async with client_of(world.url, world.key, mode) as client:
            fine = await client.call_tool("shop_get_order", {"order": 7})
            assert not fine.is_error
            assert text_of(fine) == (await native("shop_get_order", {"order": 7}))["content"]
            assert fine.structured_content == {"id": 7, "state": "paid", "total": 50.0}
            assert about(fine)["status"] == "ok"
            missing = await client.call_tool("shop_get_order", {"order": 5000})
            assert missing.is_error
            assert text_of(missing) == (await native("shop_get_order", {"order": 5000}))["content"]
            assert missing.structured_content is None
            wrong = await client.call_tool("shop_get_order", {"order": "seven"})
            assert wrong.is_error
            assert about(wrong)["status"] == "error"
            assert "order" in text_of(wrong)
            mirrored = await client.call_tool("shop_mirror", {})
            assert SECRET not in text_of(mirrored) + str(mirrored.structured_content)
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("shop_nothing", {})
            assert (unknown.value.code, unknown.value.data["code"]) == (-32602, "not_found")


@pytest.mark.parametrize("mode", MODES)
async def test_a_repeated_key_makes_no_second_call(world: World, shop: Shop, mode: str) -> None:
    await world.rules(ALLOW)
    keyed: Any = {"practicum/idempotencyKey": "refund-of-7"}
    async with client_of(world.url, world.key, mode) as client:
        first = await client.call_tool("shop_create_refund", REFUND, meta=keyed)
        again = await client.call_tool("shop_create_refund", REFUND, meta=keyed)
        assert (text_of(again), about(again)["idempotencyKey"]) == (text_of(first), "refund-of-7")
        with pytest.raises(MCPError) as other:
            await client.call_tool("shop_create_refund", {**REFUND, "amount": 6.0}, meta=keyed)
        assert other.value.data["code"] == "conflict"
        with pytest.raises(MCPError, match="idempotencyKey"):
            await client.call_tool("shop_add_note", NOTE, meta={"practicum/idempotencyKey": 7})
        assert len(shop.refunds) == 1
        await client.call_tool("shop_create_refund", REFUND)
        await client.call_tool("shop_create_refund", REFUND)
    assert len(shop.refunds) == 3


async def test_what_the_rules_deny_is_not_shown_and_not_done(world: World, shop: Shop) -> None:
    async with client_of(world.url, world.key) as client:
        assert "shop_add_note" in await names(client)
    await world.rules(
        {"id": "no-notes", "tools": ["shop.add_note"], "principals": ["dana"], "outcome": "deny"},
        {
            "id": "small",
            "tools": ["shop.create_refund"],
            "outcome": "deny",
            "arguments": {"properties": {"amount": {"minimum": 10}}},
        },
        ALLOW,
    )
    async with client_of(world.url, world.key) as client:
        assert await names(client) == ["shop_create_refund", "shop_get_order", "shop_mirror"]
        assert (await client.call_tool("shop_create_refund", {"order": 7, "amount": 11})).is_error
        denied = await client.call_tool("shop_add_note", NOTE)
    assert (denied.is_error, about(denied)["status"]) == (True, "denied")
    assert (shop.notes, shop.refunds) == ([], [])
    audit = (await world.admin.get("/v1/audit", params={"action": "tool.denied"})).json()
    assert {entry["subject"] for entry in audit} >= {"shop_add_note", "shop_create_refund"}


@pytest.mark.parametrize("mode", MODES)
async def test_an_episode_key_uses_its_tools_and_is_recorded(world: World, shop: Shop, mode: str) -> None:
    await world.rules(ALLOW)
    episode, key = await world.episode("shop.*_*")
    async with client_of(world.url, key, mode) as client:
        assert await names(client) == ["shop_add_note", "shop_create_refund", "shop_get_order"]
        with pytest.raises(MCPError, match="no tool 'shop_mirror'"):
            await client.call_tool("shop_mirror", {})
        await client.call_tool("shop_get_order", {"order": 7})
        await client.call_tool("shop_add_note", NOTE)
        await client.call_tool("shop_add_note", {"text": 7})
        closing = {"status": "completed", "cause": "policy"}
        assert (await world.admin.post(f"/v1/episodes/{episode}/close", json=closing)).status_code == 200
        with pytest.raises(MCPError, match="ended"):
            await client.call_tool("shop_add_note", NOTE)
    trajectory = (await world.admin.get(f"/v1/trajectories/{episode}")).json()
    made = [(one["step"], one["call"], one["tool"], one["observation"]["status"]) for one in trajectory["invocations"]]
    assert made == [
        (0, 0, "shop_get_order", "ok"),
        (0, 1, "shop_add_note", "ok"),
        (0, 2, "shop_add_note", "error"),  # what was refused is told too
    ]
    assert len(shop.notes) == 1


async def test_the_openai_agents_sdk_uses_the_tools(world: World) -> None:
    params: Any = {"url": f"{world.url}/mcp", "headers": {"Authorization": f"Bearer {world.key}"}}
    async with MCPServerStreamableHttp(params) as server:
        assert "shop_get_order" in [tool.name for tool in await server.list_tools()]
        result = await server.call_tool("shop_get_order", {"order": 7})
    assert text_of(result) == '{"id":7,"state":"paid","total":50.0}'


class TestManyTools:
    """A list that would be longer than its bound."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"mcp_tool_tokens": 250})

    async def test_two_tools_find_and_call_the_others(self, world: World, shop: Shop) -> None:
        await world.rules({"id": "no-notes", "tools": ["shop.add_note"], "outcome": "deny"}, ALLOW)
        async with client_of(world.url, world.key, "legacy") as client:
            assert await names(client) == ["call_tool", "search_tools"]
            found = await client.call_tool("search_tools", {"query": "give money back for an order"})
            assert '"name":"shop_create_refund"' in text_of(found)
            assert "add_note" not in text_of(found)
            called = await client.call_tool("call_tool", {"name": "shop_create_refund", "arguments": REFUND})
            assert called.structured_content == {"refund": 1, "amount": 5.0}
            mended = await client.call_tool("call_tool", {"name": "shop_create_refunds", "arguments": {}})
            assert mended.is_error
            assert "Did you mean shop_create_refund" in text_of(mended)
            assert not (await client.call_tool("shop_get_order", {"order": 7})).is_error
        assert len(shop.refunds) == 1

    async def test_an_episode_shows_what_it_offers_its_model_and_records_searches(
        self, world: World, house: House
    ) -> None:
        await world.rules(ALLOW)
        episode, key = await world.episode()
        async with client_of(world.url, key) as client:
            assert len(await names(client)) == 4
        spec = {"alias": "small", "provider": "litellm", "target": "openai/small", "tool_tokens": 100}
        assert (await world.admin.post("/v1/models", json=spec)).status_code == 201
        episode, key = await world.episode(model="small")
        async with client_of(world.url, key) as client:
            assert await names(client) == ["call_tool", "search_tools"]
            await client.call_tool("search_tools", {"query": "order"})
            await client.call_tool("call_tool", {"name": "shop_get_order", "arguments": {"order": 7}})
        events = await house.record.events.read(episode)
        told = [(event.data["call"], event.data["tool"]) for event in events if event.type == "call.finished"]
        assert told == [(0, "search_tools"), (1, "shop_get_order")]
