"""A gateway with a shop behind it, and the official client in front."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from practicum.contracts.access import KeyRequest, Role
from practicum.contracts.connectors import ConnectorSpec
from practicum_gateway.house import House

MODES = ("legacy", "2026-07-28")
"""The previous revision of the protocol, with its handshake, and the present one."""
ALLOW_ALL = {"rules": [{"id": "all", "outcome": "allow"}]}


@contextlib.asynccontextmanager
async def client_of(url: str, key: str, mode: Any = "2026-07-28", **options: Any) -> AsyncGenerator[Client]:
    """The official client, with a key."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode, **options) as client,
    ):
        yield client


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def about(result: CallToolResult) -> dict[str, Any]:
    return (result.meta or {})["practicum/call"]


@dataclass
class World:
    """The gateway as its callers see it.

    Attributes:
        url: where it listens.
        admin: speaks HTTP to it with the administrator's key.
        key: a developer's key.
        approver: an approver's key.
    """

    url: str
    admin: httpx.AsyncClient
    key: str
    approver: str

    async def rules(self, *rules: dict[str, Any]) -> None:
        answer = await self.admin.put("/v1/rules", json={"rules": rules})
        assert answer.status_code == 200, answer.text

    async def answer(self, *, approve: bool) -> int:
        """Answer every open question; how many they were."""
        headers = {"Authorization": f"Bearer {self.approver}"}
        waiting = (await self.admin.get("/v1/approvals", params={"status": "pending"})).json()
        for one in waiting:
            body = {"approve": approve, "arguments_hash": one["arguments_hash"], "reason": "because"}
            said = await self.admin.post(f"/v1/approvals/{one['id']}", json=body, headers=headers)
            assert said.status_code == 200, said.text
        return len(waiting)

    async def episode(self, tools: str = "shop.*", model: str = "scripted") -> tuple[str, str]:
        """An episode of an agent that is not ours, and its key."""
        developer = {"Authorization": f"Bearer {self.key}"}
        body = {"task": "Look after orders.", "model": model, "tools": [tools], "driver": "client"}
        made = await self.admin.post("/v1/episodes", json=body, headers=developer)
        assert made.status_code == 201, made.text
        episode: str = made.json()["id"]
        issued = await self.admin.post(f"/v1/episodes/{episode}/keys", headers=developer)
        assert issued.status_code == 201, issued.text
        return episode, issued.json()["key"]


Issues = Callable[[str, Role], Awaitable[str]]


@pytest.fixture
def issue(house: House) -> Issues:
    async def issue(principal: str, role: Role) -> str:
        return (await house.keys.issue(KeyRequest(principal=principal, role=role))).key

    return issue


@pytest.fixture
async def world(gateway: httpx.AsyncClient, shop_spec: ConnectorSpec, issue: Issues) -> World:
    made = await gateway.post("/v1/connectors", json=shop_spec.model_dump(mode="json", exclude_none=True))
    assert made.status_code == 201, made.text
    model = {"alias": "scripted", "provider": "litellm", "target": "openai/scripted", "base_url": "http://127.0.0.1:9"}
    assert (await gateway.post("/v1/models", json=model)).status_code == 201
    return World(
        url=str(gateway.base_url).rstrip("/"),
        admin=gateway,
        key=await issue("dana", Role.DEVELOPER),
        approver=await issue("ada", Role.APPROVER),
    )
