"""The graph of model calls: by tokens where there are any, else by messages, and no parent where two fit."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from practicum.contracts.messages import Message
from practicum.contracts.models import Disagreement, Link, ModelCall, Sampled
from practicum_gateway.record.lineage import NOTHING, Before, Continued, Fit, decided
from practicum_gateway.record.record import Record
from practicum_gateway.record.tokens import Tokens
from tests.gateway.record.conftest import Begin, made, said

TASK = Message(role="user", content="a")
MORE = Message(role="user", content="b")


def rendered(messages: Sequence[Message]) -> tuple[int, ...]:
    """A template that keeps what it rendered: a token for each role, the text, and an end."""
    return tuple(token for each in messages for token in (ord(each.role[0]), *map(ord, each.content or ""), 1))


def tokens(messages: Sequence[Message], answer: Message) -> Sampled:
    ids = (*map(ord, answer.content or ""), 1)
    return Sampled(prompt_ids=(*rendered(messages), ord("a")), completion_ids=ids, logprobs=tuple(-1.0 for _ in ids))


async def recorded(record: Record, episode: str, call: ModelCall) -> ModelCall:
    """A call made and written down; what the record says of it."""
    _, before = await record.model_calls.begin_chat(episode, call.messages)
    await record.model_calls.add_chat(episode, call, before)
    calls = await record.model_calls.of_episode(episode, ())
    (found,) = (each for each in calls if each.id == call.id)
    places = {"parent", "by", "candidates", "disagreement"}
    assert found.model_dump(exclude=places) == call.model_dump(exclude=places)  # it comes back whole
    return found


async def test_branches_of_a_conversation(record: Record, begin: Begin) -> None:
    """An answer gone on with, a retry of the same prompt, a history edited before it, a sub-agent, a compaction."""
    episode = await begin(())

    async def ask(messages: tuple[Message, ...], answer: Message, step: int) -> ModelCall:
        return await recorded(record, episode, made(messages, answer, step=step, sampled=tokens(messages, answer)))

    first = await ask((TASK,), said("x"), 0)
    retried = await ask((TASK,), said("y"), 1)
    second = await ask((TASK, said("x"), MORE), said("z"), 2)
    edited = await ask((TASK, said("x"), TASK), said("z"), 3)
    after_retry = await ask((TASK, said("y"), MORE), said("z"), 4)
    helper = await ask((Message(role="system", content="help"), TASK), said("x"), 5)
    compacted = await ask((Message(role="user", content="a x b z, in short"), MORE), said("w"), 6)
    third = await ask((TASK, said("x"), MORE, said("z"), TASK), said("v"), 7)
    wrote_other_words = await ask((TASK, said("x"), MORE, said("Z"), TASK), said("v"), 8)
    places = [
        (call.parent, call.by)
        for call in (first, retried, second, edited, after_retry, helper, compacted, third, wrote_other_words)
    ]
    assert places == [
        (None, None),
        (None, None),
        (first.id, Link.TOKENS),
        (first.id, Link.TOKENS),
        (retried.id, Link.TOKENS),
        (None, None),
        (None, None),
        (second.id, Link.TOKENS),
        (first.id, Link.TOKENS),
    ]


@pytest.mark.parametrize("told", [(True, True), (False, False), (True, False)])
async def test_a_parent_is_never_guessed(record: Record, begin: Begin, told: tuple[bool, bool]) -> None:
    episode, answer = await begin(()), said("same")
    asked = [
        made((TASK,), answer, step=step, sampled=tokens((TASK,), answer) if with_tokens else None)
        for step, with_tokens in enumerate(told)
    ]
    for call in asked:
        await recorded(record, episode, call)
    longer = (TASK, answer, MORE)
    found = await recorded(record, episode, made(longer, said("z"), step=2, sampled=tokens(longer, said("z"))))
    assert (found.parent, found.by) == (None, None)
    assert found.candidates == tuple(sorted(call.id for call in asked))
    below = (*longer, said("z"), TASK)
    child = await recorded(record, episode, made(below, said("w"), step=3, sampled=tokens(below, said("w"))))
    assert (child.parent, child.by, child.candidates) == (found.id, Link.TOKENS, ())


async def test_a_template_that_drops_what_was_thought(record: Record, begin: Begin) -> None:
    """The messages go on, the tokens do not: the server renders the answer without the thoughts it drew."""
    episode, answer = await begin(()), said("x")
    thought = Sampled(prompt_ids=(5, 6), completion_ids=(90, 91, 7), logprobs=(-1.0,) * 3)
    first = await recorded(record, episode, made((TASK,), answer, sampled=thought))
    anew = Sampled(prompt_ids=(5, 6, 7, 8), completion_ids=(92,), logprobs=(-1.0,))
    second = await recorded(record, episode, made((TASK, answer, MORE), said("y"), step=1, sampled=anew))
    assert (second.parent, second.by) == (first.id, Link.MESSAGES)
    assert second.disagreement == Disagreement(call=first.id, shared=2, of=5)
    # A third whose tokens go on from the first, although its messages go on from the second.
    back = Sampled(prompt_ids=(5, 6, 90, 91, 7, 8, 9), completion_ids=(93,), logprobs=(-1.0,))
    messages = (TASK, answer, MORE, said("y"), TASK)
    third = await recorded(record, episode, made(messages, said("z"), step=2, sampled=back))
    assert (third.parent, third.by) == (first.id, Link.TOKENS)
    assert third.disagreement == Disagreement(call=second.id, shared=2, of=5)
    # And one whose messages were edited into what renders the same.
    edited = Sampled(prompt_ids=(5, 6, 90, 91, 7, 1), completion_ids=(94,), logprobs=(-1.0,))
    fourth = await recorded(record, episode, made((MORE, answer, MORE), said("v"), step=3, sampled=edited))
    assert (fourth.parent, fourth.by) == (first.id, Link.TOKENS)
    assert fourth.disagreement == Disagreement(call=None)


async def test_a_server_that_tells_drawn_tokens_alone_leaves_the_graph_to_messages(
    record: Record, begin: Begin
) -> None:
    episode, answer = await begin(()), said("x")
    drawn = Sampled(prompt_ids=(), completion_ids=(90, 7), logprobs=(-1.0, -1.0))
    first = await recorded(record, episode, made((TASK,), answer, sampled=drawn))
    second = await recorded(record, episode, made((TASK, answer, MORE), said("y"), step=1, sampled=drawn))
    assert (second.parent, second.by, second.disagreement) == (first.id, Link.MESSAGES, None)


def test_ids_of_tool_calls_tell_twins_apart() -> None:
    """Two calls drew the same tokens; their servers gave the tool calls different ids, and the messages name one."""
    sampled = Sampled(prompt_ids=(1, 2), completion_ids=(3,), logprobs=(-1.0,))
    call = Tokens.of(Sampled(prompt_ids=(1, 2, 3, 4), completion_ids=(5,), logprobs=(-1.0,)))
    one = Continued("mc_b", "m", "v", "t", 2, Tokens.of(sampled))
    fits = (Fit("mc_a", 2), Fit("mc_b", 2))
    assert decided(call, fits, Before(("mc_b",), 2, (), one)).parent == "mc_b"
    assert decided(call, fits, NOTHING).candidates == ("mc_a", "mc_b")


class Asked(NamedTuple):
    """How a call of a random tree is made: from which of those recorded, with what, and how long it takes."""

    parent: int
    words: list[str]
    answer: str | None
    told: bool
    lag: int


ASKED = st.builds(
    Asked,
    st.integers(0, 5),
    st.sampled_from((["a"], ["a"], ["b"], ["a", "b"])),
    st.sampled_from(("x", "x", "y", None)),
    st.booleans(),
    st.integers(0, 3),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=st.lists(ASKED, min_size=4, max_size=12))
async def test_the_graph_of_any_conversations_is_right(record: Record, begin: Begin, asked: list[Asked]) -> None:
    """Conversations that branch at random, of few words so that they collide, answered in another order than asked."""
    episode = await begin(())
    known: list[ModelCall] = []
    under_way: list[tuple[int, ModelCall, Before]] = []
    expected: dict[str, tuple[str | None, Link | None, tuple[str, ...]]] = {}

    def whole(call: ModelCall) -> tuple[Message | None, ...]:
        return (*call.messages, call.response)

    for step, how in enumerate(asked):
        answered = [call for call in known if call.response is not None]
        chosen = [None, *answered][how.parent % (len(answered) + 1)]
        before = () if chosen is None or chosen.response is None else (*chosen.messages, chosen.response)
        messages = (*before, *(Message(role="user", content=word) for word in how.words))
        answer = None if how.answer is None else said(how.answer)
        sampled = tokens(messages, answer) if how.told and answer is not None else None
        call = made(messages, answer, step=step, sampled=sampled)
        twins = () if chosen is None else tuple(each for each in answered if whole(each) == whole(chosen))
        if len(twins) == 1:
            by = Link.TOKENS if sampled is not None and twins[0].sampled is not None else Link.MESSAGES
            expected[call.id] = (twins[0].id, by, ())
        else:
            expected[call.id] = (None, None, tuple(sorted(each.id for each in twins)))
        _, continued = await record.model_calls.begin_chat(episode, messages)
        under_way.append((step + how.lag, call, continued))
        for entry in sorted(under_way, key=lambda each: each[0]):
            if entry[0] <= step or step == len(asked) - 1:
                await record.model_calls.add_chat(episode, entry[1], entry[2])
                under_way.remove(entry)
                known.append(entry[1])
    found = await record.model_calls.of_episode(episode, ())
    assert {call.id: (call.parent, call.by, call.candidates) for call in found} == expected
    assert {call.id: (whole(call), call.sampled) for call in found} == {
        call.id: (whole(call), call.sampled) for call in known
    }
    assert not any(call.disagreement for call in found)  # this template renders nothing anew


async def test_two_writers_at_once_find_the_same_parent(record: Record, begin: Begin) -> None:
    episode, answer = await begin(()), said("x")
    first = await recorded(record, episode, made((TASK,), answer, sampled=tokens((TASK,), answer)))
    longer = (TASK, answer, MORE)
    calls = [made(longer, said(text), step=1 + n, sampled=tokens(longer, said(text))) for n, text in enumerate("yz")]
    await asyncio.gather(*(recorded(record, episode, call) for call in calls))
    found = await record.model_calls.of_episode(episode, ())
    assert [call.parent for call in found] == [None, first.id, first.id]
