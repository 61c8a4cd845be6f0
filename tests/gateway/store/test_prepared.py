"""Prepared statements: what they do for many at once is what they do for each."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, bindparam, insert, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.types import JSON, LargeBinary

from practicum_gateway.store.engine import Store, UtcDateTime
from practicum_gateway.store.prepared import Prepared, Written

THINGS = Table(
    "things",
    MetaData(),
    Column("id", String(8), primary_key=True),
    Column("number", Integer),
    Column("told", JSON(none_as_null=True)),
    Column("at", UtcDateTime()),
    Column("data", LargeBinary()),
)
ADD = Prepared(insert(THINGS), columns=THINGS.c.keys())
MINE = THINGS.c.id == bindparam("of")
FIND = Prepared(select(THINGS).where(MINE, THINGS.c.number < 9).order_by(THINGS.c.number))
UP_TO = Prepared(select(THINGS.c.id).where(THINGS.c.number <= bindparam("most")).order_by(THINGS.c.number.desc()))
RAISE = Prepared(update(THINGS).where(MINE).values(number=THINGS.c.number + bindparam("by")).returning(THINGS.c.number))
WHEN = datetime(2026, 12, 1, 3, 4, 5, 678900, UTC)


def thing(name: str, number: int) -> dict[str, object]:
    return {"id": name, "number": number, "told": {"a": [number]}, "at": WHEN, "data": b"\0\xff"}


@pytest.fixture
async def things(store: Store) -> Store:
    async with store.write() as session:
        await (await session.connection()).run_sync(THINGS.create)
    return store


async def test_many_at_once(things: Store) -> None:
    rows = [thing(f"t{n}", n) for n in range(4)]
    rows[1] |= {"told": Written('{"b": "\\u0000"}'), "at": WHEN.astimezone(timezone(timedelta(hours=5)))}
    rows[2] |= {"told": None, "at": None, "data": None}
    await things.change(lambda at: ADD.many(at, rows))
    asked = [{"of": name} for name in ("t2", "none", "t1", "t2")]
    two, none, one, again = await things.change(lambda at: FIND.many(at, asked))
    assert [tuple(row) for row in one] == [("t1", 1, {"b": "\0"}, WHEN, b"\0\xff")]
    assert [tuple(row) for row in two] == [("t2", 2, None, None, None)] == [tuple(row) for row in again]
    assert none == []
    assert (await things.ask(FIND, {"of": "t1"})) == one
    bounds = [{"most": most} for most in (1, 0, -1, 2)]
    found = await things.change(lambda at: UP_TO.many(at, bounds))
    assert [[row.id for row in each] for each in found] == [["t1", "t0"], ["t0"], [], ["t2", "t1", "t0"]]
    raising = [{"of": "t3", "by": 10}, {"of": "none", "by": 1}, {"of": "t0", "by": 1}]
    raised = await things.change(lambda at: RAISE.many(at, raising))
    assert [[row.number for row in each] for each in raised] == [[13], [], [1]]


async def test_who_asks_what_no_database_takes_fails_alone(things: Store) -> None:
    await things.change(lambda at: ADD.many(at, [thing("t0", 0), thing("t1", 1)]))
    asked = (things.ask(FIND, {"of": name}) for name in ("t0", "\ud800", "t1"))
    zero, half, one = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(half, Exception)
    assert [[row.id for row in found] for found in (zero, one) if isinstance(found, list)] == [["t0"], ["t1"]]


async def test_of_many_that_cannot_be_written_none_is(things: Store) -> None:
    with pytest.raises(IntegrityError):
        await things.change(lambda at: ADD.many(at, [thing("a", 1), thing("b", 1), thing("a", 2)]))
    assert [await things.ask(FIND, {"of": name}) for name in "ab"] == [[], []]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_a_text_is_never_cut_and_holds_no_nul(things: Store) -> None:
    with pytest.raises(DBAPIError):
        await things.change(lambda at: ADD.many(at, [thing("a", 1), thing("too long by far", 1)]))
    await things.change(lambda at: ADD.many(at, [thing("a", 1), thing("b\0", 2)]))
    assert [row.id for row in await things.ask(FIND, {"of": "b\0"})] == ["b\ufffd"]
