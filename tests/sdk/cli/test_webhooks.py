"""`practicum webhooks`."""

from practicum.contracts.webhooks import NewWebhook, Webhook, WebhookAttempt
from tests.sdk.cli.conftest import Types
from tests.sdk.stand_in import NOW, Answer, StandIn

CHAT = Webhook(name="chat", origin="https://x.example:443", private_network=False, created=NOW)
NEW = NewWebhook(webhook=CHAT, secret="whsec_one", answer_secret="whsec_two")


def test_webhooks(gateway: StandIn, practicum: Types) -> None:
    made = Answer(201, NEW.model_dump_json().encode())
    failed = CHAT.model_copy(update={"failures": 3, "last": WebhookAttempt(at=NOW, ok=False, said="answered 500")})
    gateway.on("POST", "/v1/webhooks", made)
    gateway.on("POST", "/v1/webhooks/chat/rotate", made)
    gateway.on("GET", "/v1/webhooks", [failed])
    gateway.on("DELETE", "/v1/webhooks/chat", Answer(204))
    shown = practicum("webhooks", "add", "chat", "https://x.example/y", "--private-network")
    assert "whsec_one" in shown.out
    assert "whsec_two" in shown.out
    assert "whsec" not in shown.err
    assert gateway.seen[-1].json == {"name": "chat", "url": "https://x.example/y", "private_network": True}
    assert practicum("webhooks", "rotate", "chat", "--grace", "0", "--json").json["secret"] == "whsec_one"
    assert gateway.seen[-1].json == {"grace_seconds": 0}
    assert all(word in practicum("webhooks", "list").out for word in ("chat", "answered 500", "https://x.example:443"))
    assert practicum("webhooks", "remove", "chat").out == "Removed chat.\n"
    gateway.on("GET", "/v1/webhooks", [])
    assert practicum("webhooks", "list").out == "Nobody is told of approvals.\n"
    assert practicum("webhooks", "add", "chat", "http://x.example").status == 5


def test_trying_one(gateway: StandIn, practicum: Types) -> None:
    ok = WebhookAttempt(at=NOW, ok=True, said="answered 200")
    gateway.on("POST", "/v1/webhooks/chat/test", ok, WebhookAttempt(at=NOW, ok=False, said="answered 500"))
    assert practicum("webhooks", "test", "chat").out == "Delivered: answered 200\n"
    lost = practicum("webhooks", "test", "chat")
    assert (lost.status, lost.out) == (1, "Not delivered: answered 500\n")
