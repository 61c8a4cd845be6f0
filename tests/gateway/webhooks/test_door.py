"""Webhooks at the door: who may register which, what is shown of them, and what is left of them."""

from typing import Any

import httpx
import pytest

from practicum_gateway.estate import Estate
from tests.gateway.conftest import KeyOf
from tests.gateway.webhooks.chat import Chat


async def added(gateway: httpx.AsyncClient, chat: Chat, name: str = "chat", **headers: str) -> dict[str, Any]:
    hook = {"name": name, "url": f"{chat.url}/hook-canary?token=canary", "private_network": True}
    answer = await gateway.post("/v1/webhooks", json=hook, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_the_life_of_a_webhook(
    gateway: httpx.AsyncClient, chat: Chat, estate: Estate, caplog: pytest.LogCaptureFixture
) -> None:
    made = await added(gateway, chat)
    assert made["secret"].startswith("whsec_")
    assert made["secret"] != made["answer_secret"]
    listed = await gateway.get("/v1/webhooks")
    assert listed.json() == [made["webhook"]]
    assert made["webhook"]["origin"] == chat.url
    tried = (await gateway.post("/v1/webhooks/chat/test")).json()
    assert (tried["ok"], tried["said"], chat.kinds) == (True, "answered 204", ["webhook.test"])
    assert chat.told[0].is_signed_with(made["secret"])
    chat.moods = [500]
    assert (await gateway.post("/v1/webhooks/chat/test")).json()["ok"] is False
    assert (await gateway.post("/v1/webhooks", json={"name": "chat", "url": "https://x.example"})).status_code in {
        409,
        422,
    }
    assert (await gateway.post("/v1/secrets/rotate")).json()["credentials"] == 1
    receiver = estate.main.webhooks.find("chat")
    await estate.main.webhooks.close()
    await estate.main.webhooks.open()
    assert estate.main.webhooks.find("chat") == receiver
    rotated = (await gateway.post("/v1/webhooks/chat/rotate", json={})).json()
    assert (await gateway.delete("/v1/webhooks/chat")).status_code == 204
    for method, path in (("DELETE", ""), ("POST", "/test"), ("POST", "/rotate")):
        absent = await gateway.request(method, f"/v1/webhooks/chat{path}", json={})
        assert absent.status_code == 404
    assert (await gateway.get("/v1/webhooks")).json() == []
    log = (await gateway.get("/v1/audit")).text
    for action in ("webhook.added", "webhook.rotated", "webhook.removed"):
        assert f'"{action}"' in log
    for secret in ("canary", made["secret"], made["answer_secret"], rotated["secret"], rotated["answer_secret"]):
        assert secret not in log + listed.text + caplog.text
        for path in estate.main.settings.data_dir.rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes(), path


REFUSED = (
    {"url": "http://hooks.example.com/x"},
    {"url": "https://127.0.0.1/x"},
    {"url": "https://169.254.169.254/latest"},
    {"url": "https://[::1]/x"},
    {"url": "https://nowhere.invalid/x"},
    {"url": "https://ada:secret@hooks.example.com/x", "private_network": True},
    {"url": "ftp://hooks.example.com/x", "private_network": True},
    {"url": "https://", "private_network": True},
    {"url": "https://hooks.example.com:0/", "private_network": True},
    {"url": "https://ada:secret/", "private_network": True},
    {"name": "sales.chat", "url": "https://hooks.example.com/"},
)


async def test_an_address_that_nothing_may_go_to_is_refused(gateway: httpx.AsyncClient) -> None:
    for hook in REFUSED:
        answer = await gateway.post("/v1/webhooks", json={"name": "chat", **hook})
        assert answer.status_code == 422, hook
        assert "secret" not in answer.text
    assert (await gateway.get("/v1/webhooks")).json() == []


async def test_only_an_admin_administers(gateway: httpx.AsyncClient, chat: Chat, key_of: KeyOf) -> None:
    await added(gateway, chat)
    hook = {"name": "mine", "url": f"{chat.url}/x", "private_network": True}
    for method, path, body in (
        ("GET", "", None),
        ("POST", "", hook),
        ("POST", "/chat/test", None),
        ("POST", "/chat/rotate", {}),
        ("DELETE", "/chat", None),
    ):
        answer = await gateway.request(method, f"/v1/webhooks{path}", json=body, headers=key_of("approver"))
        assert answer.status_code == 403, (method, path)
    issued = (await gateway.post("/v1/keys", json={"principal": "au", "role": "auditor"})).json()["key"]
    assert (await gateway.get("/v1/webhooks", headers={"Authorization": f"Bearer {issued}"})).status_code == 200


async def test_webhooks_are_a_tenants_own(gateway: httpx.AsyncClient, chat: Chat, estate: Estate) -> None:
    key = (await gateway.post("/v1/tenants", json={"name": "sales"})).json()["key"]["key"]
    sales = {"Authorization": f"Bearer {key}"}
    await added(gateway, chat, **sales)
    assert (await gateway.get("/v1/webhooks")).json() == []
    assert (await gateway.post("/v1/webhooks/chat/test")).status_code == 404
    mine = await added(gateway, chat)
    assert mine["webhook"]["name"] == "chat"
    assert (await gateway.delete("/v1/tenants/sales")).status_code == 204
    again = (await gateway.post("/v1/tenants", json={"name": "sales"})).json()["key"]["key"]
    assert (await gateway.get("/v1/webhooks", headers={"Authorization": f"Bearer {again}"})).json() == []
    assert estate.main.webhooks.find("chat") is not None
