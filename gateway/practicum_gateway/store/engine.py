"""The async engine, its sessions and the two column types that every table shares."""

import asyncio
import contextlib
import secrets
import sqlite3
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any, ClassVar, TypeVar

from pydantic import JsonValue
from sqlalchemy import JSON, URL, Connection, DateTime, Dialect, MetaData, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

from practicum.errors import ConfigurationError
from practicum_gateway.metrics.instruments import SHORT_SECONDS, Histogram
from practicum_gateway.store.commits import Commits
from practicum_gateway.store.embedded import EmbeddedConnection, as_sqlalchemy
from practicum_gateway.store.prepared import Ask, Prepared, answers, visible
from practicum_gateway.store.room import room_in_words
from practicum_gateway.store.server import check_connections, transaction
from practicum_gateway.store.sharing import settings_of, take_turn, turn
from practicum_gateway.store.together import Together

_T = TypeVar("_T")
_A = TypeVar("_A")
_BEGIN = "practicum_begin"
"""Whether a transaction on SQLite begins with a word; not where a single statement needs none, or `Commits` says it."""
_BUSY_TIMEOUT_MS = 15_000
_THREADS = 4
"""How many connections to one SQLite file may wait for the disk at a time."""
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_IN_TURN = "in turn"


class UtcDateTime(TypeDecorator[datetime]):
    """A moment, kept in UTC and always read back with its time zone, also from SQLite."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Any:
        """What turns a moment into UTC before it is written."""
        return _as_text if dialect.name == "sqlite" else _in_utc

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        """What gives a moment read from the store its time zone."""
        _ = coltype
        return _from_text if dialect.name == "sqlite" else _in_utc


def _in_utc(value: datetime | None) -> datetime | None:
    if value is None:
        return None
    if value.tzinfo is None:
        raise ValueError("A moment without a time zone does not go into the store.")
    return value.astimezone(UTC)


def _as_text(value: datetime | None) -> str | None:
    """A moment as SQLite keeps it, without a time zone, in the form that SQLAlchemy gives it."""
    moment = _in_utc(value)
    return None if moment is None else moment.replace(tzinfo=None).isoformat(" ", "microseconds")


def _from_text(value: str | None) -> datetime | None:
    return None if value is None else datetime.fromisoformat(value).replace(tzinfo=UTC)


class Base(DeclarativeBase):
    """The root of every table; constraints have predictable names so that migrations can speak of them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        },
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: UtcDateTime,
        dict[str, JsonValue]: JSON(none_as_null=True),
        list[JsonValue]: JSON(none_as_null=True),
    }


def new_id(prefix: str) -> str:
    """A new identifier such as `apr_01k5...`: sorts by the time it was made, cannot be guessed.

    Args:
        prefix: says what it identifies.
    """
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    digits: list[str] = []
    for _ in range(26):
        number, digit = divmod(number, 32)
        digits.append(_ALPHABET[digit])
    return f"{prefix}_{''.join(reversed(digits))}"


class Store:
    """Sessions over one database.

    Transactions are short: nothing is awaited inside them but the database. On SQLite the writers of this process
    take turns and begin with the write lock in hand, so that no transaction can fail half-way for want of it, and those
    who come while the disk is waited for are committed together. On PostgreSQL they work side by side: what one reads
    before it writes, it locks (`with_for_update`) or takes turns for.

    Attributes:
        name: who works on it.
        lost: whether that one is cut off.
        writes: how long writers waited until what they wrote was committed.
    """

    def __init__(
        self, url: str, *, schema: str | None = None, name: str = "", lost: asyncio.Event | None = None
    ) -> None:
        """Prepare the engine; nothing is opened before the first session.

        Args:
            url: SQLAlchemy URL, `sqlite+aiosqlite:///...` or `postgresql+asyncpg://...`.
            schema: the schema of a PostgreSQL database in which the tables are; its default one when absent.
            name: by which a PostgreSQL server, and who hears a notice, knows who works on it.
            lost: set when that one is cut off from others; what is written in turn is refused from then on.

        Raises:
            ConfigurationError: the URL names another kind of database, or a SQLite database in memory.
        """
        parsed = _parse(url)
        backend = parsed.get_backend_name()
        if backend not in {"sqlite", "postgresql"}:
            raise ConfigurationError(
                f"The store cannot be kept in '{backend}'.",
                mend="Set PRACTICUM_DATABASE_URL to sqlite+aiosqlite:///FILE or postgresql+asyncpg://...",
            )
        if backend == "sqlite" and parsed.database in {None, "", ":memory:"}:
            raise ConfigurationError(
                "A store in memory forgets its ledger.", mend="Give PRACTICUM_DATABASE_URL a file name."
            )
        self.name, self.lost = name, lost
        driver = "sqlite+aiosqlite" if backend == "sqlite" else "postgresql+asyncpg"
        self._sqlite = backend == "sqlite"
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="sqlite")  # begun when first needed
        self.engine: AsyncEngine = create_async_engine(
            parsed.set(drivername=driver),
            pool_size=8 if schema is None else 1,  # many schemas share the connections of one server
            max_overflow=8,
            # Sessions end their transactions themselves; on SQLite one more rollback costs more than a read.
            pool_reset_on_return=None if self._sqlite else "rollback",
            hide_parameters=True,  # an error's text must not quote what was being written
            connect_args={} if self._sqlite else {"server_settings": settings_of(name, schema)},
            **({"async_creator": self._connect} if self._sqlite else {}),
        )
        self._commits: Commits | None = None
        self._reader: EmbeddedConnection | None = None
        if self._sqlite:
            event.listen(self.engine.sync_engine, "connect", _configure_sqlite)
            event.listen(self.engine.sync_engine, "begin", _begin_sqlite)
            reading, writing = self.engine, self.engine.execution_options(**{_BEGIN: False})
            self._looking = writing
            self._commits = Commits(writing)
        else:
            check_connections(self.engine.sync_engine)
            event.listen(self.engine.sync_engine, "before_cursor_execute", _without_nul, retval=True)
            reading = self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            writing = self.engine.execution_options(isolation_level="READ COMMITTED")
            self._looking = reading
            self._plain = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self._writing = writing
        self._read = async_sessionmaker(reading, expire_on_commit=False, autoflush=False)
        self._write = async_sessionmaker(writing, expire_on_commit=False)
        self._turns: dict[str, asyncio.Lock] = {}
        self._batches: list[Together[Any, Any]] = []
        self._asking = self.together(self._asked)
        self.writes = Histogram(
            "practicum.store.write.duration", "s", "From a wish to write until it is committed.", bounds=SHORT_SECONDS
        )

    @property
    def is_embedded(self) -> bool:
        """Whether it is a SQLite file."""
        return self._sqlite

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncGenerator[AsyncSession]:
        """A session that reads one consistent state of the store."""
        async with self._read() as session:
            yield session

    @contextlib.asynccontextmanager
    async def write(self, *, in_turn: bool = False, lasting: bool = True) -> AsyncGenerator[AsyncSession]:
        """A session whose transaction is committed at the end, or rolled back when an error leaves the block.

        Args:
            in_turn: no other transaction that asks for its turn runs meanwhile, of whatever gateway: for what depends
                on rows that are not there yet and so cannot be locked, such as the next number of a sequence.
            lasting: it outlasts a power cut. On SQLite what need not outlasts the end of this process alone until
                something else is written that does: nothing is lost from between.

        Raises:
            ConfigurationError: there is no room left; nothing of the transaction is kept.
            GatewayUnavailableError: in turn, where this gateway is cut off from others.
        """
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(room_in_words())
            stack.enter_context(self._timed())
            if self._commits is not None:
                yield await stack.enter_async_context(self._commits.write(lasting=lasting))
                return
            if in_turn:  # within this process first, so that those who wait take up no connection
                await stack.enter_async_context(self._turn_here(_IN_TURN))
            session = await stack.enter_async_context(self._write())
            await stack.enter_async_context(session.begin())
            if in_turn:
                await take_turn(session, _IN_TURN, self.lost)
            yield session

    @contextlib.asynccontextmanager
    async def turn(self, of: str) -> AsyncGenerator[None]:
        """Nobody else who works on this store has the turn while the block lasts: for what outlasts a transaction.

        Args:
            of: what it is the turn of.
        """
        async with self._turn_here(of):
            if self._sqlite:
                yield
            else:
                async with turn(self.engine, of):
                    yield

    async def look(self, work: Callable[[Connection], _T]) -> _T:
        """What a single statement finds: `read` without its cost.

        Args:
            work: asks for it, and waits for nothing.
        """
        async with self._looking.connect() as connection:
            return await connection.run_sync(work)

    async def ask(self, prepared: Prepared, values: Mapping[str, Any]) -> list[Any]:
        """The rows that a prepared query finds, by a key: nothing that takes longer than a moment.

        Args:
            prepared: the query.
            values: of its parameters, by their names.
        """
        if not self._sqlite:
            return await self._asking((prepared, values))
        reader = self._reader
        if reader is None:
            reader = self._reader = self._connection()
        try:
            return await reader.run(partial(prepared.on, reader, values))
        except sqlite3.Error as error:
            raise as_sqlalchemy(error, "a query") from None

    async def change(self, work: Callable[[Connection], _T], *, lasting: bool = True) -> _T:
        """What some work in a transaction comes to: `write` without its cost, for what is done at every call.

        Args:
            work: changes the store and waits for nothing; what it raises undoes its changes.
            lasting: as for `write`.

        Raises:
            ConfigurationError: there is no room left; nothing of the transaction is kept.
        """
        with room_in_words(), self._timed():
            if self._commits is not None:
                return await self._commits.change(work, lasting=lasting)
            async with self._plain.connect() as connection, transaction(connection):
                return await connection.run_sync(work)

    def together(
        self,
        do: Callable[[Sequence[_A]], Awaitable[Sequence[_T | Exception]]],
        *,
        apart: Callable[[_A], Hashable] | None = None,
    ) -> Together[_A, _T]:
        """What is done in batches with this store, which are waited for before it is closed; else as `Together`."""
        batches = Together(do, apart=apart)
        self._batches.append(batches)
        return batches

    async def check(self) -> None:
        """Make sure that the store can be reached.

        Raises:
            ConfigurationError: it cannot; the message does not repeat a password of the URL.
        """
        try:
            if self._sqlite:
                # Through the plain driver: the async one leaves a thread behind when it cannot open a file.
                await asyncio.to_thread(_probe_sqlite, str(self.engine.url.database))
            else:
                async with self._read() as session:
                    await session.execute(text("SELECT 1"))
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            reason = str(error.orig) if isinstance(error, DBAPIError) else str(error)
            raise ConfigurationError(
                f"The store {self.engine.url.render_as_string(hide_password=True)} cannot be opened: {reason}",
                mend="Check PRACTICUM_DATABASE_URL, that its folder exists, and that it may be written to.",
            ) from None

    async def close(self) -> None:
        """Close every connection, once what is done in batches is done."""
        for batches in self._batches:
            await batches.close()
        if self._commits is not None:
            await self._commits.close()
        if self._reader is not None:
            self._reader.stop()
            self._reader = None
        await self.engine.dispose()
        self._threads.shutdown(wait=False)

    @contextlib.contextmanager
    def _timed(self) -> Generator[None]:
        began = time.perf_counter()
        yield
        self.writes.observe(time.perf_counter() - began)

    def _turn_here(self, of: str) -> asyncio.Lock:
        """The turn as far as this process goes."""
        return self._turns.setdefault(of, asyncio.Lock())

    async def _asked(self, asks: Sequence[Ask]) -> Sequence[list[Any] | Exception]:
        return await answers(self._plain, asks)

    def _connection(self) -> EmbeddedConnection:
        return EmbeddedConnection(str(self.engine.url.database), self._threads, patience=_BUSY_TIMEOUT_MS / 1000)

    async def _connect(self, *_: Any, **__: Any) -> EmbeddedConnection:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._connection)


def _parse(url: str) -> URL:
    try:
        return make_url(url)
    except ArgumentError:
        raise ConfigurationError(
            "The store's URL is no SQLAlchemy URL.",
            mend="Set PRACTICUM_DATABASE_URL to sqlite+aiosqlite:///FILE or postgresql+asyncpg://...",
        ) from None


def _probe_sqlite(path: str) -> None:
    with contextlib.closing(sqlite3.connect(path, timeout=_BUSY_TIMEOUT_MS / 1000)) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchone()


def _configure_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in (
        "journal_mode = WAL",
        # FULL, not NORMAL: a ledger row must survive a power cut before its call is sent.
        "synchronous = FULL",
        "foreign_keys = ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _without_nul(*call: Any) -> tuple[str, Any]:
    """A statement and its parameters as PostgreSQL takes them: its text holds no NUL, which a system's may.

    What is kept as JSON is written with an escape, and is not touched.
    """
    _connection, _cursor, statement, parameters, _context, executemany = call
    if executemany:
        return statement, [tuple(map(visible, row)) for row in parameters]
    return statement, tuple(map(visible, parameters))


def _begin_sqlite(connection: Connection) -> None:
    if connection.get_execution_options().get(_BEGIN, True):
        connection.exec_driver_sql("BEGIN")
