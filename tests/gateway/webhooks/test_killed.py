"""`kill -9` of a real gateway between the question and its delivery."""

import os
import signal

import pytest

from practicum_gateway.settings import Settings
from tests.gateway.conftest import spec_of, until
from tests.gateway.process import gateway_process, log_of
from tests.gateway.shop import Shop
from tests.gateway.webhooks.chat import Chat


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_a_question_outlives_the_gateway_that_asked(shop: Shop, chat: Chat, settings: Settings) -> None:
    chat.moods = ["hold"]
    async with gateway_process(settings) as first:
        spec = spec_of(shop).model_dump(mode="json")
        assert (await first.client.post("/v1/connectors", json=spec)).status_code == 201
        hook = {"name": "chat", "url": f"{chat.url}/hook", "private_network": True}
        made = (await first.client.post("/v1/webhooks", json=hook)).json()
        refund = {"arguments": {"order": 1, "amount": 5}, "idempotency_key": "k"}
        asked = (await first.client.post("/v1/tools/shop_create_refund/call", json=refund)).json()
        await until(lambda: chat.moods == [])
        os.kill(first.running.pid, signal.SIGKILL)
        await first.running.wait()
    assert chat.told == []
    async with gateway_process(settings):
        await until(lambda: len(chat.arrived("approval.requested")) == 1)
    chat.released.set()
    assert chat.arrived("approval.requested")[0]["approval"] == asked["approval"]
    assert chat.told[0].is_signed_with(made["secret"])
    log = log_of(settings).read_text()
    for secret in (made["secret"], made["answer_secret"]):
        assert secret not in log
    assert "Traceback" not in log
