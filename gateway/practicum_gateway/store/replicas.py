"""The gateways that work on one store: any number on a PostgreSQL database, one at a time on a SQLite file.

Each holds advisory locks on a connection that it keeps for this. One of them is its own: as long as it is held, its
owner lives, and what it works on is nobody else's. The connection also hears what others tell (`notices`). Who cannot
be sure of it any more serves no more: what it kept in memory may no longer be so, and others take up what it leaves.
"""

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from sqlalchemy import Connection, TextClause, text
from sqlalchemy.engine import Row
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from practicum.errors import ConfigurationError
from practicum_gateway.store.alone import held_file
from practicum_gateway.store.engine import Store, new_id
from practicum_gateway.store.notices import CHANNEL, Notice, Topic, notice_of, payloads
from practicum_gateway.store.sharing import settings_of

logger = logging.getLogger("practicum_gateway")

_ROOM, _OWN = 730_512, 730_513
"""Two numbers that nothing else in the database uses for advisory locks; the second is for each gateway's own."""
_STARTING, _WORKING, _LEADING = 4_001, 4_002, 4_003
"""Whose turn it is to start; who works on the store, shared but for one that brings it forward; who tidies up."""
BEAT_SECONDS = 1.0
"""How often the connection is asked whether all is held."""
ANSWER_SECONDS = 5.0
"""How long it may take to answer. With the beat that is how long a gateway may not know that it is cut off."""
HEARD_SECONDS = BEAT_SECONDS + ANSWER_SECONDS + 2.0
"""After that what was told has been heard by all who still serve."""
_GATHER_SECONDS = 0.01
"""How long is waited for more of what is told behind transactions: one notice holds it all."""

_PATIENCE = "SET lock_timeout = '{}s'"
_START_SECONDS, _WORK_SECONDS = 120, 3
_TAKE, _SHARE = text("SELECT pg_advisory_lock(:room, :number)"), text("SELECT pg_advisory_lock_shared(:room, :number)")
_LEAVE = text("SELECT pg_advisory_unlock(:room, :number)")
_TRY = text("SELECT pg_try_advisory_lock(:room, :number)")
_IS_FREE = text("SELECT pg_try_advisory_xact_lock_shared(:room, :number)").bindparams(room=_OWN)
_LIVING = text(
    "SELECT objid::bigint AS number FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = :room "
    "AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
).bindparams(room=_OWN)
_HAS_TABLES = text("SELECT to_regclass('alembic_version') IS NOT NULL")
_REVISION = text("SELECT version_num FROM alembic_version")
_NOTIFY = text("SELECT pg_notify(:channel, :payload)").bindparams(channel=CHANNEL)
_NOT_GRANTED = "55P03"
_STUCK = "Look at its log; end it if it is stuck, and start this one again."
_OTHER = "Stop all gateways of the other release first, or give this one another PRACTICUM_DATABASE_URL."


def lives(connection: Connection, boot: str) -> bool:
    """Whether another gateway, by its boot, still works on this database; on SQLite there is none.

    Asked within a transaction, it cannot begin to until that ends.
    """
    if connection.dialect.name != "postgresql":
        return False
    return not connection.scalar(_IS_FREE, {"number": _number_of(boot)})


def _number_of(boot: str) -> int:
    """The number of a gateway's own lock: 31 bits."""
    return int.from_bytes(hashlib.sha256(boot.encode()).digest()[:4], "big") >> 1


class Replica:
    """This gateway among those on its store.

    Attributes:
        boot: identifies this start of the process.
        lost: set when it cannot be sure any more that its locks are held and that it hears what others tell.
        leads: set from when on it is the one that does what only one should do.
        departed: set when another gateway has gone, or this one begins to lead; whoever acts on it clears it.
    """

    def __init__(self, boot: str | None = None) -> None:
        """Belong to no store yet.

        Args:
            boot: another name for this start.
        """
        self.boot = boot or new_id("boot")
        self.lost, self.leads, self.departed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._connection: AsyncConnection | None = None
        self._asking = asyncio.Lock()
        self._others = frozenset[int]()
        self._rung: dict[Topic, set[tuple[str, str]]] = {}
        self._to_tell = asyncio.Event()
        self._forward = False
        self._heed: Callable[[Notice], None] | None = None
        self._unheeded: list[Notice] = []

    @property
    def is_alone(self) -> bool:
        """Whether no other gateway worked on the store at the last look."""
        return not self._others

    @contextlib.asynccontextmanager
    async def joined(self, store: Store, release: str) -> AsyncGenerator[None]:
        """Work on a store for as long as the block lasts. Others that start wait until `opened`.

        Args:
            store: the main tenant's.
            release: the newest revision of its tables that this release knows.

        Raises:
            ConfigurationError: it cannot be reached, or others work on it that must not.
        """
        await store.check()
        url = store.engine.url
        if store.is_embedded:
            with held_file(str(url.database)):
                self.leads.set()
                yield
            return
        engine = create_async_engine(
            url,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={"server_settings": settings_of(self.boot)},
        )
        async with engine.connect() as connection:
            await self._join(connection, release, url.render_as_string(hide_password=True))
            driver: Any = (await connection.get_raw_connection()).driver_connection
            driver.add_termination_listener(self._gone)
            await driver.add_listener(CHANNEL, self._heard)
            self._connection = connection
            await self._look()
            keeping = asyncio.create_task(self._keep())
            keeping.add_done_callback(self._kept)
            try:
                yield
            finally:
                driver.remove_termination_listener(self._gone)
                async with self._asking:  # not in the middle of an answer
                    keeping.cancel()
                await asyncio.wait([keeping])
                self._connection = None
                if self.lost.is_set():
                    driver.terminate()  # nobody answers a farewell

    async def opened(self, heed: Callable[[Notice], None]) -> None:
        """Everything is open: others may start, and what they tell is heeded, also what was told meanwhile.

        Args:
            heed: takes what others tell; at once, and waits for nothing.
        """
        self._heed = heed
        for notice in self._unheeded:
            heed(notice)
        self._unheeded.clear()
        if self._connection is None:
            return
        if self._forward:  # in this order: at no moment can another release begin to bring the store forward
            await self._ask(_SHARE, room=_ROOM, number=_WORKING)
            await self._ask(_LEAVE, room=_ROOM, number=_WORKING)
        await self._ask(_LEAVE, room=_ROOM, number=_STARTING)

    def ring(self, topic: Topic, tenant: str, subject: str = "") -> None:
        """Tell others, soon and together with more of it, of something that is committed; nobody counts on it alone."""
        if self._others:
            self._rung.setdefault(topic, set()).add((tenant, subject))
            self._to_tell.set()

    async def all_heard(self) -> None:
        """Wait until every other gateway has heard what was told before, or serves no more."""
        if self._connection is not None:
            await self._look()
            if self._others:
                await asyncio.sleep(HEARD_SECONDS)

    async def _join(self, connection: AsyncConnection, release: str, shown: str) -> None:
        """Wait for the turn to start, and take the locks."""
        await connection.execute(text(_PATIENCE.format(_START_SECONDS)))
        with _refused(f"Another gateway has been starting on {shown} for {_START_SECONDS} s.", mend=_STUCK):
            await connection.execute(_TAKE, {"room": _ROOM, "number": _STARTING})
        present = await connection.scalar(_HAS_TABLES) and await connection.scalar(_REVISION)
        self._forward = bool(present) and present != release
        await connection.execute(text(_PATIENCE.format(_WORK_SECONDS)))
        why = "this release brings other tables" if self._forward else "it is of a release that works alone"
        with _refused(f"Another gateway works on {shown}, and {why}.", mend=_OTHER):
            await connection.execute(_TAKE if self._forward else _SHARE, {"room": _ROOM, "number": _WORKING})
        if not await connection.scalar(_TRY, {"room": _OWN, "number": _number_of(self.boot)}):
            raise ConfigurationError("Another gateway drew the same number.", mend="Start it again.")

    def _gone(self, _connection: object) -> None:
        self.lost.set()

    def _heard(self, _connection: object, _pid: int, _channel: str, payload: str) -> None:
        notice = notice_of(payload)
        if notice.sender == self.boot:
            return
        if self._heed is None:
            self._unheeded.append(notice)
        else:
            self._heed(notice)

    async def _keep(self) -> None:
        """Ask again and again whether all is held, and pass on what there is to tell."""
        clock = asyncio.get_running_loop().time
        due = clock() + BEAT_SECONDS
        while not self.lost.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, due - clock())):
                    await self._to_tell.wait()
                    await asyncio.sleep(_GATHER_SECONDS)
            await self._pass_on()
            if clock() >= due:
                await self._look()
                due = clock() + BEAT_SECONDS

    def _kept(self, keeping: asyncio.Task[None]) -> None:
        """Who is not looked after any more by what should, whyever, holds nothing that it can count on."""
        if not keeping.cancelled():
            self.lost.set()

    async def _pass_on(self) -> None:
        rung, self._rung = self._rung, {}
        self._to_tell.clear()
        for topic, subjects in rung.items():
            for payload in payloads(self.boot, topic, subjects):
                await self._ask(_NOTIFY, payload=payload)

    async def _look(self) -> None:
        """Who works on the store now; whether this one does, and whether it leads."""
        living = frozenset(row.number for row in await self._ask(_LIVING))
        own = _number_of(self.boot)
        if own not in living:
            self.lost.set()
            return
        others = living - {own}
        if self._others - others:
            self.departed.set()
        self._others = others
        if not self.leads.is_set():
            granted = await self._ask(_TRY, room=_ROOM, number=_LEADING)
            if granted and granted[0][0]:
                self.leads.set()
                self.departed.set()

    async def _ask(self, statement: TextClause, **values: Any) -> list[Row[Any]]:
        """What the connection answers; where it does not, the hold is lost, and nothing is."""
        async with self._asking:
            asking = asyncio.create_task(_rows(self._connection, statement, values))
            await asyncio.wait([asking], timeout=ANSWER_SECONDS)
            if not asking.done():
                asking.cancel()
            elif (found := asking.result()) is not None:
                return found
        self.lost.set()
        return []


async def _rows(
    connection: AsyncConnection | None, statement: TextClause, values: dict[str, Any]
) -> list[Row[Any]] | None:
    if connection is None:
        return None
    try:
        return list(await connection.execute(statement, values))
    except (SQLAlchemyError, OSError) as error:
        logger.warning("the database does not answer: %s", type(error).__name__)
        return None


@contextlib.contextmanager
def _refused(what: str, *, mend: str) -> Generator[None]:
    """Say who stands in the way, where a lock is not granted in time.

    Raises:
        ConfigurationError: somebody does.
    """
    try:
        yield
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _NOT_GRANTED:
            raise
        raise ConfigurationError(what, mend=mend) from None
