"""Episodes whose tools exceed their model's budget: the model finds and calls them with two others."""

import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import Episode
from practicum.contracts.tools import CallStatus
from practicum.contracts.trajectory import Use
from practicum.testing import Reply, ScriptedCall, ScriptedModelServer, call, say
from practicum.trajectories.chat import chat_row
from practicum_gateway.app import create_app
from practicum_gateway.settings import Settings
from tests.gateway.episodes.conftest import ADMIN, APPROVER, client_of
from tests.gateway.episodes.world import Shop, World, serving

ROOMS = 298

Open = Callable[[], contextlib.AbstractAsyncContextManager[World]]


class Labels(BaseModel):
    labels: dict[str, str]
    note: str | None = None


def depot(shop: Shop, labelled: list[JsonObject]) -> FastAPI:
    """The shop with 298 rooms beside it: 300 tools and one that has a free map."""
    app = shop.app()

    async def room() -> list[str]:
        return ["box"]

    async def label(id: int, labels: Labels) -> JsonObject:  # noqa: A002  # the document's own name
        labelled.append({"id": id, **labels.model_dump(exclude_unset=True)})
        return {"id": id}

    for number in range(ROOMS):
        app.get(f"/rooms/{number}", operation_id=f"list_room_{number}", description=f"What room {number} stores.")(room)
    app.post("/orders/{id}/labels", operation_id="label_order")(label)
    return app


@pytest.fixture
def labelled() -> list[JsonObject]:
    return []


@pytest.fixture
async def open_gateway(settings: Settings, labelled: list[JsonObject]) -> AsyncIterator[Open]:
    """Starts a gateway over the same data, the depot and the model going on beside it."""
    shop = Shop()
    with ScriptedModelServer() as model:
        async with serving(depot(shop, labelled)) as shop.url:

            @contextlib.asynccontextmanager
            async def opened() -> AsyncGenerator[World]:
                async with (
                    serving(create_app(settings)) as url,
                    client_of(url, ADMIN) as admin,
                    client_of(url, APPROVER) as approver,
                ):
                    yield World(url=url, admin=admin, approver=approver, model=model, shop=shop)

            yield opened


@pytest.fixture
async def world(open_gateway: Open) -> AsyncIterator[World]:
    async with open_gateway() as world:
        await stock(world)
        yield world


async def stock(world: World) -> None:
    url = world.shop.url
    spec = {"name": "shop", "source": f"{url}/openapi.json", "base_url": url, "private_network": True}
    answer = await world.post("/v1/connectors", spec)
    assert answer.status_code == 201, answer.text
    await world.rules({"id": "all", "tools": ["*"], "outcome": "allow"})
    await register(world, tool_tokens=1_000)


async def register(world: World, **given: Any) -> None:
    alias = {"alias": "scripted", "provider": "litellm", "target": "openai/scripted", "base_url": world.model.base_url}
    answer = await world.post("/v1/models", {**alias, **given})
    assert answer.status_code == 201, answer.text


def through(name: str, arguments: Any) -> Reply:
    return call("call_tool", {"name": name, "arguments": arguments})


async def last_told(world: World, episode: Episode) -> str:
    message = (await world.trajectory(episode)).messages[-1]
    assert message.role == "tool"
    return message.content or ""


def names_sent(world: World, request: int = -1) -> list[str]:
    tools: Any = world.model.requests[request].body.get("tools", [])
    return [tool["function"]["name"] for tool in tools]


async def test_a_model_finds_a_tool_and_calls_it(world: World) -> None:
    world.model.extend(
        call("search_tools", {"query": "refund an order"}),
        through("shop_refund_order", {"id": 8, "amount": 5}),
        say("Done."),
    )
    episode = await world.start()
    searching = await world.turn(episode, 0)
    assert [made.tool for made in searching.calls] == ["search_tools"]
    assert (await world.call(episode, 0)).status is CallStatus.OK
    found = json.loads(await last_told(world, episode))
    assert found["tools"][0]["name"] == "shop_refund_order"
    assert found["tools"][0]["effect"] == "money"
    assert found["tools"][0]["arguments"]["required"] == ["id", "amount"]
    calling = await world.turn(episode, 1)
    assert [made.tool for made in calling.calls] == ["shop_refund_order"]
    assert (await world.call(episode, 1)).status is CallStatus.OK
    assert world.shop.refunds == [(8, 5.0)]
    assert (await world.turn(episode, 2)).calls == ()
    assert names_sent(world) == ["search_tools", "call_tool"]


async def test_the_record_names_the_inner_tool_and_what_was_really_offered(world: World) -> None:
    world.model.extend(
        call("search_tools", {"query": "refund"}), through("shop.refund_order", '{"id": 8, "amount": 5}'), say("Done.")
    )
    episode = await world.start()
    for step in range(2):
        await world.turn(episode, step)
        await world.call(episode, step)
    await world.turn(episode, 2)
    await world.close(episode)
    record = await world.trajectory(episode)
    sent: Any = world.model.requests[0].body["tools"]
    assert [list(made.tools) for made in record.model_calls] == [sent] * 3
    assert list(record.tools) == sent
    assert [(made.key, made.tool, made.arguments) for made in record.invocations] == [
        (f"{episode.id}/0/0", "search_tools", {"query": "refund"}),
        (f"{episode.id}/1/0", "shop_refund_order", {"id": 8, "amount": 5}),
    ]
    # As the model wrote it.
    assert record.messages[4].tool_calls[0].arguments == {
        "name": "shop.refund_order",
        "arguments": '{"id": 8, "amount": 5}',
    }
    ended = [event for event in await world.events(episode) if event.type == "call.finished"]
    assert [event.data["tool"] for event in ended] == ["search_tools", "shop_refund_order"]
    assert next(use for use in record.uses if use.use is Use.SFT).eligible
    row: Any = chat_row(record)
    assert (len(row["tools"]), row["messages"][4]["tool_calls"][0]["function"]["name"]) == (2, "call_tool")


async def test_tools_within_the_budget_are_written_out(world: World) -> None:
    world.model.extend(say("Done."), say("Done."))
    await world.turn(await world.start(tools=["shop.get_order", "shop.refund_order"]), 0)
    assert names_sent(world) == ["shop_get_order", "shop_refund_order"]
    await register(world, tool_tokens=None)
    await world.turn(await world.start(), 0)
    assert len(names_sent(world)) == ROOMS + 3


async def test_a_direct_call_of_a_tool_that_was_found_is_made(world: World) -> None:
    world.model.extend(call("shop_get_order", {"id": 8}), say("Done."))
    episode = await world.start()
    await world.turn(episode, 0)
    assert (await world.call(episode, 0)).status is CallStatus.OK


async def test_a_repeated_call_does_nothing_twice(world: World) -> None:
    world.model.extend(through("shop_refund_order", {"id": 8, "amount": 5}))
    episode = await world.start()
    await world.turn(episode, 0)
    first = await world.call(episode, 0)
    assert await world.call(episode, 0) == first
    assert world.shop.refunds == [(8, 5.0)]


async def test_a_form_that_knows_no_free_objects_still_calls_what_was_found(
    world: World, labelled: list[JsonObject]
) -> None:
    await register(world, tool_tokens=1_000, tool_profile="openai_strict")
    world.model.extend(
        call("search_tools", {"query": "label an order", "limit": None}),
        through("shop_label_order", '{"id": 8, "labels": {"a": "b"}}'),
        say("Done."),
    )
    episode = await world.start()
    await world.turn(episode, 0)
    assert (await world.call(episode, 0)).status is CallStatus.OK
    assert "shop_label_order" in await last_told(world, episode)
    await world.turn(episode, 1)
    assert (await world.call(episode, 1)).status is CallStatus.OK
    assert labelled == [{"id": 8, "labels": {"a": "b"}}]
    sent: Any = world.model.requests[0].body["tools"]
    assert [tool["function"]["strict"] for tool in sent] == [True, True]
    assert sent[1]["function"]["parameters"]["properties"]["arguments"]["type"] == "string"


async def test_a_person_approves_the_inner_call(world: World) -> None:
    await world.rules({"id": "money", "tools": ["shop.refund_order"], "outcome": "ask"})
    world.model.extend(through("shop_refund_order", {"id": 8, "amount": 5}), say("Done."))
    episode = await world.start()
    await world.turn(episode, 0)
    waiting = await world.call(episode, 0)
    assert waiting.status is CallStatus.WAITING
    asked = (await world.approver.get(f"/v1/approvals/{waiting.approval}")).json()
    assert (asked["tool"], asked["arguments"]) == ("shop_refund_order", {"id": 8, "amount": 5})
    decision = {"approve": True, "arguments_hash": asked["arguments_hash"]}
    answer = await world.approver.post(f"/v1/approvals/{waiting.approval}", json=decision)
    assert answer.status_code == 200, answer.text
    assert (await world.call(episode, 0)).status is CallStatus.OK
    assert world.shop.refunds == [(8, 5.0)]


async def test_a_rule_denies_the_inner_call(world: World) -> None:
    await world.rules({"id": "no", "tools": ["shop.refund_order"], "outcome": "deny"})
    world.model.extend(through("shop_refund_order", {"id": 8, "amount": 5}), say("Done."))
    episode = await world.start()
    await world.turn(episode, 0)
    assert (await world.call(episode, 0)).status is CallStatus.DENIED
    assert world.shop.refunds == []
    made = (await world.trajectory(episode)).invocations
    assert [(one.tool, one.arguments) for one in made] == [("shop_refund_order", {"id": 8, "amount": 5})]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (through("shop_refund_orders", {}), "shop_refund_order"),
        (through("other_tool", {}), "search_tools"),
        (call("other_tool", {}), "There is no tool 'other_tool'"),
        (through("shop_refund_order", {"id": "eight", "amount": 5}), "id"),
        (through("shop_refund_order", [8]), "one JSON object"),
        (call("call_tool", '{"name": "shop_refund_order", "arguments": {"id": 8'), "could not be read"),
        (through("call_tool", {"name": "shop_refund_order"}), "does not call call_tool"),
        (call("search_tools", {}), "`query`"),
    ],
)
async def test_a_call_that_cannot_be_made_is_answered_with_the_way_out(world: World, reply: Reply, words: str) -> None:
    world.model.extend(reply, say("Sorry."))
    episode = await world.start()
    await world.turn(episode, 0)
    assert (await world.call(episode, 0)).status is CallStatus.ERROR
    assert words in await last_told(world, episode)
    assert world.shop.refunds == []


async def test_tools_that_are_not_the_episodes_are_neither_found_nor_called(world: World) -> None:
    world.model.extend(
        call("search_tools", {"query": "refund an order"}), through("shop_refund_order", {"id": 8, "amount": 5})
    )
    episode = await world.start(tools=["shop.list_room_*"])
    await world.turn(episode, 0)
    await world.call(episode, 0)
    assert "shop_refund_order" not in await last_told(world, episode)
    await world.turn(episode, 1)
    assert (await world.call(episode, 1)).status is CallStatus.ERROR
    assert world.shop.refunds == []


async def test_the_limit_of_calls_in_a_turn_holds(world: World) -> None:
    inner = ScriptedCall("call_tool", {"name": "shop_get_order", "arguments": {"id": 8}})
    world.model.extend(Reply(tool_calls=(inner, inner)))
    episode = await world.start(limits={"calls_per_step": 1})
    await world.turn(episode, 0)
    assert (await world.call(episode, 0, 0)).status is CallStatus.OK
    assert (await world.call(episode, 0, 1)).status is CallStatus.ERROR


async def test_an_episode_goes_on_as_it_began_whatever_becomes_of_its_model(open_gateway: Open) -> None:
    async with open_gateway() as world:
        await stock(world)
        episode = await world.start()
        await register(world, tool_tokens=None)
    async with open_gateway() as world:
        world.model.extend(call("search_tools", {"query": "refund an order"}), say("Done."), say("Done."))
        await world.turn(episode, 0)
        assert (await world.call(episode, 0)).status is CallStatus.OK
        assert "shop_refund_order" in await last_told(world, episode)
        await world.turn(episode, 1)
        assert names_sent(world) == ["search_tools", "call_tool"]
        await world.turn(await world.start(), 0)
        assert len(names_sent(world)) == ROOMS + 3


async def test_a_turn_taken_before_a_restart_is_carried_out_after_it(open_gateway: Open) -> None:
    async with open_gateway() as world:
        await stock(world)
        world.model.extend(through("shop_refund_order", {"id": 8, "amount": 5}))
        episode = await world.start()
        taken = await world.turn(episode, 0)
        await register(world, tool_tokens=None)
    async with open_gateway() as world:
        assert await world.turn(episode, 0, attempt=2) == taken
        assert [made.tool for made in taken.calls] == ["shop_refund_order"]
        assert (await world.call(episode, 0)).status is CallStatus.OK
        assert world.shop.refunds == [(8, 5.0)]


async def test_an_agent_with_an_episode_key_brings_its_own_tools(world: World) -> None:
    world.model.extend(call("shop_get_order", {"id": 8}))
    mine: JsonObject = {"type": "function", "function": {"name": "shop_get_order", "parameters": {"type": "object"}}}
    episode = await world.start()
    async with world.client(await world.episode_key(episode)) as agent:
        said: JsonObject = {"model": "scripted", "messages": [{"role": "user", "content": "Hello"}], "tools": [mine]}
        answer = await agent.post("/v1/chat/completions", json=said)
        assert answer.status_code == 200, answer.text
        assert world.model.requests[0].body["tools"] == [mine]
        assert len((await agent.get("/v1/tools", params={"limit": 1000})).json()) == ROOMS + 3
        made = await agent.post("/v1/tools/shop_get_order/call", json={"arguments": {"id": 8}})
        assert made.json()["status"] == "ok"
    assert list((await world.trajectory(episode)).tools) == [mine]


async def test_tools_go_out_in_the_providers_form_and_come_back_in_their_own(
    world: World, labelled: list[JsonObject]
) -> None:
    await register(world, tool_profile="openai_strict")
    written: JsonObject = {"id": 8, "labels": [{"key": "a", "value": "b"}], "note": "(leave out)"}
    world.model.extend(call("shop_label_order", written), say("Done."))
    episode = await world.start(tools=["shop.label_order"])
    await world.turn(episode, 0)
    sent: Any = world.model.requests[0].body["tools"]
    assert sent[0]["function"]["strict"] is True
    receipt = await world.call(episode, 0)
    assert receipt.status is CallStatus.OK, await last_told(world, episode)
    assert labelled == [{"id": 8, "labels": {"a": "b"}}]
    record = await world.trajectory(episode)
    assert record.messages[2].tool_calls[0].arguments == written
    assert record.invocations[0].arguments == {"id": 8, "labels": {"a": "b"}}
    assert (list(record.tools), list(record.model_calls[0].tools)) == (sent, sent)


@pytest.mark.parametrize(
    "given",
    [
        {"tool_profile": "opnai"},
        {"tool_profile": "mcp"},
        {"tool_tokens": 0},
        {"provider": "llama_cpp", "tool_profile": "openai"},
    ],
)
async def test_a_setting_that_means_nothing_is_refused(world: World, given: JsonObject) -> None:
    spec = {"alias": "other", "provider": "litellm", "target": "openai/x", "base_url": "http://127.0.0.1:1", **given}
    answer = await world.post("/v1/models", spec)
    assert (answer.status_code, answer.json()["code"]) == (422, "request")


async def test_a_model_says_how_its_tools_are_offered(world: World) -> None:
    info = (await world.admin.get("/v1/models/scripted")).json()
    assert (info["tool_tokens"], info["tool_profile"]) == (1_000, "openai")
