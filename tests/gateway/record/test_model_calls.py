"""Model calls: one attempt of a step is accepted, every call comes back whole, and the graph is right."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import null, update

from practicum.contracts.episodes import Cause, EpisodeResult, EpisodeStatus
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import Attempt, Disagreement, Link, Sampled
from practicum.contracts.tools import CallStatus, Observation
from practicum_gateway.record.lineage import NOTHING
from practicum_gateway.record.record import Record
from practicum_gateway.store.engine import Store
from practicum_gateway.store.record_tables import ModelCallRow
from tests.gateway.record.conftest import OPENING, Begin, made, said


@pytest.fixture
async def replica(store_url: str, store: Store) -> AsyncIterator[Record]:
    """The record of another process over the same database."""
    del store  # it has made the schema
    other = Store(store_url)
    yield Record(other)
    await other.close()


async def test_of_two_processes_one_has_its_attempt_accepted(record: Record, replica: Record, begin: Begin) -> None:
    for _ in range(5):
        episode = await begin()
        calls = [made(OPENING, said(f"answer {n}"), attempt=n) for n in (1, 2)]
        standings = await asyncio.gather(
            *(
                writer.model_calls.add_turn(episode, call, NOTHING, len(OPENING))
                for writer, call in zip((record, replica), calls, strict=True)
            )
        )
        assert sorted(standings) == [Attempt.ACCEPTED, Attempt.SUPERSEDED]
        transcript = await record.transcripts.load(episode)
        accepted = calls[standings.index(Attempt.ACCEPTED)]
        assert transcript.messages == (*OPENING, accepted.response)
        assert len(await record.model_calls.of_episode(episode, transcript.messages)) == 2
        assert await record.model_calls.accepted(episode, 0) == (accepted.usage, accepted.finish_reason)


async def test_what_comes_after_the_end_is_not_accepted(record: Record, begin: Begin) -> None:
    episode = await begin()
    await record.episodes.end(episode, EpisodeResult(status=EpisodeStatus.CANCELLED, cause=Cause.PERSON))
    assert await record.model_calls.add_turn(episode, made(OPENING, said("late")), NOTHING, 2) is Attempt.SUPERSEDED
    assert (
        await record.model_calls.add_chat(episode, made(OPENING, said("late"), step=1), NOTHING) is Attempt.SUPERSEDED
    )
    await record.model_calls.add_failure(episode, made(OPENING, None, step=2), NOTHING)
    assert (await record.transcripts.load(episode)).messages == OPENING
    assert (await record.events.read(episode))[-1].type == "episode.ended"
    standings = [call.standing for call in await record.model_calls.of_episode(episode, OPENING)]
    assert standings == [Attempt.SUPERSEDED, Attempt.SUPERSEDED, Attempt.FAILED]


async def test_a_turn_and_its_calls_have_their_places(record: Record, begin: Begin) -> None:
    episode = await begin()
    wishes = tuple(ToolCall(id=f"c{n}", name="f", arguments={"n": n}) for n in range(3))
    asking = Message(role="assistant", tool_calls=wishes)
    await record.model_calls.add_turn(episode, made(OPENING, asking), NOTHING, 2)
    (turn,) = await record.transcripts.step(episode, 0)
    for call in (2, 0):
        observation = Observation(status=CallStatus.OK, content=f"result {call}")
        assert await record.transcripts.settle(episode, turn, call, observation, f"told {call}") is CallStatus.OK
    transcript = await record.transcripts.load(episode)
    assert transcript.open_calls == (1,)
    assert [message.content for message in transcript.messages] == ["Be brief.", "Do it.", None, "told 0"]
    assert transcript.end == 6
    denied = Observation(status=CallStatus.DENIED, content="no")
    assert await record.transcripts.settle(episode, turn, 1, denied, "no") is CallStatus.DENIED
    assert await record.transcripts.settle(episode, turn, 1, observation, "other") is CallStatus.DENIED
    transcript = await record.transcripts.load(episode)
    assert transcript.open_calls == ()
    assert [message.content for message in transcript.messages[3:]] == ["told 0", "no", "told 2"]
    assert [message.tool_call_id for message in transcript.messages[3:]] == ["c0", "c1", "c2"]


async def test_token_ids_of_a_long_chain_come_back_whole(record: Record, begin: Begin) -> None:
    episode = await begin()
    messages, ids, expected = OPENING, (1, 2, 3), list[Sampled]()
    for step in range(6):
        _, before = await record.model_calls.begin_turn(episode, step, 1)
        assert (before.one.sampled if before.one else None) == (expected[-1] if expected else None)
        sampled = Sampled(prompt_ids=ids, completion_ids=(100 + step, 7), logprobs=(-0.25, -1.5))
        wish = ToolCall(id=f"c{step}", name="f", arguments={})
        asking = Message(role="assistant", tool_calls=(wish,))
        transcript = await record.transcripts.load(episode)
        await record.model_calls.add_turn(
            episode, made(transcript.messages, asking, step=step, sampled=sampled), before, transcript.end
        )
        (turn,) = await record.transcripts.step(episode, step)
        await record.transcripts.settle(episode, turn, 0, Observation(status=CallStatus.OK, content="ok"), "ok")
        messages = (*messages, asking, Message(role="tool", content="ok", tool_call_id=wish.id))
        ids = (*ids, 100 + step, 7, 50 + step)
        expected.append(sampled)
    transcript = await record.transcripts.load(episode)
    assert transcript.messages == messages
    calls = await record.model_calls.of_episode(episode, transcript.messages)
    assert [call.sampled for call in calls] == expected
    assert [call.messages for call in calls] == [messages[: 2 + 2 * step] for step in range(6)]
    assert [(call.parent, call.by) for call in calls] == [
        (None, None),
        *((call.id, Link.TOKENS) for call in calls[:-1]),
    ]


async def test_calls_of_an_earlier_release_come_back_whole(record: Record, store: Store, begin: Begin) -> None:
    """They say nothing of how many messages are their parent's, for that was its whole conversation."""
    episode = await begin(())
    asked, answer = Message(role="user", content="a"), said("x")
    sampled = Sampled(prompt_ids=(1, 2), completion_ids=(3,), logprobs=(-1.0,))
    first = made((asked,), answer, sampled=sampled)
    await record.model_calls.add_chat(episode, first, NOTHING)
    longer = (asked, answer, asked)
    _, before = await record.model_calls.begin_chat(episode, longer)
    after = Sampled(prompt_ids=(1, 2, 3, 4), completion_ids=(5,), logprobs=(-1.0,))
    second = made(longer, said("y"), step=1, sampled=after)
    await record.model_calls.add_chat(episode, second, before)
    async with store.write() as session:
        added = ("messages_shared", "link", "candidates", "ids_length", "ids_hash", "sent")
        await session.execute(update(ModelCallRow).values(dict.fromkeys(added, null())))
    found = await Record(store).model_calls.of_episode(episode, ())
    assert found == (first, second.model_copy(update={"parent": first.id}))
    # And a running episode goes on from them.
    whole = (*longer, said("y"), asked)
    _, then = await record.model_calls.begin_chat(episode, whole)
    on = Sampled(prompt_ids=(1, 2, 3, 4, 5, 6), completion_ids=(7,), logprobs=(-1.0,))
    await record.model_calls.add_chat(episode, made(whole, said("z"), step=2, sampled=on), then)
    third = (await record.model_calls.of_episode(episode, ()))[2]
    assert (third.parent, third.by, third.messages, third.sampled) == (second.id, Link.TOKENS, whole, on)


async def test_an_own_turn_whose_history_was_rendered_anew_says_so(record: Record, begin: Begin) -> None:
    episode = await begin()
    wish = ToolCall(id="c", name="f", arguments={})
    asking = Message(role="assistant", tool_calls=(wish,))
    first = made(OPENING, asking, sampled=Sampled(prompt_ids=(1, 2), completion_ids=(3, 4), logprobs=(-1.0, -1.0)))
    await record.model_calls.add_turn(episode, first, NOTHING, 2)
    _, before = await record.model_calls.begin_turn(episode, 1, 1)
    anew = Sampled(prompt_ids=(1, 2, 3, 9), completion_ids=(5,), logprobs=(-1.0,))
    told = Message(role="tool", content="ok", tool_call_id="c")
    second = made((*OPENING, asking, told), said("done"), step=1, sampled=anew)
    await record.model_calls.add_turn(episode, second, before, 4)
    found = (await record.model_calls.of_episode(episode, (*OPENING, asking, told, said("done"))))[1]
    assert (found.parent, found.by, found.sampled) == (first.id, Link.MESSAGES, anew)
    assert found.disagreement == Disagreement(call=first.id, shared=3, of=4)
