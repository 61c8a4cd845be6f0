import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import Limits
from practicum.contracts.messages import Message
from practicum.contracts.models import Sampled
from practicum.contracts.tasks import Split, Task, Verdict
from practicum.contracts.tools import Observation
from practicum.errors import EpisodeError
from practicum.stages.advantages import advantages
from practicum.stages.groups import batch_of
from practicum.stages.lockstep import Played, play
from practicum.stages.practices import Practices
from tests.sdk.stages.clerk import Letters, Scripted, calls, clerk, says
from tests.sdk.stages.house import DONE, LAMPS_SUITE, SYSTEM, House, Lamps

LETTERS = Letters()
TRAIN = LAMPS_SUITE.tasks(Split.TRAIN)
DARKEN = next(task for task in TRAIN if task.family == "darken")
CHECK = next(task for task in TRAIN if task.family == "check")


def attempts(*tasks: Task, wrong: float = 0.5, suite: Lamps = LAMPS_SUITE) -> list[Played]:
    say = clerk({"darken": "house_on", "check": "house_on"}, wrong, 6)
    with Practices(suite, 8) as practices:
        limits = Limits(steps=4, errors_in_a_row=2)
        return list(play(suite, tasks, Scripted(say), practices, limits=limits, system=SYSTEM))


def test_only_what_the_policy_drew_is_trained() -> None:
    played = attempts(*[DARKEN] * 4, *[CHECK] * 4)
    batch = batch_of(played, 4)
    for row, one in zip(batch.rows, played, strict=True):
        assert len(row.ids) == len(row.trained) == len(row.logprobs)
        drawn = [token for token, counts in zip(row.ids, row.trained, strict=True) if counts]
        said = [message for message in one.trajectory.messages if message.role == "assistant"]
        assert drawn == [token for message in said for token in LETTERS.tokenise(LETTERS.codec.turn(message))]
        given = LETTERS.text([token for token, counts in zip(row.ids, row.trained, strict=True) if not counts])
        assert '{"room":' in given  # the tool's answer is there, and not trained
        assert {logprob for logprob, counts in zip(row.logprobs, row.trained, strict=True) if counts} == {-0.5}
        assert {logprob for logprob, counts in zip(row.logprobs, row.trained, strict=True) if not counts} == {0.0}
    assert batch.trained == sum(sum(row.trained) for row in batch.rows) > 0


def test_advantages_are_those_of_each_group() -> None:
    played = attempts(*[DARKEN] * 4, *[CHECK] * 4)
    rewards = [one.verdict.reward for one in played]
    assert {0.0, 1.0} == set(rewards[:4]) == set(rewards[4:])
    batch = batch_of(played, 4)
    worth = [row.advantage for row in batch.rows]
    assert worth == [*advantages(rewards[:4]), *advantages(rewards[4:])]
    assert batch.figures["groups_without_signal"] == 0.0
    assert batch.outcomes == {"darken": tuple(rewards[:4]), "check": tuple(rewards[4:])}
    assert batch.figures["reward"] == pytest.approx(sum(found or 0.0 for found in rewards) / 8)


class Fallen(House):
    """Every third house is not there when it is needed."""

    made = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).made += 1
        self._fallen = type(self).made % 3 == 0

    async def call(self, tool: str, arguments: JsonObject, key: str) -> Observation:
        if self._fallen:
            raise ConnectionError
        return await super().call(tool, arguments, key)


def test_a_lost_attempt_is_outside_baseline_and_loss() -> None:
    Fallen.made = 0
    played = attempts(*[DARKEN] * 8, suite=Lamps(house=Fallen))
    rewards = [one.verdict.reward for one in played]
    assert rewards[2] is rewards[5] is None
    batch = batch_of(played, 8)
    assert batch.figures["lost"] == 2
    for row, expected in zip(batch.rows, advantages(rewards), strict=True):
        assert row.advantage == (expected or 0.0)
        assert any(row.trained) == (expected is not None)


class ThirdFalls(House):
    """The third house falls apart at the first touch."""

    made = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).made += 1
        self._falls = type(self).made == 3

    async def call(self, tool: str, arguments: JsonObject, key: str) -> Observation:
        if self._falls:
            raise ConnectionError
        return await super().call(tool, arguments, key)


def test_one_failure_of_the_infrastructure_leaves_the_others_what_they_are_worth_by_hand() -> None:
    ThirdFalls.made = 0
    room = int(DARKEN.prompt.split()[1])
    turns = iter(
        [calls("house_off", room), calls("house_off", room), calls("house_off", room), calls("house_on", room)]
    )

    def say(conversation: str) -> Message:
        return says(DONE) if "tool\n" in conversation else next(turns)

    with Practices(Lamps(house=ThirdFalls), 4) as practices:
        limits = Limits(steps=4, errors_in_a_row=2)
        played = play(LAMPS_SUITE, [DARKEN] * 4, Scripted(say), practices, limits=limits, system=SYSTEM)
    assert [one.verdict.reward for one in played] == [1.0, 1.0, None, 0.0]

    batch = batch_of(played, 4)

    # The mean of 1, 1, 0 is 2/3, their sample deviation sqrt(((1/3)**2 + (1/3)**2 + (2/3)**2) / 2) = 0.57735, and TRL
    # adds 0.0001 to it. A zero in the third's place would give 0.8660, 0.8660, -0.8660, -0.8660.
    assert [row.advantage for row in batch.rows] == pytest.approx([0.57725, 0.57725, 0.0, -1.15450], abs=1e-5)
    assert [any(row.trained) for row in batch.rows] == [True, True, False, True]
    assert (batch.figures["lost"], batch.figures["reward"]) == (1.0, pytest.approx(2 / 3))
    assert batch.outcomes == {"darken": (1.0, 1.0, 0.0)}


def test_a_group_without_a_difference_is_not_trained() -> None:
    batch = batch_of(attempts(*[DARKEN] * 4, *[CHECK] * 4, wrong=0.0), 4)
    assert batch.trained == 0
    assert {row.advantage for row in batch.rows} == {0.0}
    assert batch.figures["groups_without_signal"] == 1.0


def test_an_attempt_that_was_lost_before_it_began_keeps_the_shape() -> None:
    bad = DARKEN.model_copy(update={"start": {"shed": {}}})
    batch = batch_of(attempts(bad, DARKEN, DARKEN, DARKEN), 4)
    assert batch.rows[0].ids == (0, 0)
    assert not any(batch.rows[0].trained)
    assert len(batch.rows) == 4


def test_groups_are_of_one_task() -> None:
    with pytest.raises(EpisodeError, match="different tasks are in one group"):
        batch_of(attempts(DARKEN, CHECK), 2)
    with pytest.raises(EpisodeError, match="make no groups of 2"):
        batch_of(attempts(DARKEN), 2)


def _with_prompt(one: Played, prompt: tuple[int, ...], call: int) -> Played:
    """The attempt with other tokens before one of its turns."""
    changed = list(one.trajectory.model_calls)
    sampled = changed[call].sampled
    assert sampled is not None
    other = Sampled(prompt_ids=prompt, completion_ids=sampled.completion_ids, logprobs=sampled.logprobs)
    changed[call] = changed[call].model_copy(update={"sampled": other})
    record = one.trajectory.model_copy(update={"model_calls": tuple(changed)})
    return Played(one.task, record, Verdict(reward=one.verdict.reward))


def test_a_group_that_began_differently_is_refused() -> None:
    first, second = attempts(DARKEN, DARKEN)
    with pytest.raises(EpisodeError, match="began with different tokens"):
        batch_of([first, _with_prompt(second, (1, 2, 3), 0)], 2)


def test_a_conversation_that_does_not_continue_is_refused() -> None:
    first, second = attempts(DARKEN, DARKEN, wrong=0.5)
    with pytest.raises(EpisodeError, match="make 2 rows"):
        batch_of([first, _with_prompt(second, (1, 2, 3), 1)], 2)
