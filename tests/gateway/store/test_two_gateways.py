"""Real gateways and one store: on a file one at a time, on PostgreSQL several that share nothing else."""

import asyncio
import base64
import contextlib
import os
import shutil
import signal
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from practicum_gateway.settings import Settings
from practicum_gateway.store.catalogue_tables import ConnectorRow
from practicum_gateway.store.engine import Store
from tests.gateway.conftest import served, spec_of, until
from tests.gateway.process import Process, gateway_process, log_of, start
from tests.gateway.shop import SECRET, Shop
from tests.gateway.webhooks.chat import Chat, create_chat
from tests.postgres import PostgresServer

ON_POSTGRESQL = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
ALLOW = {"rules": [{"id": "free", "outcome": "allow"}]}
ASK = {"rules": [{"id": "asked", "outcome": "ask"}]}
NOTE, REFUND, READ = "shop_add_note", "shop_create_refund", "shop_get_order"
ARGUMENTS: dict[str, dict[str, Any]] = {NOTE: {"text": "once"}, REFUND: {"order": 1, "amount": 5}, READ: {"order": 7}}


@pytest.fixture
def elsewhere(settings: Settings, tmp_path: Path) -> Settings:
    """The same store, worked on from another data folder, as from another machine."""
    folder = tmp_path / "elsewhere" / "data"
    folder.mkdir(parents=True)
    (settings.data_dir / "master.key").write_text(base64.b64encode(bytes(32)).decode())
    for name in ("admin", "worker", "approver"):
        (settings.data_dir / f"{name}.key").write_text(f"{name}-key-of-both-gateways")
    for path in settings.data_dir.glob("*.key"):
        shutil.copy(path, folder)
    file = f"sqlite+aiosqlite:///{settings.data_dir / 'gateway.sqlite3'}"
    return settings.model_copy(update={"data_dir": folder, "database_url": settings.database_url or SecretStr(file)})


async def refused(settings: Settings) -> str:
    """What a gateway says that does not start."""
    process = await start(settings)
    assert await asyncio.wait_for(process.wait(), 30) == 2
    return log_of(settings).read_text()


@contextlib.asynccontextmanager
async def both(settings: Settings, elsewhere: Settings) -> AsyncGenerator[tuple[Process, Process]]:
    """Two gateways; neither may say anything that was not foreseen."""
    async with gateway_process(settings) as one, gateway_process(elsewhere) as other:
        yield one, other
    for each in (settings, elsewhere):
        log = log_of(each).read_text()
        assert "Traceback" not in log, log
        assert SECRET not in log


async def furnish(gateway: Process, shop: Shop, rules: dict[str, Any] = ALLOW) -> None:
    spec = spec_of(shop).model_dump(mode="json", exclude_none=True)
    assert (await gateway.client.post("/v1/connectors", json=spec)).status_code == 201
    assert (await gateway.client.put("/v1/rules", json=rules)).status_code == 200


async def call(gateway: Process, tool: str, key: str | None = None) -> dict[str, Any]:
    body = {"arguments": ARGUMENTS[tool], "idempotency_key": key or tool}
    response = await gateway.client.post(f"/v1/tools/{tool}/call", json=body)
    return response.json() | {"code": response.status_code}


async def within(seconds: float, holds: Callable[[], Awaitable[bool]]) -> None:
    """It comes true in time."""
    ends = time.monotonic() + seconds
    while not await holds():
        assert time.monotonic() < ends, "what was changed through one does not hold at the other"
        await asyncio.sleep(0.02)


async def key_of_credential(settings: Settings, connector: str) -> str:
    """Under which key the credential of a connector is sealed."""
    store = Store(settings.url)
    sealed = await store.look(
        lambda at: at.scalar(select(ConnectorRow.credential).where(ConnectorRow.name == connector))
    )
    await store.close()
    assert sealed is not None
    return sealed.split(":")[1]


async def follow(one: Process, other: Process) -> None:
    """What the one writes wakes who follows the episode at the other."""
    model = {"alias": "m", "provider": "litellm", "target": "openai/none", "base_url": "http://127.0.0.1:9"}
    assert (await one.client.post("/v1/models", json=model)).status_code == 201
    took = list[float]()
    for _ in range(3):
        begun = await one.client.post("/v1/episodes", json={"task": "t", "model": "m", "driver": "client"})
        episode = begun.json()["id"]
        async with other.client.stream("GET", f"/v1/episodes/{episode}/events") as stream:
            lines = stream.aiter_lines()
            await anext(line async for line in lines if "episode.started" in line)
            await asyncio.sleep(0.3)  # it has looked, and waits
            assert (await one.client.post(f"/v1/episodes/{episode}/cancel")).status_code == 200
            clock = time.monotonic()
            await anext(line async for line in lines if "episode.ended" in line)
            took.append(time.monotonic() - clock)
    assert sorted(took)[1] < 0.4, took  # it would look by itself after 0.7 s


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_a_file_is_taken_over_when_its_gateway_is_gone(settings: Settings, elsewhere: Settings) -> None:
    async with gateway_process(settings) as first:
        assert "Another gateway works on" in await refused(elsewhere)
        assert (await first.client.get("/readyz")).status_code == 200
        os.kill(first.running.pid, signal.SIGKILL)
        await first.running.wait()
    async with gateway_process(elsewhere) as second:
        assert (await second.client.get("/readyz")).status_code == 200


@ON_POSTGRESQL
async def test_what_is_changed_through_one_holds_at_the_other(
    settings: Settings, elsewhere: Settings, shop: Shop, postgres: PostgresServer
) -> None:
    async with both(settings, elsewhere) as (one, other):
        await furnish(one, shop)

        async def is_called() -> bool:
            return (await call(other, NOTE, "first")).get("status") == "ok"

        await within(1, is_called)
        exchanging = asyncio.create_task(one.client.post("/v1/secrets/rotate"))

        await follow(one, other)

        # rules
        deny = {"rules": [{"id": "never", "outcome": "deny"}]}
        assert (await one.client.put("/v1/rules", json=deny)).status_code == 200

        async def is_denied() -> bool:
            return (await call(other, READ, os.urandom(8).hex()))["status"] == "denied"

        await within(1, is_denied)
        assert (await other.client.put("/v1/rules", json=ALLOW)).status_code == 200

        # keys
        issued = (await one.client.post("/v1/keys", json={"principal": "ann", "role": "developer"})).json()

        async def is_shut() -> bool:
            headers = {"Authorization": f"Bearer {issued['key']}"}
            return (await other.client.get("/v1/tools", headers=headers)).status_code == 401

        assert not await is_shut()
        assert (await one.client.delete(f"/v1/keys/{issued['info']['id']}")).status_code == 204
        await within(1, is_shut)

        # tenants, with keys of their own
        created = (await one.client.post("/v1/tenants", json={"name": "sales", "admin": "sam"})).json()
        headers = {"Authorization": f"Bearer {created['key']['key']}"}

        async def is_open() -> bool:
            return (await other.client.get("/v1/rules", headers=headers)).status_code == 200

        await within(5, is_open)
        assert (await other.client.delete("/v1/tenants/sales")).status_code == 204

        async def is_gone() -> bool:
            return (await one.client.get("/v1/rules", headers=headers)).status_code == 401

        await within(2, is_gone)

        # the key that seals: the other seals under it from then on
        exchanged = await exchanging
        assert exchanged.status_code == 200
        spec = spec_of(shop, "store").model_dump(mode="json", exclude_none=True)
        assert (await other.client.post("/v1/connectors", json=spec)).status_code == 201
        assert await key_of_credential(settings, "store") == exchanged.json()["key_id"]

        async def is_read() -> bool:
            read = await one.client.post("/v1/tools/store_get_order/call", json={"arguments": {"order": 7}})
            return read.status_code == 200 and read.json()["status"] == "ok"

        await within(1, is_read)

        # connectors
        assert (await one.client.delete("/v1/connectors/shop")).status_code == 204

        async def is_unknown() -> bool:
            return (await call(other, READ, os.urandom(8).hex()))["code"] == 404

        await within(1, is_unknown)

        # one whose connection breaks ends, and the other goes on alone
        ended = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4003"
        await asyncio.to_thread(postgres.run, "psql", "--command", ended, "postgres")
        assert await asyncio.wait_for(one.running.wait(), 20) == 2
        assert "Start it again once the database can be reached" in log_of(settings).read_text()
        assert (await other.client.get("/readyz")).status_code == 200
        read = await other.client.post("/v1/tools/store_get_order/call", json={"arguments": {"order": 7}})
        assert read.json()["status"] == "ok"


@ON_POSTGRESQL
async def test_a_call_is_made_once_whichever_gateway_is_asked_and_dies(
    settings: Settings, elsewhere: Settings, shop: Shop
) -> None:
    chat = Chat()
    async with both(settings, elsewhere) as (one, other), served(create_chat(chat)) as url:
        await furnish(one, shop)
        hook = {"name": "ops", "url": url, "private_network": True}
        assert (await one.client.post("/v1/webhooks", json=hook)).status_code == 201

        await make_at_once(one, other, shop)
        await ask_and_answer(one, other, chat)
        assert len(shop.notes) == 10
        for gateway in (one, other):  # both wrote to one log
            found = (await gateway.client.get("/v1/audit/verify")).json()
            assert found["ok"], found
        await kill(one, other, shop)
        assert (len(shop.notes), len(shop.refunds)) == (11, 1)
        assert (await other.client.get("/v1/audit/verify")).json()["ok"]

        # and with it went the courier of both
        assert (await other.client.put("/v1/rules", json=ASK)).status_code == 200
        assert (await call(other, NOTE, "alone"))["status"] == "waiting"
        await until(lambda: chat.kinds.count("approval.requested") == 2)


async def make_at_once(one: Process, other: Process, shop: Shop) -> None:
    """The same calls through both at the same moment, and one through the other while the one works on it."""
    asked = [call(gateway, NOTE, f"same-{number}") for number in range(8) for gateway in (one, other)]
    outcomes = await asyncio.gather(*asked)
    assert {outcome["status"] for outcome in outcomes} == {"ok"}
    assert outcomes[0::2] == outcomes[1::2]
    assert len(shop.notes) == 8
    shop.moods = {"add_note": ["hold"]}
    slow = asyncio.create_task(call(one, NOTE, "slow"))
    await until(shop.held.is_set)
    waiting = asyncio.create_task(call(other, NOTE, "slow"))
    await asyncio.sleep(0.3)
    assert not waiting.done()
    shop.released.set()
    assert await waiting == await slow
    assert len(shop.notes) == 9


async def ask_and_answer(one: Process, other: Process, chat: Chat) -> None:
    """A question asked through the other, answered through the one, told once; the call is made once, through both."""
    assert (await one.client.put("/v1/rules", json=ASK)).status_code == 200

    async def is_asked() -> bool:
        return (await call(other, NOTE, "asked"))["status"] == "waiting"

    await within(1, is_asked)
    question = (await other.client.get("/v1/approvals", params={"status": "pending"})).json()[0]
    answer = {"approve": True, "arguments_hash": question["arguments_hash"]}
    approver = {"Authorization": "Bearer approver-key-of-both-gateways"}
    said = await one.client.post(f"/v1/approvals/{question['id']}", json=answer, headers=approver)
    assert said.status_code == 200
    made = await asyncio.gather(*(call(gateway, NOTE, "asked") for gateway in (one, other)))
    assert [each["status"] for each in made] == ["ok", "ok"]
    await until(lambda: chat.kinds.count("approval.decided") == 1)
    assert len({told.id for told in chat.told}) == len(chat.told)
    assert (await one.client.put("/v1/rules", json=ALLOW)).status_code == 200


async def kill(one: Process, other: Process, shop: Shop) -> None:
    """The one dies in the middle of calls that the other is asked for, too."""
    shop.released.clear()
    shop.moods = {"add_note": ["hold"], "create_refund": ["hold"], "get_order": ["hold"]}
    before = len(shop.seen)
    calls = [asyncio.create_task(call(one, tool, f"killed-{tool}")) for tool in ARGUMENTS]
    await until(lambda: sum("traceparent" in headers for headers in shop.seen[before:]) == len(calls))
    waits = [asyncio.create_task(call(other, tool, f"killed-{tool}")) for tool in ARGUMENTS]
    await asyncio.sleep(0.2)
    os.kill(one.running.pid, signal.SIGKILL)
    shop.released.set()
    note, refund, read = await asyncio.wait_for(asyncio.gather(*waits), 30)
    await asyncio.gather(*calls, return_exceptions=True)
    assert [note["status"], refund["status"], read["status"]] == ["in_doubt", "ok", "ok"]
    assert await call(other, NOTE, f"killed-{NOTE}") == note
