"""Readiness, and how a gateway leaves: not ready first, then nothing new, and what is under way is recorded."""

import asyncio
import signal

import httpx
from sqlalchemy import text

from practicum.contracts.connectors import ConnectorSpec
from practicum_gateway.app import app_of, build, running
from practicum_gateway.estate import Estate
from practicum_gateway.http.drain import Drain
from practicum_gateway.http.server import configured
from practicum_gateway.settings import Settings
from tests.gateway.conftest import served, spec_of, until
from tests.gateway.process import gateway_process, log_of
from tests.gateway.shop import Shop, create_shop

CHECKS = ["serving", "store", "migrations"]


async def allow(client: httpx.AsyncClient, *specs: ConnectorSpec) -> None:
    for spec in specs:
        wire = spec.model_dump(mode="json", exclude_none=True)
        assert (await client.post("/v1/connectors", json=wire)).status_code == 201
    rules = {"rules": [{"id": "free", "outcome": "allow"}]}
    assert (await client.put("/v1/rules", json=rules)).status_code == 200


async def faults(client: httpx.AsyncClient) -> list[str]:
    answer = await client.get("/readyz")
    assert answer.status_code == 503
    return [fault["where"] for fault in answer.json()["errors"]]


async def test_an_idle_connection_is_kept_longer_than_clients_and_balancers_keep_theirs(estate: Estate) -> None:
    assert configured(app_of(estate)).timeout_keep_alive > 60


async def test_readiness_names_each_check_and_which_of_them_failed(estate: Estate) -> None:
    drain = Drain()
    async with served(app_of(estate, drain=drain)) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        assert (await client.get("/readyz")).json() == {"status": "ready", "checks": dict.fromkeys(CHECKS, "ok")}
        drain.begin()
        assert await faults(client) == ["serving"]
        assert (await client.get("/openapi.json")).status_code == 200
        drain.refuse()
        refused = await client.get("/openapi.json")
        assert (refused.status_code, refused.headers["connection"]) == (503, "close")
        assert int(refused.headers["retry-after"]) > 0
        assert (await client.get("/healthz")).status_code == 200


async def test_a_store_of_another_release_is_not_ready(estate: Estate) -> None:
    async with estate.main.store.write() as session:
        await session.execute(text("UPDATE alembic_version SET version_num = 'from the future'"))
    async with served(app_of(estate)) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
        assert await faults(client) == ["migrations"]


async def test_what_is_under_way_is_recorded_and_a_second_signal_ends_it(shop: Shop, settings: Settings) -> None:
    slow = Shop(moods={"add_note": ["hold"]})
    shop.moods = {"add_note": ["hold"]}
    settings = settings.model_copy(update={"drain_grace_seconds": 1.0})
    async with served(create_shop(slow)) as slow.url, gateway_process(settings) as gateway:
        client = gateway.client
        await allow(client, spec_of(shop), spec_of(slow, "slow"))

        async def note(connector: str) -> httpx.Response:
            wish = {"arguments": {"text": "once"}, "idempotency_key": connector}
            return await client.post(f"/v1/tools/{connector}_add_note/call", json=wish)

        ending, hanging = asyncio.create_task(note("shop")), asyncio.create_task(note("slow"))
        await asyncio.gather(shop.held.wait(), slow.held.wait())
        gateway.running.send_signal(signal.SIGTERM)
        await until(lambda: "not ready any more" in log_of(settings).read_text())
        assert await faults(client) == ["serving"]
        assert (await client.get("/v1/rules")).status_code == 200  # still taken
        await asyncio.sleep(1.1)
        refused = await client.get("/v1/rules")
        assert (refused.status_code, refused.json()["code"]) == (503, "gateway_unavailable")
        shop.released.set()
        assert (await ending).json()["status"] == "ok"
        gateway.running.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(gateway.running.wait(), 30) == 0
        assert isinstance((await asyncio.gather(hanging, return_exceptions=True))[0], httpx.TransportError)
        slow.released.set()
    async with running(build(settings)) as estate, served(app_of(estate)) as url:
        key = (settings.data_dir / "admin.key").read_text().strip()
        async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
            assert ((await note("shop")).json()["status"], (await note("slow")).json()["status"]) == ("ok", "in_doubt")
    assert (len(shop.notes), len(slow.notes)) == (1, 1)
    assert "Traceback" not in log_of(settings).read_text()
