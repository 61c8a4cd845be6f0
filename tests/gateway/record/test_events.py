"""Events: one sequence, however many write; every reader gets all of it."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from practicum.contracts.episodes import Cause, EpisodeEvent, EpisodeResult, EpisodeStatus
from practicum.errors import NotFoundError
from practicum_gateway.record.record import Record
from practicum_gateway.store.engine import Store
from tests.gateway.record.conftest import Begin

DONE = EpisodeResult(status=EpisodeStatus.COMPLETED, cause=Cause.POLICY)


@pytest.fixture
async def replica(store_url: str, store: Store) -> AsyncIterator[Record]:
    """The record of another process over the same database."""
    del store  # it has made the schema
    other = Store(store_url)
    yield Record(other)
    await other.close()


async def follow(record: Record, episode: str, *, after: int = 0, heartbeat: float = 60.0) -> list[EpisodeEvent | None]:
    closing = asyncio.Event()
    return [
        event
        async for event in record.events.follow(episode, after=after, closing=closing, heartbeat_seconds=heartbeat)
    ]


async def test_writers_of_two_processes_share_one_sequence(record: Record, replica: Record, begin: Begin) -> None:
    episode = await begin()
    await asyncio.gather(
        *(writer.event(episode, "call.started", 0, {"n": n}) for n in range(20) for writer in (record, replica))
    )
    events = await record.events.read(episode)
    assert [event.sequence for event in events] == list(range(1, 42))


async def test_readers_here_and_elsewhere_get_everything_to_the_end(
    record: Record, replica: Record, begin: Begin
) -> None:
    episode = await begin()
    readers = [asyncio.create_task(follow(reader, episode)) for reader in (record, record, replica)]
    for n in range(5):
        await record.event(episode, "call.started", 0, {"n": n})
        await asyncio.sleep(0)
    await record.episodes.end(episode, DONE)
    for read in await asyncio.wait_for(asyncio.gather(*readers), 60):
        assert [event.type for event in read if event] == ["episode.started", *["call.started"] * 5, "episode.ended"]


async def test_a_reader_that_goes_just_as_something_happens_goes(record: Record, begin: Begin) -> None:
    episode, closing = await begin(), asyncio.Event()
    for turns in range(4):
        events = record.events.follow(episode, after=1, closing=closing, heartbeat_seconds=60.0)
        reader = asyncio.create_task(anext(events))
        await asyncio.sleep(0.1)
        record.events.announce(episode)
        for _ in range(turns):
            await asyncio.sleep(0)
        reader.cancel()
        await asyncio.wait((reader,), timeout=20)
        assert reader.cancelled(), turns


async def test_a_reader_resumes_after_what_it_knows(record: Record, begin: Begin) -> None:
    episode = await begin()
    await record.event(episode, "call.started", 0, {})
    await record.episodes.end(episode, DONE)
    assert [event.sequence for event in await follow(record, episode, after=1) if event] == [2, 3]
    assert await follow(record, episode, after=3) == []
    assert await follow(record, episode, after=99) == []


async def test_a_silent_episode_gives_signs_of_life_until_the_gateway_closes(record: Record, begin: Begin) -> None:
    episode = await begin()
    closing = asyncio.Event()
    seen: list[EpisodeEvent | None] = []
    async for event in record.events.follow(episode, after=1, closing=closing, heartbeat_seconds=1.0):
        seen.append(event)
        closing.set()
    assert seen == [None]


async def test_more_events_than_a_page_come_in_order(record: Record, begin: Begin) -> None:
    episode = await begin()
    for n in range(210):
        await record.event(episode, "call.started", 0, {"n": n})
    await record.episodes.end(episode, DONE)
    assert [event.sequence for event in await follow(record, episode) if event] == list(range(1, 213))


async def test_waiting_for_people_is_counted_once_however_many_are_asked(record: Record, begin: Begin) -> None:
    episode = await begin()
    assert await record.events.waited(episode) == 0.0
    for kind in ("approval.requested", "approval.requested", "approval.decided"):
        await record.event(episode, kind, 0, {})
        await asyncio.sleep(0.1)
    await record.event(episode, "approval.decided", 0, {})
    waited = await record.events.waited(episode)
    assert 0.3 <= waited < 3
    await asyncio.sleep(0.05)
    assert await record.events.waited(episode) == waited


async def test_an_episode_that_is_not_there_has_no_events(record: Record) -> None:
    with pytest.raises(NotFoundError):
        await record.event("ep_none", "call.started", 0, {})
    assert await follow(record, "ep_none") == []
