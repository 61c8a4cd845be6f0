"""The journal: what several write at once is one transaction, and nobody fails or waits with another."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import Attempt, Usage
from practicum.contracts.tools import CallStatus, Observation
from practicum.errors import EpisodeError, NotFoundError
from practicum_gateway.record.lineage import NOTHING
from practicum_gateway.record.record import Record
from practicum_gateway.record.transcripts import LineMemory
from practicum_gateway.store.engine import Store
from tests.gateway.record.conftest import OPENING, Begin, made, said

MANY = 12


@pytest.fixture
async def replica(store_url: str, store: Store) -> AsyncIterator[Record]:
    """The record of another process over the same database."""
    del store  # it has made the schema
    other = Store(store_url)
    yield Record(other)
    await other.close()


async def kinds(record: Record, episode: str) -> list[str]:
    """The events of an episode, which have the numbers from 1 on."""
    events = await record.events.read(episode)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    return [event.type for event in events]


def writes(store: Store) -> int:
    """How many transactions were waited for."""
    (family,) = store.writes.families()
    return sum(family.measured[()].counts)


async def test_what_many_episodes_write_at_once_takes_few_transactions(
    record: Record, store: Store, begin: Begin
) -> None:
    episodes = [await begin() for _ in range(MANY)]
    calls = [made(OPENING, said(f"to {episode}")) for episode in episodes]
    before = writes(store)
    await asyncio.gather(*(record.model_calls.begin_turn(episode, 0, 1) for episode in episodes))
    await record.model_calls.add_turn(episodes[0], calls[0], NOTHING, 2)  # which keeps the toolset, too
    together = (
        record.model_calls.add_turn(episode, call, NOTHING, 2)
        for episode, call in zip(episodes[1:], calls[1:], strict=True)
    )
    assert set(await asyncio.gather(*together)) == {Attempt.ACCEPTED}
    assert writes(store) - before < MANY
    for episode, call in zip(episodes, calls, strict=True):
        assert await kinds(record, episode) == ["episode.started", "turn.started", "turn.finished"]
        transcript = await record.transcripts.load(episode)
        assert transcript.messages == (*OPENING, call.response)
        (found,) = await record.model_calls.of_episode(episode, transcript.messages)
        assert found == call


async def test_who_fails_fails_alone(record: Record, begin: Begin) -> None:
    """Among those that are written at once are an unknown episode, one that may not, and a call that is known."""
    good = [await begin() for _ in range(3)]
    chatting, known = await begin(), made(OPENING, said("known"))
    await record.model_calls.begin_chat(chatting, OPENING)
    await record.model_calls.add_turn(good[0], known, NOTHING, 2)
    found = await asyncio.gather(
        record.model_calls.add_turn("ep_unknown", made(OPENING, said("x")), NOTHING, 2),
        record.model_calls.add_turn(good[1], made(OPENING, said("y")), NOTHING, 2),
        record.model_calls.add_turn(chatting, made(OPENING, said("z")), NOTHING, 2),
        record.model_calls.add_turn(good[2], known, NOTHING, 2),
        return_exceptions=True,
    )
    assert [type(each) for each in found] == [NotFoundError, Attempt, EpisodeError, IntegrityError]
    assert await kinds(record, good[1]) == ["episode.started", "turn.finished"]
    assert await kinds(record, good[2]) == ["episode.started"]
    assert await kinds(record, chatting) == ["episode.started", "turn.started"]


@pytest.mark.parametrize(
    "values",
    [{"finish_reason": "\ud800"}, {"usage": Usage(prompt_tokens=10**30)}, {"error": "\udfff"}],
    ids=["half a character", "a number beyond all", "half a character of an error"],
)
async def test_who_tells_what_no_database_takes_fails_alone(
    record: Record, begin: Begin, values: dict[str, Any]
) -> None:
    """A model's server may say so, and an answer as it came is what is written."""
    episodes = [await begin() for _ in range(3)]
    calls = [made(OPENING, said("x")), made(OPENING, said("y")).model_copy(update=values), made(OPENING, said("z"))]
    found = await asyncio.gather(
        *(record.model_calls.add_turn(*each, NOTHING, 2) for each in zip(episodes, calls, strict=True)),
        return_exceptions=True,
    )
    assert [found[0], found[2]] == [Attempt.ACCEPTED] * 2, found
    assert isinstance(found[1], Exception)
    assert [await kinds(record, each) for each in episodes] == [
        ["episode.started", "turn.finished"],
        ["episode.started"],
        ["episode.started", "turn.finished"],
    ]


async def test_of_one_episode_everything_has_its_own_number(record: Record, replica: Record, begin: Begin) -> None:
    episode, turns = await begin(), await begin()
    calls = (record.model_calls, replica.model_calls)
    begun = await asyncio.gather(*(calls[n % 2].begin_chat(episode, OPENING) for n in range(MANY)))
    assert sorted(number for number, _ in begun) == list(range(MANY))
    records = (record.episodes, replica.episodes)
    placed = await asyncio.gather(*(records[n % 2].next_call(episode) for n in range(MANY)))
    assert sorted(placed) == [(MANY - 1, n) for n in range(MANY)]
    assert await kinds(record, episode) == ["episode.started", *["turn.started"] * MANY]

    wishes = tuple(ToolCall(id=f"c{n}", name="f", arguments={}) for n in range(MANY))
    asking = Message(role="assistant", tool_calls=wishes)
    await record.model_calls.add_turn(turns, made(OPENING, asking), NOTHING, 2)
    (turn,) = await replica.transcripts.step(turns, 0)
    settled = await asyncio.gather(
        *(
            writer.transcripts.settle(turns, turn, n, Observation(status=status, content="x"), f"{status} {n}")
            for n in range(MANY)
            for writer, status in ((record, CallStatus.OK), (replica, CallStatus.ERROR))
        )
    )
    for n in range(MANY):
        assert len(set(settled[2 * n : 2 * n + 2])) == 1  # the first outcome stands for both
    transcript = await record.transcripts.load(turns)
    assert [message.content for message in transcript.messages[3:]] == [
        f"{status} {n}" for n, status in enumerate(settled[::2])
    ]


async def test_who_is_cancelled_before_it_is_written_writes_nothing(record: Record, begin: Begin) -> None:
    episode, other = await begin(), await begin()
    leaving = asyncio.create_task(record.model_calls.begin_turn(episode, 0, 1))
    await asyncio.sleep(0)  # it has asked, and nothing is written before others had their turn to ask
    leaving.cancel()
    await record.model_calls.begin_turn(other, 0, 1)
    assert (await kinds(record, episode), await kinds(record, other)) == (
        ["episode.started"],
        ["episode.started", "turn.started"],
    )


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_nobody_waits_for_an_episode_that_is_not_its_own(record: Record, store: Store, begin: Begin) -> None:
    episodes = [await begin() for _ in range(MANY)]
    async with store.write() as session:
        await session.execute(text("SELECT id FROM episodes WHERE id = :of FOR UPDATE"), {"of": episodes[0]})
        first = asyncio.create_task(record.model_calls.begin_turn(episodes[0], 0, 1))
        await asyncio.sleep(0.05)  # it is written by itself, and not at the same moment as others
        async with asyncio.timeout(10):
            await asyncio.gather(*(record.model_calls.begin_turn(episode, 0, 1) for episode in episodes[1:]))
        held, *others = (asyncio.create_task(record.model_calls.begin_turn(episode, 0, 1)) for episode in episodes)
        await asyncio.gather(*others)
        await asyncio.gather(*(record.model_calls.begin_turn(episode, 0, 2) for episode in episodes[1:]))
        assert (held.done(), first.done()) == (False, False)
    assert [(await each)[0] for each in (first, held)] == [1, 1]


async def test_a_transcript_is_read_on_from_where_it_is_known(
    record: Record, replica: Record, store: Store, begin: Begin
) -> None:
    episode = await begin()
    assert (await replica.transcripts.load(episode)).messages == OPENING
    asking = Message(role="assistant", tool_calls=tuple(ToolCall(id=c, name="f", arguments={}) for c in "ab"))
    await record.model_calls.add_turn(episode, made(OPENING, asking), NOTHING, 2)
    (turn,) = await record.transcripts.step(episode, 0)
    done = Observation(status=CallStatus.OK, content="x")
    await record.transcripts.settle(episode, turn, 1, done, "b")
    for reader in (record, replica):  # a hole is no part of what is known
        transcript = await reader.transcripts.load(episode)
        assert (transcript.messages, transcript.open_calls) == ((*OPENING, asking), (0,))
    await replica.transcripts.settle(episode, turn, 0, done, "a")
    whole = (*OPENING, asking, *(Message(role="tool", content=c, tool_call_id=c) for c in "ab"))
    for reader in (record, replica, Record(store)):  # the last knows nothing
        assert (await reader.transcripts.load(episode)).messages == whole
    gone = await begin()
    await replica.transcripts.load(gone)
    await record.episodes.forget(gone)
    assert (await replica.transcripts.load(gone)).lines == ()


async def test_the_transcripts_met_last_are_remembered(record: Record, begin: Begin) -> None:
    lines = (await record.transcripts.load(await begin())).lines
    memory = LineMemory(most=2_500)
    for name in "ab":
        memory.keep(name, lines)
    assert (memory.get("a"), memory.get("b")) == (lines, lines)
    memory.keep("a", lines)
    memory.keep("c", lines)
    assert (memory.get("a"), memory.get("b"), memory.get("c")) == (lines, (), lines)
