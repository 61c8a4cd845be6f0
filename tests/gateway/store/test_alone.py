"""One gateway at a time on a store, and what happens when its hold is lost."""

import asyncio
import os
import signal

import pytest
from sqlalchemy import text

from practicum.errors import ConfigurationError
from practicum_gateway.store.engine import Store


async def test_a_second_one_is_refused_and_may_have_it_afterwards(store: Store, store_url: str) -> None:
    other = Store(store_url)
    async with store.alone():
        with pytest.raises(ConfigurationError, match="Another gateway works on") as caught:
            async with other.alone():
                pass
        assert caught.value.mend is not None
    async with other.alone():
        assert not other.lost.is_set()
    assert not store.lost.is_set()
    await other.close()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_who_loses_the_connection_knows_at_once(store: Store, store_url: str) -> None:
    other = Store(store_url)
    async with store.alone():
        async with other.write() as session:
            holder = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            await session.execute(text(holder))
        await asyncio.wait_for(store.lost.wait(), 1)
        async with other.alone():
            assert not other.lost.is_set()
    await other.close()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_who_is_not_answered_any_more_does_not_count_on_its_lock(store: Store) -> None:
    async with store.alone():
        async with store.read() as session:
            holder = await session.scalar(text("SELECT pid FROM pg_locks WHERE locktype = 'advisory'"))
        assert holder is not None
        os.kill(holder, signal.SIGSTOP)
        try:
            await asyncio.wait_for(store.lost.wait(), 20)
        finally:
            os.kill(holder, signal.SIGCONT)
