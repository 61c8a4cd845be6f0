"""SQLite within the event loop: what takes microseconds is done at once, what waits for the disk in a thread.

SQLAlchemy's own way hands every statement to a thread and back, which costs many times what the statement does, most of
all when others are served meanwhile. Here a connection looks to SQLAlchemy like one of `aiosqlite`.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Self, TypeVar

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

_T = TypeVar("_T")

_AT_ONCE_SECONDS = 0.02
"""How long others may have to wait for a query; one that takes longer is begun anew in a thread."""
_OPERATIONS = 10_000
"""How many operations of SQLite's machine pass between two looks at the clock."""
_AT_ONCE = frozenset({"BEGIN", "INSERT", "PRAGMA", "RELEASE", "ROLLBACK", "SAVEPOINT", "UPDATE"})
"""Statements that touch few rows. COMMIT is not among them: it waits for the disk."""
_BUSY_SECONDS = 0.005
_CHECKPOINT_PAGES = 1000
"""How long the log grows before it is written back into the file."""


class EmbeddedConnection:
    """A connection to a SQLite file."""

    def __init__(self, path: str, threads: ThreadPoolExecutor, *, patience: float) -> None:
        """Open the file.

        Args:
            path: the file.
            threads: where the disk is waited for.
            patience: seconds to wait for another process that writes.
        """
        # No implicit BEGIN: the store says when a transaction begins. No waiting inside of SQLite: see `run`.
        self._sqlite = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        self._threads = threads
        self._patience = patience
        self._connection: sqlite3.Connection | None = self._sqlite  # None tells SQLAlchemy that it is closed
        self._full: bool | None = None

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open: SQLite ends one by itself when the disk fails."""
        return self._sqlite.in_transaction

    def cursor(self) -> "EmbeddedCursor":
        """A cursor."""
        return EmbeddedCursor(self, self._sqlite.cursor())

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Execute a statement that touches few rows, at once and to its end; gives the rows that it returns."""
        return self._sqlite.execute(statement, parameters).fetchall()

    def execute_many(self, statement: str, each: Iterable[Sequence[Any]]) -> None:
        """Execute a statement that returns nothing with each of some parameters, at once."""
        self._sqlite.executemany(statement, each)

    async def begin(self, *, full: bool) -> None:
        """Begin a transaction with the right to write in hand.

        Args:
            full: its commit waits for the disk, and outlasts a power cut; else only the end of this process, until the
                next full one. Writing the log back into the file, which waits for the disk too, is left to those.
        """
        if self._full is not full:
            self._sqlite.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._sqlite.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES if full else 0}")
            self._full = full
        await self.run(partial(self._sqlite.execute, "BEGIN IMMEDIATE"))

    def begin_part(self) -> None:
        """Begin a part of the transaction that can be undone alone."""
        self._sqlite.execute("SAVEPOINT part")

    def end_part(self, *, keep: bool) -> None:
        """End the part begun last.

        Args:
            keep: whether it stays; else it is undone, as far as SQLite has not done so by itself.
        """
        if self._sqlite.in_transaction:
            if not keep:
                self._sqlite.execute("ROLLBACK TO part")
            self._sqlite.execute("RELEASE part")

    async def commit(self) -> None:
        """Commit; an error where there is no transaction left to commit."""
        await self.run(partial(self._sqlite.execute, "COMMIT"), at_once=self._full is False)

    async def rollback(self) -> None:
        """Roll back, if there is anything to roll back."""
        self._sqlite.rollback()

    async def create_function(self, *arguments: Any, **named: Any) -> None:
        """Make a Python function known to SQL."""
        self._sqlite.create_function(*arguments, **named)

    async def close(self) -> None:
        """Close; the last to close a file writes its log back."""
        self._connection = None
        await self.run(self._sqlite.close, at_once=False)

    def stop(self) -> None:
        """Close without waiting."""
        self._connection = None
        self._sqlite.close()

    async def query(self, ask: Callable[[], _T]) -> _T:
        """The result of a query, which is begun anew in a thread if it takes long."""
        until = time.monotonic() + _AT_ONCE_SECONDS
        self._sqlite.set_progress_handler(lambda: time.monotonic() > until, _OPERATIONS)
        try:
            return await self.run(ask)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
        finally:
            self._sqlite.set_progress_handler(None, 0)
        return await self.run(ask, at_once=False)

    async def run(self, do: Callable[[], _T], *, at_once: bool = True) -> _T:
        """Do something, again and again while another process holds the file.

        Raises:
            sqlite3.OperationalError: it was held for too long, among others.
        """
        given_up = time.monotonic() + self._patience
        while True:
            try:
                if at_once:
                    return do()
                return await self._in_thread(do)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > given_up:
                    raise
            await asyncio.sleep(_BUSY_SECONDS)

    async def _in_thread(self, do: Callable[[], _T]) -> _T:
        """Do something in a thread, to its end.

        Whoever is cancelled meanwhile hears of it at the next wait: here SQLAlchemy would drop the connection, and with
        it the transaction of those who share it, while the thread still works on both.
        """
        work = asyncio.get_running_loop().run_in_executor(self._threads, do)
        cancelled = False
        while not work.done():
            try:
                await asyncio.wait({work})
            except asyncio.CancelledError:
                cancelled = True
        task = asyncio.current_task()
        if cancelled and task is not None:
            task.uncancel()  # so that it counts once, which time limits go by
            task.cancel()
        return work.result()


class EmbeddedCursor:
    """A cursor; its rows are there once a statement was executed."""

    def __init__(self, connection: EmbeddedConnection, cursor: sqlite3.Cursor) -> None:
        """Wrap a cursor of a connection."""
        self._connection = connection
        self._cursor = cursor
        self._rows: Sequence[Any] = ()
        self.arraysize = 1

    @property
    def description(self) -> Any:
        """The columns of the rows, None where there are none."""
        return self._cursor.description

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""
        return self._cursor.rowcount

    @property
    def lastrowid(self) -> int | None:
        """The number of the row inserted last."""
        return self._cursor.lastrowid

    async def execute(self, statement: str, parameters: Sequence[Any] = ()) -> Self:
        """Execute a statement."""

        def do() -> Sequence[Any]:
            self._cursor.execute(statement, parameters)
            return self._cursor.fetchall() if self._cursor.description else ()

        word = statement.lstrip()[:9].partition(" ")[0].upper()
        if word == "SELECT":
            self._rows = await self._connection.query(do)
        elif word != "ROLLBACK" or self._connection.in_transaction:  # else there is nothing left to roll back
            self._rows = await self._connection.run(do, at_once=word in _AT_ONCE)
        return self

    async def executemany(self, statement: str, parameters: Sequence[Sequence[Any]]) -> Self:
        """Execute a statement for each of some rows."""
        await self._connection.run(partial(self._cursor.executemany, statement, parameters))
        return self

    async def fetchall(self) -> Sequence[Any]:
        """The rows, once."""
        rows, self._rows = self._rows, ()
        return rows

    async def close(self) -> None:
        """Let go of the statement."""
        self._cursor.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def as_sqlalchemy(error: sqlite3.Error, statement: str) -> DBAPIError:
    """An error of the driver as those above expect it, without what was being written."""
    kind = IntegrityError if isinstance(error, sqlite3.IntegrityError) else OperationalError
    return kind(statement, None, error, hide_parameters=True)
