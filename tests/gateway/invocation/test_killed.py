"""`kill -9` of a real gateway at each step of a call."""

import asyncio
import os
import signal

import httpx
import pytest

from practicum.contracts.tools import CallStatus
from practicum_gateway.settings import Settings
from tests.gateway.conftest import spec_of, until
from tests.gateway.invocation.dying_gateway import Step
from tests.gateway.process import Process, gateway_process, log_of
from tests.gateway.shop import SECRET, Shop

CALLS = {
    "note": ("shop_add_note", {"text": "once"}),
    "refund": ("shop_create_refund", {"order": 1, "amount": 5}),
    "read": ("shop_get_order", {"order": 7}),
}
OK, IN_DOUBT = CallStatus.OK, CallStatus.IN_DOUBT


async def call(gateway: Process, name: str) -> dict[str, object]:
    tool, arguments = CALLS[name]
    body = {"arguments": arguments, "idempotency_key": name}
    response = await gateway.client.post(f"/v1/tools/{tool}/call", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def furnish(gateway: Process, shop: Shop) -> None:
    spec = spec_of(shop).model_dump(mode="json", exclude_none=True)
    assert (await gateway.client.post("/v1/connectors", json=spec)).status_code == 201
    allow = {"rules": [{"id": "free", "outcome": "allow"}]}
    assert (await gateway.client.put("/v1/rules", json=allow)).status_code == 200


@pytest.mark.parametrize(
    ("step", "name", "status", "done"),
    [
        (Step.BEFORE_MARK, "note", OK, 1),
        (Step.BEFORE_SEND, "note", IN_DOUBT, 0),
        (Step.BEFORE_SEND, "refund", OK, 1),
        (Step.BEFORE_RECORD, "note", IN_DOUBT, 1),
        (Step.AFTER_RECORD, "note", OK, 1),
    ],
)
async def test_whenever_it_is_killed_a_call_is_made_once_and_has_an_outcome(
    *, step: Step, name: str, status: CallStatus, done: int, shop: Shop, settings: Settings
) -> None:
    program = ("tests.gateway.invocation.dying_gateway", step)
    async with gateway_process(settings, program=program) as first:
        await furnish(first, shop)
        with pytest.raises(httpx.TransportError):
            await call(first, name)
        assert await first.running.wait() == -signal.SIGKILL
    async with gateway_process(settings) as second:
        outcome = await call(second, name)
        assert await call(second, name) == outcome
    assert outcome["status"] == status
    assert len(shop.notes) + len(shop.refunds) == done
    assert "Traceback" not in log_of(settings).read_text()


async def test_after_a_kill_nothing_is_done_twice_and_every_call_has_an_outcome(shop: Shop, settings: Settings) -> None:
    async with gateway_process(settings) as first:
        await furnish(first, shop)
        shop.moods = {"add_note": ["hold"], "create_refund": ["hold"], "get_order": ["hold"]}
        calls = [asyncio.create_task(call(first, name)) for name in CALLS]
        await until(lambda: sum("traceparent" in headers for headers in shop.seen) == len(CALLS))
        os.kill(first.running.pid, signal.SIGKILL)
        await asyncio.gather(*calls, return_exceptions=True)
    shop.released.set()
    async with gateway_process(settings) as second:
        outcomes = {name: await call(second, name) for name in CALLS}
        assert await call(second, "note") == outcomes["note"]
    log = log_of(settings).read_text()
    assert {name: outcome["status"] for name, outcome in outcomes.items()} == {
        "note": IN_DOUBT,
        "refund": OK,
        "read": OK,
    }
    assert (len(shop.notes), len(shop.refunds)) == (1, 1)
    assert SECRET not in log
    assert "Traceback" not in log
