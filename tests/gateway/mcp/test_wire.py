"""Raw HTTP at the MCP endpoint: sessions, retries, lost connections, and what is refused."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import Receive, Scope, Send

from practicum.contracts.access import Role
from practicum.contracts.problems import Problem
from practicum_gateway.house import House
from practicum_gateway.mcp.server import McpServer
from practicum_gateway.mcp.sessions import OLDER
from tests.gateway.conftest import served
from tests.gateway.mcp.conftest import MODES, Issues, World, client_of
from tests.gateway.shop import Shop

BOTH = {"Accept": "application/json, text/event-stream"}
ALLOW = {"id": "all", "outcome": "allow"}
REFUND = {"order": 7, "amount": 5.0}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}


def body(method: str, params: Mapping[str, Any] | None = None, request: int | str = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request, "method": method, "params": params or {}}


def refund(request: int | str = 1) -> dict[str, Any]:
    return body("tools/call", {"name": "shop_create_refund", "arguments": REFUND}, request)


def read(response: httpx.Response) -> dict[str, Any]:
    """The JSON-RPC answer in a body or at the end of a stream."""
    if response.headers["content-type"].startswith("text/event-stream"):
        lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
        return json.loads(lines[-1])
    return response.json()


async def send(world: World, content: Any, key: str | None = None, **headers: str) -> httpx.Response:
    head = {
        **BOTH,
        "Authorization": f"Bearer {key or world.key}",
        **{k.replace("_", "-"): v for k, v in headers.items()},
    }
    if isinstance(content, bytes):
        return await world.admin.post("/mcp", content=content, headers={"Content-Type": "application/json", **head})
    return await world.admin.post("/mcp", json=content, headers=head)


async def session_of(world: World, key: str | None = None) -> str:
    begun = await send(world, body("initialize", INITIALIZE), key)
    assert begun.status_code == 200, begun.text
    assert read(begun)["result"]["protocolVersion"] == "2025-11-25"
    return begun.headers["mcp-session-id"]


def no_errors(error: Exception) -> Problem:
    raise error


def test_the_revisions_with_sessions_are_those_of_the_sdk() -> None:
    assert OLDER == HANDSHAKE_PROTOCOL_VERSIONS


async def test_a_request_sent_again_in_its_session_is_made_once(world: World, shop: Shop) -> None:
    await world.rules(ALLOW)
    one, two = await session_of(world), await session_of(world)
    answers = await asyncio.gather(*(send(world, refund(5), mcp_session_id=one) for _ in range(3)))
    assert len({read(answer)["result"]["content"][0]["text"] for answer in answers}) == 1
    assert len(shop.refunds) == 1
    await send(world, refund("5"), mcp_session_id=one)
    await send(world, refund(6), mcp_session_id=one)
    await send(world, refund(5), mcp_session_id=two)
    assert len(shop.refunds) == 4
    reused = await send(world, body("tools/call", {"name": "shop_mirror"}, 5), mcp_session_id=one)
    assert read(reused)["error"]["data"]["code"] == "conflict"
    await send(world, refund(5))
    await send(world, refund(5))
    assert len(shop.refunds) == 6


async def test_a_session_is_of_one_key(world: World, issue: Issues) -> None:
    session = await session_of(world)
    for key in (await issue("dana", Role.DEVELOPER), await issue("eve", Role.DEVELOPER)):
        other = await send(world, body("tools/list"), key, mcp_session_id=session)
        assert (other.status_code, other.json()["error"]["code"]) == (404, -32600)
    assert (await send(world, body("tools/list"), mcp_session_id="made-up")).status_code == 404
    assert (await send(world, body("tools/list"), mcp_session_id=session)).status_code == 200


async def test_a_lost_connection_loses_no_outcome(world: World, shop: Shop) -> None:
    await world.rules(ALLOW)
    shop.moods["create_refund"] = ["hold"]
    session = await session_of(world)
    for attempt in range(2):
        with pytest.raises(httpx.ReadTimeout):
            await world.admin.post(
                "/mcp",
                json=refund(9),
                headers={**BOTH, "Authorization": f"Bearer {world.key}", "Mcp-Session-Id": session},
                timeout=0.3 + attempt,
            )
    shop.released.set()
    found = await send(world, refund(9), mcp_session_id=session)
    assert read(found)["result"]["structuredContent"] == {"refund": 1, "amount": 5.0}
    assert len(shop.refunds) == 1


async def test_without_a_valid_key_there_is_nothing(world: World) -> None:
    for authorization in ("", "Bearer", "Basic YTpi", "Bearer prk_forged-forged-forged"):
        answer = await world.admin.post(
            "/mcp", json=body("tools/list"), headers={**BOTH, "Authorization": authorization}
        )
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


async def test_web_pages_large_bodies_and_keys_without_tools_are_turned_away(world: World, house: House) -> None:
    for origin in ("http://evil.example", "null", world.url):
        assert (await send(world, body("tools/list"), origin=origin)).status_code == 403
    assert (await send(world, b" " * (house.settings.body_bytes + 1))).status_code == 413
    answer = await send(world, body("tools/list"), world.approver)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    refused = (await world.admin.get("/v1/audit", params={"action": "access.refused"})).json()
    assert {(entry["subject"], entry["actor"]) for entry in refused} == {
        ("POST /mcp", "ada"),
        ("POST /mcp", "dana"),
        ("POST /mcp...", "dana"),
    }


async def test_other_methods_are_not_possible_and_nobody_s_fault(world: World) -> None:
    for method in ("GET", "DELETE", "PUT", "OPTIONS"):
        answer = await world.admin.request(method, "/mcp", headers=BOTH)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert (await world.admin.get("/v1/audit", params={"action": "access.refused"})).json() == []


NONSENSE: list[tuple[bytes, int]] = [
    (b"", 400),
    (b"{", 400),
    (b"\xff\xfe", 400),
    (b"[]", 400),
    (b'"text"', 400),
    (b"null", 400),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}', 400),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":NaN}}}', 400),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b'{"a":' * 300 + b"1" + b"}" * 300 + b"}", 400),
    (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\\ud800"}}', 400),
    (b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', 400),
    (b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}', 400),
    (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 400),
]


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_nonsense_is_an_error_in_words(world: World, revision: str) -> None:
    for content, status in NONSENSE:
        answer = await send(world, content, mcp_protocol_version=revision)
        assert answer.status_code == status, (content[:80], answer.text)
        error = answer.json()["error"]
        assert error["code"] in {-32700, -32600, -32602}, (content[:80], error)
        assert "Traceback" not in answer.text
    unknown = await send(world, body("tools/list"), mcp_protocol_version="2999-01-01")
    assert (unknown.status_code, unknown.json()["error"]["code"] < 0) == (400, True)
    for params in ({}, {"name": 7}, {"name": "shop_mirror", "arguments": [1]}):
        answer = await send(world, body("tools/call", params), mcp_protocol_version=revision)
        assert read(answer)["error"]["code"] == -32602
    plain = await world.admin.post("/mcp", content=b"{}", headers={**BOTH, "Authorization": f"Bearer {world.key}"})
    assert plain.status_code in {400, 415}
    zipped = await send(world, b"{}", content_encoding="gzip")
    assert zipped.status_code == 415


async def test_a_tenant_sees_nothing_of_another(world: World) -> None:
    made = (await world.admin.post("/v1/tenants", json={"name": "sales"})).json()["key"]["key"]
    listed = read(await send(world, body("tools/list"), made))["result"]["tools"]
    assert [tool["name"] for tool in listed] == []
    called = read(await send(world, body("tools/call", {"name": "shop_mirror"}), made))
    assert called["error"]["data"]["code"] == "not_found"
    session = await session_of(world)
    assert (await send(world, body("tools/list"), made, mcp_session_id=session)).status_code == 404


async def test_a_client_that_wants_to_know_hears_that_a_call_goes_on(world: World, house: House, shop: Shop) -> None:
    await world.rules(ALLOW)
    server = McpServer(no_errors, most=1000, progress_seconds=0.05)
    caller = await house.keys.authenticate(world.key)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await server({**scope, "state": {"house": house, "principal": caller}}, receive, send)

    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        _ = total, message
        heard.append(progress)
        shop.released.set()

    for mode in MODES:
        shop.released.clear()
        shop.moods["create_refund"] = ["hold"]
        async with served(app) as url, client_of(url, world.key, mode) as client:
            done = await client.call_tool("shop_create_refund", REFUND, progress_callback=hear)
        assert not done.is_error
        assert heard
        heard.clear()
