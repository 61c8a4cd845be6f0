"""One gateway at a time on a store: what holds it, and how a gateway learns that it holds it no longer.

The ledger's promise, and everything that is kept in memory, counts on it.
"""

import asyncio
import contextlib
import fcntl
from collections.abc import AsyncGenerator
from typing import Any

from sqlalchemy import URL, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from practicum.errors import ConfigurationError

_LOCK = {"room": 730_512, "number": 4_002}
"""Two numbers that nothing else in the database uses as an advisory lock."""
_BEAT_SECONDS = 2.0
_ANSWER_SECONDS = 5.0
_DEAD_PEER = {"tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"}
"""The server lets go within half a minute of a gateway whose machine fell silent."""
_MEND = "Stop it, or give this one another store with PRACTICUM_DATABASE_URL."

_PATIENCE = text("SET lock_timeout = '3s'")
"""A server may need a moment to notice that the one before is gone."""
_TAKE = text("SELECT pg_advisory_lock(:room, :number)").bindparams(**_LOCK)
_NOT_GRANTED = "55P03"
_HELD = text(
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid() "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND classid = :room AND objid = :number AND objsubid = 2"
).bindparams(**_LOCK)


@contextlib.asynccontextmanager
async def held_file(path: str) -> AsyncGenerator[None]:
    """Hold a SQLite file by a lock on a file beside it, which the system lets go of with the process.

    Raises:
        ConfigurationError: another gateway holds it.
    """
    with open(f"{path}.lock", "w") as lock:  # noqa: ASYNC230, PTH123  # at once, as is everything about it
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigurationError(f"Another gateway works on {path}.", mend=_MEND) from None
        yield


@contextlib.asynccontextmanager
async def held_database(url: URL, lost: asyncio.Event) -> AsyncGenerator[None]:
    """Hold a PostgreSQL database by an advisory lock on a connection of its own.

    Args:
        url: the database.
        lost: set when the connection ends, falls silent or holds the lock no longer.

    Raises:
        ConfigurationError: another gateway holds it.
    """
    engine = create_async_engine(
        url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args={"server_settings": _DEAD_PEER}
    )
    async with engine.connect() as connection:
        await _take(connection, url)
        driver: Any = (await connection.get_raw_connection()).driver_connection

        def gone(_: object) -> None:
            lost.set()

        driver.add_termination_listener(gone)
        beating = asyncio.create_task(_beat(connection, lost))
        try:
            yield
        finally:
            driver.remove_termination_listener(gone)
            beating.cancel()
            await asyncio.wait([beating])
            if lost.is_set():
                driver.terminate()  # nobody answers a farewell


async def _take(connection: AsyncConnection, url: URL) -> None:
    try:
        await connection.execute(_PATIENCE)
        await connection.execute(_TAKE)
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _NOT_GRANTED:
            raise
        name = url.render_as_string(hide_password=True)
        raise ConfigurationError(f"Another gateway works on {name}.", mend=_MEND) from None


async def _beat(connection: AsyncConnection, lost: asyncio.Event) -> None:
    """Ask again and again whether the lock is still held."""
    while not lost.is_set():
        await asyncio.sleep(_BEAT_SECONDS)
        asking = asyncio.create_task(_holds(connection))
        await asyncio.wait([asking], timeout=_ANSWER_SECONDS)
        if not asking.done() or not asking.result():
            asking.cancel()
            lost.set()


async def _holds(connection: AsyncConnection) -> bool:
    try:
        return bool(await connection.scalar(_HELD))
    except (SQLAlchemyError, OSError):
        return False
