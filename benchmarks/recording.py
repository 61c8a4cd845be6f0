"""How many steps of episodes are written down in a second: 2,000 are promised, on SQLite and on PostgreSQL.

    python -m benchmarks.recording [--episodes 64] [--steps 20] [--postgres URL] [--turns 3]

A step is a model turn with its tokens, begun, placed in the graph and accepted, and the tool call that it asked for,
settled. It is measured for an episode's own turns and for a foreign agent's chat calls, all episodes at once, through
the record alone: no model, no HTTP, no system, no ledger. What a model would answer is made before the clock starts.
SQLite lies in a temporary folder and waits for the disk as it does in service; PostgreSQL is measured where a URL is
given, in a database that must be empty.

The baseline is the driver alone: the rows that were just recorded, inserted into the same tables, empty again, by
`executemany`, all episodes' rows of a step in one transaction that waits for the disk. It decides, reads and counts
nothing.

Shown are medians; CPU is that of this process, for one step. On PostgreSQL the server works beside it.
"""

import argparse
import asyncio
import contextlib
import gc
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
from sqlalchemy import delete, make_url

from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.episodes import Driver, EpisodeRequest
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import Attempt, ModelCall, Sampled, Sampling, Usage
from practicum.contracts.tools import CallStatus, Observation
from practicum_gateway.record.record import Record
from practicum_gateway.record.values import NewEpisode
from practicum_gateway.store.engine import Store, new_id
from practicum_gateway.store.migrate import migrate
from practicum_gateway.store.record_tables import EpisodeRow, EventRow, MessageRow, ModelCallRow, ToolsetRow

PROMISED = 2_000
OPENING = (
    Message(role="system", content="You look after orders. " * 20),
    Message(role="user", content="Refund order 1042 and tell the customer."),
)
TOOL: JsonObject = {"type": "function", "function": {"name": "erp_get_order", "parameters": {"type": "object"}}}
PROMPT, DRAWN, ADDED = 600, 40, 60
"""Tokens of the first prompt, of a turn, and of what is added between two turns."""
GROUND, ROWS = (ToolsetRow, EpisodeRow), (ModelCallRow, MessageRow, EventRow)
"""The tables that must be filled before a step is, and those that a step fills."""

Walk = Callable[[Record, str, Sequence[ModelCall]], Awaitable[None]]
Part = Sequence[tuple[type[Any], Sequence[Sequence[Any]]]]
"""Rows of some tables."""
Rows = Mapping[str, Sequence[Sequence[Any]]]
"""By table; of each row, first the step that it belongs to."""


@dataclass(frozen=True)
class Measured:
    """A run, or the median of some.

    Attributes:
        rate: steps a second.
        cpu: milliseconds of CPU that a step took of this process.
    """

    rate: float
    cpu: float


def turn(step: int) -> Message:
    """A turn that asks for one call."""
    wish = ToolCall(id=f"call_{step}", name="erp_get_order", arguments={"order_id": 1042, "step": step})
    return Message(role="assistant", tool_calls=(wish,))


def answer(step: int) -> Message:
    """What the tool said."""
    return Message(role="tool", content=f'{{"id":1042,"status":"shipped","step":{step}}}', tool_call_id=f"call_{step}")


def script(steps: int) -> list[ModelCall]:
    """The turns of an episode as they come from a model that tells its tokens, each with all that was said before."""
    calls: list[ModelCall] = []
    ids = tuple(range(PROMPT))
    for step in range(steps):
        said = [message for before in range(step) for message in (turn(before), answer(before))]
        calls.append(
            ModelCall(
                id=new_id("mc"),
                step=step,
                standing=Attempt.ACCEPTED,
                model="scripted",
                version="scripted-1",
                messages=(*(message.model_copy() for message in OPENING), *said),
                tools=(TOOL,),
                sampling=Sampling(temperature=1.0, top_p=1.0),
                response=turn(step),
                finish_reason="tool_calls",
                usage=Usage(prompt_tokens=len(ids), completion_tokens=DRAWN),
                sampled=Sampled(
                    prompt_ids=ids, completion_ids=tuple(range(step, step + DRAWN)), logprobs=(-0.25,) * DRAWN
                ),
                started=utc_now(),
                seconds=0.5,
            )
        )
        ids = (*ids, *range(step, step + DRAWN), *range(ADDED))
    return calls


async def own_turns(record: Record, episode: str, calls: Sequence[ModelCall]) -> None:
    """An episode that its driver takes turn by turn."""
    for step, call in enumerate(calls):
        transcript = await record.transcripts.load(episode)
        _, before = await record.model_calls.begin_turn(episode, step, 1)
        standing = await record.model_calls.add_turn(episode, call, before, transcript.end)
        (line,) = await record.transcripts.step(episode, step)
        done = Observation(status=CallStatus.OK, content="shipped", http_status=200)
        await record.transcripts.settle(episode, line, 0, done, answer(step).content or "")
        if standing is not Attempt.ACCEPTED:
            raise RuntimeError(f"Step {step} of {episode} was not accepted.")


async def chat_calls(record: Record, episode: str, calls: Sequence[ModelCall]) -> None:
    """An episode of a foreign agent, which sends its whole conversation each time."""
    for call in calls:
        _, before = await record.model_calls.begin_chat(episode, call.messages)
        await record.model_calls.add_chat(episode, call, before)
        await record.episodes.next_call(episode)


async def begun(record: Record) -> str:
    """A new episode."""
    request = EpisodeRequest(task="Refund order 1042.", model="scripted", driver=Driver.CLIENT)
    episode = NewEpisode(
        id=new_id("ep"), request=request, principal="bench", model="m", version="m-1", tools=(), opening=OPENING
    )
    return (await record.episodes.begin(episode))[0].id


@contextlib.asynccontextmanager
async def emptied(url: str) -> AsyncGenerator[Store]:
    """A store with nothing in it, and with nothing left in it afterwards."""
    store = Store(url)
    try:
        await migrate(store)
        yield store
        async with store.write() as session:
            for table in (*ROWS, *reversed(GROUND)):
                await session.execute(delete(table))
    finally:
        await store.close()


async def recorded(url: str, walk: Walk, episodes: int, steps: int) -> tuple[Measured, Rows]:
    """So many episodes at once, and the rows that they left."""
    async with emptied(url) as store:
        record = Record(store)
        names = {await begun(record): script(steps) for _ in range(episodes)}
        gc.collect()
        gc.freeze()  # what was made for the measurement is no part of it
        began, worked = time.perf_counter(), time.process_time()
        await asyncio.gather(*(walk(record, name, calls) for name, calls in names.items()))
        seconds, cpu = time.perf_counter() - began, time.process_time() - worked
        gc.unfreeze()
        for name, made in list(names.items())[:2]:
            calls = await record.model_calls.of_episode(name, (await record.transcripts.load(name)).messages)
            if [call.parent for call in calls] != [None, *(call.id for call in calls[:-1])]:
                raise RuntimeError(f"The graph of {name} is wrong.")
            if [(call.messages, call.sampled) for call in calls] != [(call.messages, call.sampled) for call in made]:
                raise RuntimeError(f"The record of {name} is not what was sampled.")
        rows = await on_file(store) if store.is_embedded else await on_server(url)
    return Measured(episodes * steps / seconds, 1000 * cpu / (episodes * steps)), rows


def selection(table: type[Any]) -> str:
    """A statement that reads all rows of a table, with the step first where a row belongs to one."""
    step = "coalesce(step, 0)" if table in ROWS else "0"
    names = ", ".join(f'"{column.name}"' for column in table.__table__.c)
    return f"SELECT {step}, {names} FROM {table.__tablename__}"  # noqa: S608  # names of our own


async def on_file(store: Store) -> Rows:
    """All rows of a SQLite store."""
    with contextlib.closing(sqlite3.connect(str(store.engine.url.database))) as driver:
        return {table.__tablename__: driver.execute(selection(table)).fetchall() for table in (*GROUND, *ROWS)}


async def on_server(url: str) -> Rows:
    """All rows of a PostgreSQL store."""
    driver = await connected(url)
    try:
        return {table.__tablename__: await driver.fetch(selection(table)) for table in (*GROUND, *ROWS)}
    finally:
        await driver.close()


async def connected(url: str) -> Any:
    """The driver alone, on a PostgreSQL store."""
    parsed = make_url(url)
    driver: Any = asyncpg
    return await driver.connect(parsed.set(drivername="postgresql").render_as_string(hide_password=False))


def insertion(table: type[Any], mark: Callable[[int], str]) -> str:
    """A statement that inserts a row."""
    names = [f'"{column.name}"' for column in table.__table__.c]
    marks = ", ".join(mark(place + 1) for place in range(len(names)))
    return f"INSERT INTO {table.__tablename__} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608  # likewise


def parted(rows: Rows, step: int) -> Part:
    """The rows of a step, by table."""
    return [(table, [tuple(row)[1:] for row in rows[table.__tablename__] if row[0] == step]) for table in ROWS]


async def inserted(url: str, rows: Rows, steps: int) -> Measured:
    """The baseline: the driver alone inserts rows that were recorded, a transaction for each step of all episodes."""
    async with emptied(url) as store:
        parts = [parted(rows, step) for step in range(steps)]
        ground = [(table, [tuple(row)[1:] for row in rows[table.__tablename__]]) for table in GROUND]
        how = insert_into_file if store.is_embedded else insert_into_server
        seconds, cpu = await how(store, url, ground, parts)
    count = len(rows[ModelCallRow.__tablename__])
    return Measured(count / seconds, 1000 * cpu / count)


async def insert_into_file(store: Store, _: str, ground: Part, parts: Sequence[Part]) -> tuple[float, float]:
    """Into SQLite: wall seconds and those of CPU."""
    with contextlib.closing(sqlite3.connect(str(store.engine.url.database), isolation_level=None)) as driver:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            driver.execute(f"PRAGMA {pragma}")
        for table, rows in ground:
            driver.executemany(insertion(table, lambda _: "?"), rows)
        began, worked = time.perf_counter(), time.process_time()
        for part in parts:
            driver.execute("BEGIN IMMEDIATE")
            for table, rows in part:
                driver.executemany(insertion(table, lambda _: "?"), rows)
            driver.execute("COMMIT")
        return time.perf_counter() - began, time.process_time() - worked


async def insert_into_server(_: Store, url: str, ground: Part, parts: Sequence[Part]) -> tuple[float, float]:
    """Into PostgreSQL: wall seconds and those of CPU."""
    driver = await connected(url)
    try:
        for table, rows in ground:
            await driver.executemany(insertion(table, lambda place: f"${place}"), rows)
        began, worked = time.perf_counter(), time.process_time()
        for part in parts:
            async with driver.transaction():
                for table, rows in part:
                    await driver.executemany(insertion(table, lambda place: f"${place}"), rows)
        return time.perf_counter() - began, time.process_time() - worked
    finally:
        await driver.close()


def median(runs: Sequence[Measured]) -> Measured:
    """The median of some runs."""
    return Measured(*(statistics.median(each) for each in zip(*((run.rate, run.cpu) for run in runs), strict=True)))


def compared(url: str | None, walk: Walk, options: argparse.Namespace) -> tuple[Measured, Measured]:
    """Medians of the record and of the baseline, in turns."""
    ours: list[Measured] = []
    alone: list[Measured] = []
    for _ in range(options.turns):
        with tempfile.TemporaryDirectory() as folder:
            where = [url or f"sqlite+aiosqlite:///{Path(folder) / name}.sqlite3" for name in ("record", "driver")]
            run, rows = asyncio.run(recorded(where[0], walk, options.episodes, options.steps))
            ours.append(run)
            alone.append(asyncio.run(inserted(where[1], rows, options.steps)))
    return median(ours), median(alone)


def main() -> int:
    """Measure, and say whether the promise is kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--postgres", metavar="URL", help="postgresql+asyncpg://... of an empty database")
    options = parser.parse_args()
    kept = True
    for kind, url in (("SQLite", None), *((("PostgreSQL", options.postgres),) if options.postgres else ())):
        for name, walk in (("own turns", own_turns), ("chat calls", chat_calls)):
            ours, alone = compared(url, walk, options)
            kept = kept and ours.rate >= PROMISED
            print(
                f"{name} on {kind}: {ours.rate:.0f} steps/s, {ours.cpu:.2f} ms of CPU each; "
                f"the driver alone: {alone.rate:.0f} steps/s, {alone.cpu:.2f} ms; "
                f"{ours.rate / alone.rate:.0%} of its rate, {ours.cpu / alone.cpu:.1f} times its CPU"
            )
    print(f"promised: {PROMISED} steps/s; {'kept' if kept else 'missed'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
