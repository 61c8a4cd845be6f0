"""`kill -9` of a real gateway between send and record."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import httpx

from practicum.contracts.tools import CallStatus
from tests.gateway.conftest import spec_of, until
from tests.gateway.shop import SECRET, Shop

CALLS = {
    "note": ("shop_add_note", {"text": "once"}),
    "refund": ("shop_create_refund", {"order": 1, "amount": 5}),
    "read": ("shop_get_order", {"order": 7}),
}


@dataclass
class Process:
    running: asyncio.subprocess.Process
    client: httpx.AsyncClient

    async def call(self, name: str) -> dict[str, object]:
        tool, arguments = CALLS[name]
        body = {"arguments": arguments, "idempotency_key": name}
        response = await self.client.post(f"/v1/tools/{tool}/call", json=body)
        assert response.status_code == 200, response.text
        return response.json()


@contextlib.asynccontextmanager
async def gateway_process(data_dir: Path) -> AsyncGenerator[Process]:
    """A gateway of its own process, with the administrator's key in hand."""
    log = data_dir.parent / "gateway.log"
    with log.open("ab") as sink:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "practicum_gateway", "--port", "0", "--data-dir", str(data_dir)),
            stdout=sink,
            stderr=sink,
            env={"PATH": os.environ["PATH"]},
        )
    try:
        before = len(addresses(log))
        await until(lambda: len(addresses(log)) > before or process.returncode is not None)
        url = addresses(log)[-1]
        key = (data_dir / "admin.key").read_text().strip()
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=20) as client:
            yield Process(process, client)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def addresses(log: Path) -> list[str]:
    """Where gateways have said that they listen."""
    return re.findall(r"listening on (http://[^,]+),", log.read_text())


async def test_after_a_kill_nothing_is_done_twice_and_every_call_has_an_outcome(shop: Shop, tmp_path: Path) -> None:
    data_dir = tmp_path / "killed"
    async with gateway_process(data_dir) as first:
        spec = spec_of(shop).model_dump(mode="json", exclude_none=True)
        assert (await first.client.post("/v1/connectors", json=spec)).status_code == 201
        allow = {"rules": [{"id": "free", "outcome": "allow"}]}
        assert (await first.client.put("/v1/rules", json=allow)).status_code == 200
        shop.moods = {"add_note": ["hold"], "create_refund": ["hold"], "get_order": ["hold"]}
        calls = [asyncio.create_task(first.call(name)) for name in CALLS]
        await until(lambda: sum("traceparent" in headers for headers in shop.seen) == len(CALLS))
        os.kill(first.running.pid, signal.SIGKILL)
        await asyncio.gather(*calls, return_exceptions=True)
    shop.released.set()
    async with gateway_process(data_dir) as second:
        outcomes = {name: await second.call(name) for name in CALLS}
        assert await second.call("note") == outcomes["note"]
    log = await asyncio.to_thread((tmp_path / "gateway.log").read_text)
    assert {name: outcome["status"] for name, outcome in outcomes.items()} == {
        "note": CallStatus.IN_DOUBT,
        "refund": CallStatus.OK,
        "read": CallStatus.OK,
    }
    assert (len(shop.notes), len(shop.refunds)) == (1, 1)
    assert SECRET not in log
    assert "Traceback" not in log
