"""Writers of a SQLite file take turns, and those who came meanwhile are committed together.

What takes long about a write is waiting for the disk. So who writes does not commit: a task of its own does, which
takes its turn behind those who were waiting already. Each has its part of the transaction (a savepoint), which is
undone alone when it fails; none goes on before all of it is on the disk.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, async_sessionmaker

from practicum.errors import GatewayUnavailableError
from practicum_gateway.store.embedded import EmbeddedConnection, as_sqlalchemy

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Writer:
    """The one connection that writes.

    Attributes:
        connection: as SQLAlchemy has it; for it, it is always within one and the same transaction.
        driver: the same as SQLite has it.
    """

    connection: AsyncConnection
    driver: EmbeddedConnection


@dataclass(slots=True)
class _Shared:
    """A transaction that several share.

    Attributes:
        writer: what it runs on.
        lasting: whether it is on the disk once it is committed.
        done: how it ended.
    """

    writer: _Writer
    lasting: bool
    done: asyncio.Future[None]


class Commits:
    """The writers of one file."""

    def __init__(self, engine: AsyncEngine) -> None:
        """Write through an engine that leaves it to this to begin and to commit."""
        self._engine = engine
        self._session = async_sessionmaker(expire_on_commit=False, join_transaction_mode="create_savepoint")
        self._turn = asyncio.Lock()
        self._coming = 0
        self._writer: _Writer | None = None
        self._open: _Shared | None = None
        self._ending: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def write(self, *, lasting: bool = True) -> AsyncGenerator[AsyncSession]:
        """A session whose part of a transaction is committed once the block is left, or undone when it fails.

        Args:
            lasting: whether it has to outlast a power cut, and not only the end of this process. A later lasting one
                makes it last too.
        """
        async with self._in_turn():
            shared = await self._joined(lasting=lasting)
            async with self._session(bind=shared.writer.connection) as session, session.begin():
                yield session
        # Nobody takes a shared transaction along who is cancelled.
        await asyncio.shield(shared.done)

    async def change(self, work: Callable[[Connection], _T], *, lasting: bool = True) -> _T:
        """What some work comes to, its part of a transaction committed, or undone when it fails; else as `write`."""
        async with self._in_turn():
            if not (lasting or self._open or self._coming):
                return await self._alone(work)
            shared = await self._joined(lasting=lasting)
            writer = shared.writer
            writer.driver.begin_part()
            try:
                result = await writer.connection.run_sync(work)
            except BaseException:
                writer.driver.end_part(keep=False)
                raise
            writer.driver.end_part(keep=True)
        await asyncio.shield(shared.done)
        return result

    async def close(self) -> None:
        """Let what was written be committed."""
        if self._ending:
            await asyncio.wait(self._ending)
        async with self._turn:
            writer, self._writer = self._writer, None
            if writer is not None:
                await writer.connection.close()

    @contextlib.asynccontextmanager
    async def _in_turn(self) -> AsyncGenerator[None]:
        """The turn, once those who were waiting already had theirs; meanwhile it is known that somebody comes."""
        self._coming += 1
        try:
            await self._turn.acquire()
        finally:
            self._coming -= 1
        try:
            yield
        finally:
            self._turn.release()

    async def _alone(self, work: Callable[[Connection], _T]) -> _T:
        """What some work comes to that nobody shares a transaction with: it waits for no disk, and so for nobody."""
        writer = await self._begun(lasting=False)
        try:
            result = await writer.connection.run_sync(work)
            await _committed(writer.driver)
        except BaseException:
            await writer.driver.rollback()
            raise
        return result

    async def _joined(self, *, lasting: bool) -> _Shared:
        """The open transaction where it does, else a new one; whoever asks has the turn."""
        shared = self._open
        if shared is not None and lasting and not shared.lasting:
            await self._end(shared)
        shared = self._open
        if shared is None:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            shared = self._open = _Shared(await self._begun(lasting=lasting), lasting, done)
            self._task(self._end_in_turn(shared))
        if not shared.writer.driver.in_transaction:  # SQLite ends one by itself when the disk fails
            raise GatewayUnavailableError("Nothing can be written: the disk failed.", mend="Look at the disk.")
        return shared

    async def _begun(self, *, lasting: bool) -> _Writer:
        writer = self._writer
        if writer is None or writer.connection.invalidated:
            writer = self._writer = await self._connected()
        await writer.driver.begin(full=lasting)
        return writer

    async def _connected(self) -> _Writer:
        connection = await self._engine.connect()
        await connection.begin()
        driver: Any = connection.sync_connection and connection.sync_connection.connection.driver_connection
        return _Writer(connection, driver)

    async def _end_in_turn(self, shared: _Shared) -> None:
        async with self._turn:
            await self._end(shared)

    async def _end(self, shared: _Shared) -> None:
        """Commit, unless that was done; whoever asks has the turn, and may be cancelled meanwhile."""
        if self._open is shared:
            self._open = None
            await asyncio.shield(self._task(_commit(shared)))

    def _task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task


async def _commit(shared: _Shared) -> None:
    try:
        await _committed(shared.writer.driver)
    except (DBAPIError, OSError) as error:
        shared.done.set_exception(error)
        shared.done.exception()  # that nobody is left to hear it is no reason to complain
    else:
        shared.done.set_result(None)
    finally:
        shared.done.cancel()  # unless it is done
        await shared.writer.driver.rollback()  # what could not be committed


async def _committed(driver: EmbeddedConnection) -> None:
    try:
        await driver.commit()
    except sqlite3.Error as error:
        raise as_sqlalchemy(error, "COMMIT") from None
