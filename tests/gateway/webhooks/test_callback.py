"""Answers through a webhook: from the question of a call to its being made, and whatever else comes."""

import json
import secrets
from typing import Any

import httpx
import pytest

from practicum.contracts.access import Approval
from practicum.contracts.webhooks import WebhookAnswer
from practicum.errors import GatewayUnavailableError
from practicum_gateway.access.approvals import Approvals
from practicum_gateway.store.engine import Store
from practicum_gateway.webhooks.answers import Answers, ReplayedError, person_of
from practicum_gateway.webhooks.receivers import Receiver, Secrets
from practicum_gateway.webhooks.signatures import new_secret
from tests.gateway.access.test_approvals import QUESTION
from tests.gateway.conftest import KeyOf, spec_of, until
from tests.gateway.shop import Shop
from tests.gateway.webhooks.chat import Chat, answer_of, signed

REFUND = {"arguments": {"order": 1, "amount": 30}, "idempotency_key": "k"}
CALL = "/v1/tools/shop_create_refund/call"


class Bridge:
    """What stands between the chat and the gateway."""

    def __init__(self, client: httpx.AsyncClient, chat: Chat, made: dict[str, Any], bot: dict[str, str]) -> None:
        self.client = client
        self.chat = chat
        self.secret: str = made["answer_secret"]
        self.made = made
        self.bot = bot

    async def call(self, key: str = "k", **headers: str) -> dict[str, Any]:
        body = REFUND | {"idempotency_key": key}
        return (await self.client.post(CALL, json=body, headers=headers or self.bot)).json()

    async def asked(self, key: str = "k") -> dict[str, Any]:
        """What the chat was told of a call."""
        approval = (await self.call(key))["approval"]
        await until(lambda: any(each["approval"] == approval for each in self.chat.arrived("approval.requested")))
        return next(each for each in self.chat.arrived("approval.requested") if each["approval"] == approval)

    async def answer(
        self, url: str, said: dict[str, Any], *, message: str | None = None, **changes: Any
    ) -> httpx.Response:
        body = json.dumps(said).encode()
        headers = signed(changes.pop("secret", self.secret), body, message or f"msg_{secrets.token_hex(8)}", **changes)
        async with httpx.AsyncClient(timeout=60) as anybody:  # no key comes with it
            return await anybody.post(url, content=body, headers=headers)

    async def audit(self, **query: str) -> list[dict[str, Any]]:
        return (await self.client.get("/v1/audit", params=query)).json()


@pytest.fixture
async def bridge(gateway: httpx.AsyncClient, shop: Shop, chat: Chat) -> Bridge:
    spec = spec_of(shop).model_dump(mode="json")
    assert (await gateway.post("/v1/connectors", json=spec)).status_code == 201
    hook = {"name": "chat", "url": f"{chat.url}/hook", "private_network": True}
    made = await gateway.post("/v1/webhooks", json=hook)
    assert made.status_code == 201, made.text
    key = (await gateway.post("/v1/keys", json={"principal": "Grace", "role": "developer"})).json()["key"]
    return Bridge(gateway, chat, made.json(), {"Authorization": f"Bearer {key}"})


async def test_from_the_question_to_the_call(bridge: Bridge, shop: Shop) -> None:
    asked = await bridge.asked()
    assert bridge.chat.told[0].is_signed_with(bridge.made["secret"])
    assert asked["answer_url"].startswith(str(bridge.client.base_url).rstrip("/"))
    assert shop.refunds == []
    said = answer_of(asked, reason="looks right")
    answered = await bridge.answer(asked["answer_url"], said, message="msg_once")
    assert answered.status_code == 200, answered.text
    assert answered.json()["decided_by"] == "webhook:chat:Grace%20Hopper"
    done = await bridge.call()
    assert done["status"] == "ok"
    assert len(shop.refunds) == 1
    await until(lambda: "approval.decided" in bridge.chat.kinds)
    assert bridge.chat.arrived("approval.decided")[0]["reason"] == "looks right"

    replayed = await bridge.answer(asked["answer_url"], said, message="msg_once")
    assert (replayed.status_code, replayed.json()["code"]) == (409, "conflict")
    assert "taken already" in replayed.json()["detail"]
    assert (await bridge.answer(asked["answer_url"], said)).status_code == 200, "the same person may say it again"
    assert (await bridge.answer(asked["answer_url"], said | {"approve": False})).status_code == 409
    (entry,) = await bridge.audit(action="approval.approved")
    assert (entry["actor"], entry["role"], entry["key"]) == ("webhook:chat:Grace%20Hopper", "approver", "webhook:chat")
    (refused,) = [each for each in await bridge.audit(action="access.refused") if each["outcome"] == "409"]
    assert (refused["actor"], refused["details"]["times"]) == ("webhook:chat:Grace%20Hopper", 1)
    assert len(shop.refunds) == 1


async def test_a_no_is_told_with_its_reason(bridge: Bridge, shop: Shop) -> None:
    asked = await bridge.asked()
    said = answer_of(asked, approve=False, reason="not without a photo")
    assert (await bridge.answer(asked["answer_url"], said)).json()["status"] == "denied"
    denied = await bridge.call()
    assert denied["status"] == "denied"
    assert "not without a photo" in denied["content"]
    assert shop.refunds == []


async def test_what_is_not_signed_is_told_nothing(
    bridge: Bridge, key_of: KeyOf, caplog: pytest.LogCaptureFixture
) -> None:
    asked = await bridge.asked()
    sales = (await bridge.client.post("/v1/tenants", json={"name": "sales"})).json()["key"]["key"]
    admin = {"Authorization": f"Bearer {sales}"}
    hook = {"name": "chat", "url": f"{bridge.chat.url}/sales", "private_network": True}
    theirs = (await bridge.client.post("/v1/webhooks", json=hook, headers=admin)).json()
    url, said = asked["answer_url"], answer_of(asked)
    at = url.partition("?")[0]
    absent = url.replace(asked["approval"], "apr_nobody")
    body = json.dumps(said).encode()
    right = signed(bridge.secret, body)

    async def post(where: str, headers: dict[str, str], content: bytes = body) -> httpx.Response:
        async with httpx.AsyncClient(timeout=60) as anybody:
            return await anybody.post(where, content=content, headers=headers)

    refused = [
        await post(url, {}),
        await post(absent, {}),
        await post(url, key_of("approver")),  # a key is not what opens this door
        await post(url, {**right, "webhook-signature": "v1,AAAA"}),
        await post(url, right, body.replace(b"true", b"True")),
        await post(url, {**right, "webhook-id": "msg_other"}),
        await post(at, right),
        await post(f"{at}?webhook=other", right),
        await post(f"{at}?webhook=nowhere.chat", right),
        await post(f"{at}?webhook=sales.chat", right),
        await bridge.answer(url, said, secret=theirs["answer_secret"]),
        await bridge.answer(url, said, secret=bridge.made["secret"]),
        await bridge.answer(url, said, seconds_ago=400),
        await bridge.answer(url, said, seconds_ago=-400),
    ]
    assert {answer.status_code for answer in refused} == {401}
    assert len({answer.json()["detail"] for answer in refused}) == 1
    # Of another tenant's webhook the signature is right, and there is no such approval in its house.
    foreign = await bridge.answer(f"{at}?webhook=sales.chat", said, secret=theirs["answer_secret"])
    nowhere = await bridge.answer(
        f"{absent.partition('?')[0]}?webhook=sales.chat",
        said | {"approval": "apr_nobody"},
        secret=theirs["answer_secret"],
    )
    assert (foreign.status_code, nowhere.status_code) == (404, 404)
    assert (await bridge.client.get(f"/v1/approvals/{asked['approval']}")).json()["status"] == "pending"
    counted = [each for each in await bridge.audit(action="access.refused") if each["outcome"] == "401"]
    assert sum(each["details"]["times"] for each in counted) >= 12
    assert {each["subject"] for each in counted} == {"POST /v1/approvals/{approval_id}/callback"}
    for secret in (bridge.secret, bridge.made["secret"], theirs["answer_secret"]):
        assert secret not in caplog.text
    assert "unexpected" not in caplog.text


async def test_what_is_signed_and_does_not_fit(bridge: Bridge) -> None:
    asked, other = await bridge.asked(), await bridge.asked("k2")
    url, said = asked["answer_url"], answer_of(asked)
    for person in ("Grace", " grace ", "GRACE", "\uff27race", "Gra\u034fce", "G race", "Grace\ufe0f"):
        refused = await bridge.answer(url, said | {"answered_by": person})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), person
    assert (await bridge.answer(url, answer_of(other))).status_code == 422, "the address is not signed"
    assert (await bridge.answer(url, said | {"arguments_hash": "0" * 64})).status_code == 409
    for wrong in ({"answered_by": ""}, {"answered_by": "a\u202eb"}, {"answered_by": "ü" * 60}, {"extra": 1}):
        assert (await bridge.answer(url, said | wrong)).status_code == 422, wrong
    for body, status in ((b"{", 400), (b"[]", 422), (b" " * 70_000, 413)):
        async with httpx.AsyncClient(timeout=60) as anybody:
            answer = await anybody.post(url, content=body, headers=signed(bridge.secret, body))
        assert answer.status_code == status
    assert (await bridge.client.get(f"/v1/approvals/{asked['approval']}")).json()["status"] == "pending"
    # A refused answer took its id along with it, or another could have been kept from being given.
    assert (await bridge.answer(url, said | {"answered_by": "Grace"}, message="msg_x")).status_code == 403
    assert (await bridge.answer(url, said, message="msg_x")).status_code == 200
    again = await bridge.answer(other["answer_url"], answer_of(other), message="msg_x")
    assert again.status_code == 409, "an id is good for one answer, whatever it is about"
    assert (await bridge.client.get(f"/v1/approvals/{other['approval']}")).json()["status"] == "pending"
    person = {"principal": "webhook:chat:eve", "role": "developer"}
    assert (await bridge.client.post("/v1/keys", json=person)).status_code == 409


async def test_the_old_secret_answers_until_its_grace_is_over(bridge: Bridge) -> None:
    first, second, third = [await bridge.asked(key) for key in ("k1", "k2", "k3")]
    rotated = (await bridge.client.post("/v1/webhooks/chat/rotate", json={})).json()
    assert (await bridge.answer(first["answer_url"], answer_of(first))).status_code == 200
    fresh = rotated["answer_secret"]
    assert (await bridge.answer(second["answer_url"], answer_of(second), secret=fresh)).status_code == 200
    await bridge.client.post("/v1/webhooks/chat/rotate", json={"grace_seconds": 0})
    assert (await bridge.answer(third["answer_url"], answer_of(third), secret=fresh)).status_code == 401
    assert (await bridge.client.delete("/v1/webhooks/chat")).status_code == 204
    assert (await bridge.answer(third["answer_url"], answer_of(third))).status_code == 401


async def test_who_sends_an_answer_again_has_the_episode_told_again(store: Store) -> None:
    told: list[str] = []

    async def tell(approval: Approval) -> None:
        told.append(approval.status)
        if len(told) == 1:
            raise GatewayUnavailableError("the workflow cannot be reached")

    approvals = Approvals(store)
    approvals.on_answer = tell
    asked, _ = await approvals.ask(QUESTION)
    receiver = Receiver("chat", private_network=False, answers_at="", secrets=Secrets("", new_secret(), new_secret()))
    said = WebhookAnswer.model_validate(answer_of({"approval": asked.id, "arguments_hash": asked.arguments_hash}))
    person = person_of(receiver, said.answered_by)
    with pytest.raises(GatewayUnavailableError):
        await Answers(approvals).take(person, receiver, "msg_1", said)
    with pytest.raises(ReplayedError):
        await Answers(approvals).take(person, receiver, "msg_1", said)
    assert told == ["approved", "approved"]
