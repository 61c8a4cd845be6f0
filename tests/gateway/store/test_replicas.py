"""Who works on a store, how others know that it lives, and what happens when its hold is lost."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator

import pytest
from sqlalchemy import text

from practicum.errors import ConfigurationError, GatewayUnavailableError
from practicum_gateway.store.engine import Store
from practicum_gateway.store.migrate import head
from practicum_gateway.store.notices import Notice, Topic, tell
from practicum_gateway.store.replicas import Replica, lives
from tests.gateway.conftest import until

ON_POSTGRESQL = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
ON_SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@contextlib.asynccontextmanager
async def at_work(url: str, heard: list[Notice] | None = None) -> AsyncGenerator[tuple[Replica, Store]]:
    """A gateway that has started on a store, as far as its hold goes."""
    replica = Replica()
    store = Store(url, name=replica.boot, lost=replica.lost)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        await stack.enter_async_context(replica.joined(store, head()))
        await replica.opened(([] if heard is None else heard).append)
        yield replica, store


async def is_living(store: Store, boot: str) -> bool:
    return await store.look(lambda connection: lives(connection, boot))


async def holder(store: Store, number: int) -> int:
    """The server's process that holds a lock of all gateways."""
    query = text("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 730512 AND objid = :number")
    async with store.read() as session:
        found = await session.scalar(query, {"number": number})
    assert isinstance(found, int)
    return found


@ON_SQLITE
async def test_on_a_file_a_second_one_is_refused_and_may_have_it_afterwards(store_url: str) -> None:
    async with at_work(store_url) as (first, _):
        with pytest.raises(ConfigurationError, match="Another gateway works on") as caught:
            async with at_work(store_url):
                pass
        assert "PostgreSQL" in str(caught.value.mend)
        assert (first.is_alone, first.leads.is_set(), first.lost.is_set()) == (True, True, False)
    async with at_work(store_url) as (second, _):
        assert not second.lost.is_set()


@ON_POSTGRESQL
async def test_each_knows_of_the_others_and_one_leads_as_long_as_it_lives(store_url: str) -> None:
    async with at_work(store_url) as (first, store):
        assert first.leads.is_set()
        async with at_work(store_url) as (second, _):
            await until(lambda: not first.is_alone)
            assert not second.is_alone
            assert not second.leads.is_set()
            assert await is_living(store, second.boot)
            assert not await is_living(store, "boot_of_before")
        assert not await is_living(store, second.boot)
        first.departed.clear()
        await until(lambda: first.departed.is_set() and first.is_alone)
        async with at_work(store_url) as (third, other):
            os.kill(await holder(other, 4_003), signal.SIGTERM)  # as that of one that died
            async with asyncio.timeout(30):
                await third.leads.wait()
                await third.departed.wait()


@ON_POSTGRESQL
async def test_a_notice_is_heard_once_it_holds_and_by_the_others_alone(store_url: str) -> None:
    own, heard = list[Notice](), list[Notice]()
    async with at_work(store_url, own) as (first, store), at_work(store_url, heard):
        async with store.write() as session:
            await tell(session, Topic.RULES)
            await session.rollback()
        async with store.write() as session:
            await tell(session, Topic.KEYS, "key_1")
        await until(lambda: not first.is_alone)
        for number in range(300):
            first.ring(Topic.EVENTS, "sales", f"ep_{number:030}")
        await until(lambda: sum(len(each.subject.split()) for each in heard[1:]) == 300)
    assert heard[0] == Notice(first.boot, "main", Topic.KEYS, "key_1")
    assert {(each.tenant, each.topic) for each in heard[1:]} == {("sales", Topic.EVENTS)}
    assert len(heard) < 10
    assert own == []


@ON_POSTGRESQL
async def test_what_was_told_while_one_started_is_heeded_when_it_is_open(store_url: str) -> None:
    heard = list[Notice]()
    async with at_work(store_url) as (_, store):
        replica, other = Replica(), Store(store_url)
        async with replica.joined(other, head()):
            async with store.write() as session:
                await tell(session, Topic.RULES)
            await asyncio.sleep(0)
            await replica.opened(heard.append)
            await until(lambda: len(heard) == 1)
        await other.close()


@ON_POSTGRESQL
async def test_who_brings_the_tables_forward_works_alone(store_url: str) -> None:
    async with at_work(store_url):
        store = Store(store_url)
        with pytest.raises(ConfigurationError, match="this release brings other tables"):
            async with Replica().joined(store, "r9999"):
                pass
        await store.close()
    newer, store = Replica(), Store(store_url)
    async with newer.joined(store, "r9999"):
        starting = asyncio.create_task(_start(store_url))  # waits for its turn, and then works beside it
        await asyncio.sleep(0.2)
        assert not starting.done()
        await newer.opened(lambda _: None)
        await asyncio.wait_for(starting, 60)
    await store.close()


async def _start(url: str) -> None:
    async with at_work(url):
        pass


@ON_POSTGRESQL
async def test_a_turn_is_one_whoever_takes_it(store: Store, store_url: str) -> None:
    other, order = Store(store_url), list[str]()

    async def take(of: Store, name: str) -> None:
        async with of.turn("exchange"):
            order.append(name)
            await asyncio.sleep(0.05)
            order.append(name)

    async def count(of: Store) -> None:
        async with of.write(in_turn=True) as session:
            await session.execute(text("CREATE TABLE IF NOT EXISTS counted (number int)"))
            await session.execute(text("INSERT INTO counted SELECT count(*) FROM counted"))

    await asyncio.gather(take(store, "a"), take(other, "b"), take(store, "c"))
    assert [order[0], order[2], order[4]] == [order[1], order[3], order[5]]
    await count(store)
    await asyncio.gather(*(count(each) for each in (store, other) for _ in range(10)))
    async with store.read() as session:
        assert list(await session.scalars(text("SELECT number FROM counted ORDER BY 1"))) == list(range(21))
    await other.close()


@ON_POSTGRESQL
async def test_who_loses_the_connection_knows_at_once(store: Store, store_url: str) -> None:
    async with at_work(store_url) as (first, cut_off), at_work(store_url) as (second, _):
        os.kill(await holder(store, 4_003), signal.SIGTERM)
        await asyncio.wait_for(first.lost.wait(), 30)
        assert not await is_living(store, first.boot)
        with pytest.raises(GatewayUnavailableError, match="nothing was written"):
            async with cut_off.write(in_turn=True):
                pass
        await asyncio.wait_for(second.leads.wait(), 30)
        assert not second.lost.is_set()


@ON_POSTGRESQL
async def test_who_is_not_answered_any_more_does_not_count_on_its_lock(store: Store, store_url: str) -> None:
    async with at_work(store_url) as (first, _):
        pid = await holder(store, 4_003)
        os.kill(pid, signal.SIGSTOP)
        try:
            await asyncio.wait_for(first.lost.wait(), 30)
        finally:
            os.kill(pid, signal.SIGCONT)
