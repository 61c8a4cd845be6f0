"""The store: durable, ordered, and never half-written."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from practicum.contracts.base import utc_now
from practicum.errors import ConfigurationError
from practicum_gateway.store.access_tables import KeyRow
from practicum_gateway.store.catalogue_tables import DocumentRow
from practicum_gateway.store.engine import Store, new_id
from practicum_gateway.store.replicas import Replica


def key_row(number: int, created: datetime) -> KeyRow:
    return KeyRow(
        id=f"key_{number}", prefix="prk_", hash="0", principal="ann", role="agent", episode=None, created=created
    )


async def test_a_transaction_that_fails_leaves_nothing(store: Store) -> None:
    async def fail_halfway() -> None:
        async with store.write() as session:
            session.add(key_row(1, utc_now()))
            await session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_halfway()
    async with store.read() as session:
        assert (await session.scalars(select(KeyRow))).all() == []


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_a_full_disk_is_said_in_words_and_leaves_nothing(store: Store) -> None:
    async def fill() -> None:
        async with store.write() as session:
            await session.execute(text("PRAGMA max_page_count = 1"))  # no less than it has already
            row = key_row(1, utc_now())
            row.prefix = "p" * 1_000_000
            session.add(row)

    with pytest.raises(ConfigurationError, match="no room left"):
        await fill()
    async with store.read() as session:
        assert (await session.scalars(select(KeyRow))).all() == []


async def test_moments_come_back_in_utc_and_naive_ones_are_refused(store: Store) -> None:
    noon_in_tokyo = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=9)))
    async with store.write() as session:
        session.add(key_row(1, noon_in_tokyo))
    async with store.read() as session:
        row = (await session.scalars(select(KeyRow))).one()
    assert row.created == noon_in_tokyo
    assert row.created.tzinfo == UTC
    with pytest.raises(Exception, match="time zone"):
        async with store.write() as session:
            session.add(key_row(2, datetime(2026, 3, 1)))  # noqa: DTZ001


async def test_many_writers_take_turns_and_none_is_lost(store: Store) -> None:
    async def write(number: int) -> None:
        async with store.write() as session:
            count = len((await session.scalars(select(KeyRow))).all())
            session.add(key_row(number, utc_now() + timedelta(seconds=count)))

    await asyncio.gather(*(write(number) for number in range(40)))
    async with store.read() as session:
        assert len((await session.scalars(select(KeyRow))).all()) == 40


async def test_two_processes_write_the_same_file(store: Store, store_url: str) -> None:
    other = Store(store_url)
    try:
        for number in range(0, 20, 2):
            async with store.write() as session:
                session.add(key_row(number, utc_now()))
            async with other.write() as session:
                session.add(key_row(number + 1, utc_now()))
        async with other.read() as session:
            assert len((await session.scalars(select(KeyRow))).all()) == 20
    finally:
        await other.close()


async def test_foreign_keys_hold(store: Store) -> None:
    with pytest.raises(IntegrityError):
        async with store.write() as session:
            session.add(DocumentRow(connector="nobody", content=b""))


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_sqlite_runs_in_wal_mode_and_what_is_committed_lasts(store: Store) -> None:
    async with store.read() as session:
        assert (await session.execute(text("PRAGMA journal_mode"))).scalar_one() == "wal"
    async with store.write() as session:
        assert (await session.execute(text("PRAGMA synchronous"))).scalar_one() == 2


@pytest.mark.parametrize(
    "url", ["sqlite+aiosqlite:///:memory:", "sqlite+aiosqlite://", "mysql+asyncmy://nowhere/db", "not a url"]
)
def test_a_store_that_cannot_hold_a_ledger_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Store(url)
    assert caught.value.mend is not None


async def test_a_missing_folder_is_said_in_words(tmp_path: Path) -> None:
    store = Store(f"sqlite+aiosqlite:///{tmp_path / 'nowhere' / 'file.sqlite3'}")
    with pytest.raises(ConfigurationError, match="cannot be opened"):
        await store.check()
    await store.close()


async def test_a_file_that_is_no_database_is_said_in_words(tmp_path: Path) -> None:
    path = tmp_path / "file.sqlite3"
    path.write_text("a shopping list, and long enough to be taken for a header " * 20)
    store = Store(f"sqlite+aiosqlite:///{path}")
    with pytest.raises(ConfigurationError, match="not a database"):
        await store.check()
    await store.close()
    assert path.read_text().startswith("a shopping list")


def test_identifiers_sort_by_time_and_do_not_repeat() -> None:
    made = [new_id("x") for _ in range(1000)]
    assert len(set(made)) == 1000
    assert [one[:12] for one in made] == sorted(one[:12] for one in made)
    assert all(one.startswith("x_") and len(one) == 28 for one in made)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_a_text_with_a_nul_is_kept_and_found_on_postgresql(store: Store) -> None:
    """SQLite keeps it as it is; PostgreSQL has no such text, and a deed must not be lost for it."""
    async with store.write() as session:
        row = key_row(1, utc_now())
        row.principal = "an\0n"
        session.add(row)
    async with store.read() as session:
        found = (await session.scalars(select(KeyRow).where(KeyRow.principal == "an\0n"))).one()
    assert found.principal == "an\ufffdn"


async def test_a_reader_sees_one_state(store: Store) -> None:
    async with store.write() as session:
        session.add(key_row(1, utc_now()))
    async with store.read() as reader:
        before = (await reader.scalars(select(KeyRow.id))).all()
        async with store.write() as session:
            session.add(key_row(2, utc_now()))
        assert (await reader.scalars(select(KeyRow.id))).all() == before == ["key_1"]


async def test_who_asks_for_a_turn_finds_what_the_one_before_wrote(store: Store) -> None:
    async def number() -> None:
        async with store.write(in_turn=True) as session:
            taken = len((await session.scalars(select(KeyRow))).all())
            session.add(key_row(taken, utc_now()))

    await asyncio.gather(*(number() for _ in range(20)))
    async with store.read() as session:
        assert len((await session.scalars(select(KeyRow))).all()) == 20


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_connections_that_the_server_ended_are_made_anew(store: Store) -> None:
    async with store.read() as session:
        await session.execute(text("SELECT 1"))
    async with store.write() as session:
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        await session.execute(text(f"{ended} AND datname = current_database()"))
    async with store.read() as one, store.read() as other:
        assert [await each.scalar(text("SELECT 1")) for each in (one, other)] == [1, 1]


async def test_a_database_that_cannot_be_reached_is_said_without_its_password(tmp_path: Path) -> None:
    store = Store(f"postgresql://ann:hunter2-canary@/ledger?host={tmp_path}")
    with pytest.raises(ConfigurationError, match="cannot be opened") as caught:
        async with Replica().joined(store, "r0001"):
            pass
    assert "canary" not in str(caught.value)
    await store.close()
