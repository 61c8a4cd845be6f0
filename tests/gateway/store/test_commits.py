"""Writers of a SQLite file: each for itself, committed together, and nobody waits for them but who writes."""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, event, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from practicum.contracts.base import utc_now
from practicum_gateway.store.access_tables import KeyRow
from practicum_gateway.store.engine import Store
from tests.gateway.store.test_engine import key_row

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


def counted(store: Store) -> Callable[[], int]:
    """How many transactions are committed over connections that are made from now on."""
    seen: list[str] = []

    def trace(connection: Any, _record: Any) -> None:
        connection.driver_connection._sqlite.set_trace_callback(seen.append)

    event.listen(store.engine.sync_engine, "connect", trace)
    return lambda: seen.count("COMMIT")


async def count(store: Store) -> int:
    async with store.read() as session:
        return await session.scalar(select(func.count()).select_from(KeyRow)) or 0


async def add(store: Store, number: int, *, lasting: bool = True) -> None:
    async with store.write(lasting=lasting) as session:
        session.add(key_row(number, utc_now()))


async def test_those_who_came_while_others_wrote_are_committed_together(store: Store) -> None:
    again = Store(str(store.engine.url))
    commits = counted(again)
    await asyncio.gather(*(add(again, number) for number in range(40)))
    assert await count(again) == 40
    assert 0 < commits() < 10
    await again.close()


async def test_nobody_goes_on_before_the_commit(store: Store, store_url: str) -> None:
    other = Store(store_url)

    async def written_and_seen(number: int) -> bool:
        await add(store, number)
        async with other.read() as session:
            return await session.get(KeyRow, f"key_{number}") is not None

    assert all(await asyncio.gather(*(written_and_seen(number) for number in range(20))))
    await other.close()


async def test_one_that_fails_takes_no_other_along(store: Store) -> None:
    await add(store, 0)
    outcomes = await asyncio.gather(*(add(store, number % 10) for number in range(20)), return_exceptions=True)
    assert [outcome for outcome in outcomes if outcome is None] == [None] * 9
    assert sum(isinstance(outcome, IntegrityError) for outcome in outcomes) == 11
    assert await count(store) == 10


async def test_one_that_is_cancelled_takes_no_other_along(store: Store) -> None:
    tasks = [asyncio.create_task(add(store, number)) for number in range(30)]
    await asyncio.sleep(0)
    for task in tasks[::3]:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [outcome for outcome in outcomes if outcome is None] == [None] * 20
    async with store.read() as session:
        kept = set(await session.scalars(select(KeyRow.id)))
    assert {f"key_{number}" for number in range(30) if number % 3} <= kept
    await add(store, 100)


async def test_one_that_is_cancelled_while_a_thread_works_for_it_takes_no_other_along(store: Store) -> None:
    def slowly(_row: str) -> int:
        time.sleep(0.2)
        return 1

    async def delete(begun: asyncio.Event) -> None:
        async with store.write() as session:
            raw: Any = await (await session.connection()).get_raw_connection()
            await raw.driver_connection.create_function("slowly", 1, slowly)
            begun.set()
            await session.execute(text("DELETE FROM keys WHERE id = 'key_0' AND slowly(id) = 1"))
            raise ValueError("undone in any case")

    await add(store, 0)
    begun = asyncio.Event()
    sharing = asyncio.create_task(add(store, 1))
    deleting = asyncio.create_task(delete(begun))
    await begun.wait()
    await asyncio.sleep(0.05)
    deleting.cancel()
    longest, before = 0.0, time.monotonic()
    while not deleting.done():
        await asyncio.sleep(0.005)
        longest, before = max(longest, time.monotonic() - before), time.monotonic()
    assert longest < 0.15, "others are served while the thread works"
    await sharing
    await add(store, 2)
    assert await count(store) == 3


async def test_a_time_limit_around_what_a_thread_does_is_still_one(store: Store) -> None:
    async with store.read() as session:
        raw: Any = await (await session.connection()).get_raw_connection()
        await raw.driver_connection.create_function("pause", 0, lambda: time.sleep(0.2) or 1)

        async def limited() -> None:
            async with asyncio.timeout(0.05):
                await session.execute(text("WITH one AS (SELECT pause()) SELECT * FROM one"))
                await asyncio.sleep(1)

        with pytest.raises(TimeoutError):
            await limited()


async def test_what_need_not_last_waits_for_no_disk_but_what_follows_does(store: Store) -> None:
    async def level(*, lasting: bool) -> int:
        async with store.write(lasting=lasting) as session:
            return (await session.execute(text("PRAGMA synchronous"))).scalar_one()

    assert await level(lasting=False) == 1
    assert await level(lasting=True) == 2
    mixed = await asyncio.gather(*(level(lasting=bool(number % 2)) for number in range(10)))
    assert all(mixed[number] == 2 for number in range(1, 10, 2))


async def test_a_change_that_need_not_last_is_there_for_everybody_at_once_or_not_at_all(
    store: Store, store_url: str
) -> None:
    def added(connection: Connection, number: int, *, fails: bool = False) -> int:
        values = {"id": f"key_{number}", "prefix": "p", "hash": "0", "principal": "ann", "role": "agent"}
        connection.execute(insert(KeyRow).values(**values, created=utc_now()))
        return 1 // (not fails)

    assert await store.change(partial(added, number=1), lasting=False) == 1
    other = Store(store_url)
    assert await count(other) == 1
    with pytest.raises(ZeroDivisionError):
        await store.change(partial(added, number=2, fails=True), lasting=False)
    assert await store.change(partial(added, number=2)) == 1
    assert await count(other) == 2
    await other.close()


async def test_another_process_that_writes_is_waited_for_and_meanwhile_all_goes_on(
    store: Store, store_url: str
) -> None:
    other = sqlite3.connect(store_url.partition("///")[2], isolation_level=None)
    with contextlib.closing(other):
        other.execute("BEGIN IMMEDIATE")
        writing = asyncio.create_task(add(store, 1))
        await asyncio.sleep(0.1)
        assert await count(store) == 0
        assert not writing.done()
        other.execute("COMMIT")
    await writing
    assert await count(store) == 1


async def test_a_query_that_takes_long_holds_nobody_up(store: Store) -> None:
    slow = text(
        "SELECT (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1500000) SELECT sum(i) FROM n)"
    )
    waits: list[float] = []

    async def ask() -> int:
        async with store.read() as session:
            return (await session.execute(slow)).scalar_one()

    asking = asyncio.create_task(ask())
    while not asking.done():
        began = time.monotonic()
        await asyncio.sleep(0.001)
        waits.append(time.monotonic() - began)
    assert await asking == 1_500_000 * 1_500_001 // 2
    assert len(waits) > 5
