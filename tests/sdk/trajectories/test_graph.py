"""The graph of model calls: how it is shown, what is quarantined, and each branch as a row of its own."""

from hypothesis import given
from hypothesis import strategies as st

from practicum.contracts.episodes import EpisodeMode
from practicum.contracts.models import Attempt, Link, ModelCall, Sampled, Sampling
from practicum.contracts.trajectory import Trajectory, Use
from practicum.trajectories import explain, quarantined, token_rows
from tests.sdk.stand_in import NOW
from tests.sdk.trajectories.conftest import ANSWER, CALL, FIRST, SECOND, Recorded, model_call


def drawn(prompt: tuple[int, ...], completion: tuple[int, ...]) -> Sampled:
    return Sampled(prompt_ids=prompt, completion_ids=completion, logprobs=tuple(-0.5 for _ in completion))


def below(step: int, parent: ModelCall, given: tuple[int, ...], completion: tuple[int, ...]) -> ModelCall:
    """A call that goes on from another by its tokens."""
    assert parent.sampled is not None
    prompt = parent.sampled.prompt_ids + parent.sampled.completion_ids + given
    return model_call(step, drawn(prompt, completion), ANSWER, parent=parent.id, by=Link.TOKENS)


def fork() -> tuple[ModelCall, ...]:
    """A call gone on with twice, the second branch longer; and another agent."""
    first = model_call(0, drawn((1, 2), (3,)), ANSWER)
    left = below(1, first, (4,), (5,))
    right = below(2, first, (6,), (7,))
    further = below(3, right, (8,), (9,))
    other = model_call(4, drawn((20,), (21,)), ANSWER)
    return first, left, right, further, other


def test_each_branch_is_a_row_and_no_completion_is_learned_twice(recorded: Recorded) -> None:
    rows = token_rows(recorded(model_calls=fork()))
    assert [row.input_ids for row in rows] == [(1, 2, 3, 4, 5), (1, 2, 3, 6, 7, 8, 9), (20, 21)]
    assert [row.labels for row in rows] == [
        (-100, -100, 3, -100, 5),
        (-100, -100, -100, -100, 7, -100, 9),
        (-100, 21),
    ]
    assert [row.calls for row in rows] == [("m0", "m1"), ("m2", "m3"), ("m4",)]


def test_a_twin_is_not_taken_for_the_parent(recorded: Recorded) -> None:
    """Two calls drew the same; the second is gone on with, and its row is the one that grows."""
    one, other = (model_call(step, FIRST, CALL) for step in (0, 1))
    after = model_call(2, SECOND, ANSWER, parent=other.id, by=Link.TOKENS)
    assert [row.calls for row in token_rows(recorded(model_calls=(one, other, after)))] == [("m0",), ("m1", "m2")]


def test_what_is_quarantined_is_in_no_row_and_not_for_rl(recorded: Recorded) -> None:
    first, left, right, further, other = fork()
    right = right.model_copy(update={"parent": None, "by": None, "candidates": ("m0", "m9")})
    trajectory = recorded(model_calls=(first, left, right, further, other))
    assert quarantined(trajectory.model_calls) == {"m2", "m3"}
    assert [row.calls for row in token_rows(trajectory)] == [("m0", "m1"), ("m4",)]
    explained = explain(trajectory)
    against = {each.use: {reason.text: reason.call for reason in each.reasons} for each in explained.uses}
    assert against.pop(Use.RL) == {
        "a call could continue several others equally well": "m2",
        "a call continues one that could continue several": "m3",
    }
    assert not against[Use.SFT]
    assert not against[Use.PREFERENCE]
    assert {node.call: node.reasons for node in explained.calls if node.quarantined} == {
        "m2": ("rl: a call could continue several others equally well",),
        "m3": ("rl: a call continues one that could continue several",),
    }


def test_calls_stand_after_what_they_continue(recorded: Recorded) -> None:
    first, left, right, further, other = fork()
    failed = model_call(3, None, ANSWER, id="mx", standing=Attempt.FAILED, response=None, parent="m2", attempt=2)
    found = explain(recorded(model_calls=(other, further, failed, right, left, first))).calls
    assert [(node.call, node.depth, node.shared, node.given, node.drawn) for node in found] == [
        ("m0", 0, 0, 2, 1),
        ("m1", 1, 3, 1, 1),
        ("m2", 1, 3, 1, 1),
        ("mx", 2, None, None, None),
        ("m3", 1, 5, 1, 1),
        ("m4", 0, 0, 1, 1),
    ]


def test_a_parent_that_is_not_there_hides_no_call(recorded: Recorded) -> None:
    lost = model_call(0, FIRST, CALL, parent="gone", by=Link.MESSAGES)
    assert [node.call for node in explain(recorded(model_calls=(lost,))).calls] == ["m0"]


def test_reasons_say_which_call_they_are_about(recorded: Recorded) -> None:
    calls = (
        model_call(0, FIRST, CALL, constrained=True),
        model_call(1, SECOND, ANSWER, constrained=True, finish_reason="length", sampling=Sampling(temperature=0.0)),
    )
    found = {each.use: each for each in explain(recorded(model_calls=calls)).uses}
    assert [(reason.text, reason.call) for reason in found[Use.SFT].reasons] == [("a turn was cut off", "m1")]
    assert [(reason.text, reason.call) for reason in found[Use.RL].reasons] == [
        ("a grammar held the decoding", "m0"),
        ("a grammar held the decoding", "m1"),
        ("the temperature was 0", "m1"),
        ("top_p was not recorded", "m1"),
    ]


TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=3).map(tuple)


@given(st.lists(st.tuples(st.integers(0, 20), TOKENS, TOKENS), min_size=1, max_size=12))
def test_every_completion_of_any_tree_is_learned_once_in_its_own_context(
    grown: list[tuple[int, tuple[int, ...], tuple[int, ...]]],
) -> None:
    """Few different tokens, so that branches collide."""
    calls: list[ModelCall] = []
    for step, (parent, given_ids, completion) in enumerate(grown):
        chosen = [None, *calls][parent % (len(calls) + 1)]
        fresh = model_call(step, drawn(given_ids, completion), ANSWER)
        calls.append(fresh if chosen is None else below(step, chosen, given_ids, completion))
    trajectory = Trajectory(
        episode="ep1",
        task="t",
        model="local",
        mode=EpisodeMode.LIVE,
        messages=(),
        model_calls=tuple(calls),
        created=NOW,
    )
    rows, by_id = token_rows(trajectory), {call.id: call for call in calls}
    assert sorted(call for row in rows for call in row.calls) == sorted(by_id)
    for row in rows:
        last = by_id[row.calls[-1]].sampled
        assert last is not None
        assert row.input_ids == last.prompt_ids + last.completion_ids
        learned = [token for call in row.calls for token in (by_id[call].sampled or last).completion_ids]
        assert [label for label in row.labels if label != -100] == learned
