"""PostgreSQL through its driver, beside SQLAlchemy: each way there and back costs more than most statements do."""

import contextlib
import time
from collections.abc import AsyncGenerator, Generator
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError, DisconnectionError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

_IDLE_SECONDS = 1.0
"""A connection that was used less long ago is not asked first whether it still works."""
_USED = "practicum_used"


@contextlib.asynccontextmanager
async def transaction(connection: AsyncConnection) -> AsyncGenerator[None]:
    """A transaction on a connection that SQLAlchemy lets commit by itself, undone when an error leaves the block.

    Raises:
        DBAPIError: it cannot be committed.
    """
    raw: Any = await connection.get_raw_connection()
    with as_sqlalchemy(connection.dialect, "COMMIT"):
        async with raw.driver_connection.transaction(isolation="read_committed"):
            yield


@contextlib.contextmanager
def as_sqlalchemy(dialect: Dialect, statement: str) -> Generator[None]:
    """An error of the driver as those above expect it, without what was being written."""
    module: Any = dialect.dbapi
    driver = module.asyncpg
    try:
        yield
    except (driver.PostgresError, driver.InterfaceError, driver.InternalClientError) as error:
        clash = isinstance(error, driver.IntegrityConstraintViolationError)
        raise (IntegrityError if clash else DBAPIError)(statement, None, error, hide_parameters=True) from None


def check_connections(engine: Engine) -> None:
    """Have connections that lay idle asked whether they still work, before they are used again."""

    def checked(adapted: Any, record: Any, _: Any) -> None:
        driver = adapted.driver_connection
        if driver.is_closed() or driver.is_in_transaction():  # a transaction that could not be undone
            raise DisconnectionError
        if time.monotonic() - record.info.get(_USED, 0.0) > _IDLE_SECONDS:
            try:
                engine.dialect.do_ping(adapted)
            except (engine.dialect.loaded_dbapi.Error, OSError) as error:
                raise DisconnectionError from error

    def used(_: Any, record: Any) -> None:
        record.info[_USED] = time.monotonic()

    event.listen(engine, "checkout", checked)
    event.listen(engine, "checkin", used)
