"""A database that breaks off what is under way is no defect of the gateway: whoever asked may ask again."""

import asyncio
import os
import signal
from pathlib import Path

import httpx
import pytest
from asyncpg.exceptions import InternalClientError
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from practicum_gateway.estate import Estate
from practicum_gateway.settings import Settings
from practicum_gateway.store.engine import Store
from practicum_gateway.store.outage import outage_of
from practicum_gateway.store.server import as_sqlalchemy
from practicum_gateway.store.tenants import TenantStores
from tests.gateway.process import log_of, start

ON_POSTGRESQL = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
_WAITING = text("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()")


async def waiting(store: Store) -> list[int]:
    """The server's processes that wait for a lock, once one does."""
    pids: list[int] = []
    async with asyncio.timeout(20):
        while not pids:
            async with store.read() as session:
                pids = list(await session.scalars(_WAITING))
    return pids


@ON_POSTGRESQL
async def test_a_request_whose_database_breaks_off_may_be_sent_again(
    gateway: httpx.AsyncClient, estate: Estate, store_url: str
) -> None:
    other = Store(store_url)
    async with other.write() as session:
        await session.execute(text("LOCK TABLE episodes, rule_sets IN ACCESS EXCLUSIVE MODE"))
        for method, path in (("GET", "/v1/episodes"), ("GET", "/v1/episodes/ep_1"), ("PUT", "/v1/rules")):
            asked = asyncio.create_task(gateway.request(method, path, json={} if method == "PUT" else None))
            for pid in await waiting(other):
                os.kill(pid, signal.SIGTERM)
            answer = await asked
            assert (answer.status_code, answer.json()["code"]) == (503, "gateway_unavailable"), answer.text
    assert (await gateway.get("/v1/episodes")).status_code == 200
    assert not estate.main.replica.lost.is_set()
    await other.close()


@ON_POSTGRESQL
async def test_what_is_wrong_with_a_request_is_no_outage(store: Store) -> None:
    for statement in ("SELECT nothing", "SELECT 1/0", "INSERT INTO alembic_version VALUES (NULL)"):
        with pytest.raises(DBAPIError) as caught:
            async with store.write() as session:
                await session.execute(text(statement))
        assert outage_of(caught.value) is None
    assert outage_of(OSError("no such file")) is None


@ON_POSTGRESQL
async def test_a_connection_that_closes_in_the_middle_of_something_is_one(store: Store) -> None:
    closed = InternalClientError("got result for unknown protocol state 3")
    assert outage_of(closed) is not None
    with pytest.raises(DBAPIError) as caught, as_sqlalchemy(store.engine.dialect, "SELECT 1"):
        raise closed
    assert outage_of(caught.value) is not None


@ON_POSTGRESQL
async def test_of_two_that_wait_for_each_other_one_may_try_again(store: Store) -> None:
    at_both = asyncio.Barrier(2)

    async def take(*numbers: int) -> BaseException | None:
        try:
            async with store.write() as session:
                await session.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": numbers[0]})
                await at_both.wait()
                await session.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": numbers[1]})
        except DBAPIError as error:
            return error
        return None

    (failed,) = [error for error in await asyncio.gather(take(1, 2), take(2, 1)) if error is not None]
    assert outage_of(failed) is not None


async def test_a_server_that_is_not_there_is_one() -> None:
    away = Store("postgresql+asyncpg://nobody@127.0.0.1:1/none")
    with pytest.raises((DBAPIError, OSError)) as caught:
        async with away.write() as session:
            await session.execute(text("SELECT 1"))
    assert outage_of(caught.value) is not None
    await away.close()


@ON_POSTGRESQL
async def test_a_tenant_is_dropped_though_what_is_under_way_waits_for_it(
    store: Store, store_url: str, tmp_path: Path
) -> None:
    stores = TenantStores(store, store_url, tmp_path)
    await stores.make("sales")
    tables = [f"practicum_tenant_sales.t{number}" for number in range(3)]
    async with store.write() as session:
        for table in tables:
            await session.execute(text(f"CREATE TABLE {table} (id int)"))
    async with store.write() as session:
        await session.execute(text(f"LOCK TABLE {tables[1]}"))
        dropping = asyncio.create_task(stores.drop("sales"))  # has taken one of the others by then, or both
        await waiting(store)
        await session.execute(text(f"LOCK TABLE {tables[0]}, {tables[2]}"))
    await asyncio.wait_for(dropping, 20)
    assert await stores.names() == []


@ON_POSTGRESQL
async def test_a_gateway_whose_database_goes_away_as_it_starts_says_so(store: Store, settings: Settings) -> None:
    async with store.write() as session:
        await session.execute(text("LOCK TABLE alembic_version"))
        process = await start(settings)
        for pid in await waiting(store):
            os.kill(pid, signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 2
    said = log_of(settings).read_text()
    assert "database is away" in said
    assert "Traceback" not in said
