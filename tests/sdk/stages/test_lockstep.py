from collections.abc import Callable

import pytest

from practicum.codecs.codec import text_of
from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import Cause, EpisodeStatus, Limits
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tasks import Split, Task
from practicum.contracts.tools import CallStatus, Observation
from practicum.contracts.trajectory import Use
from practicum.errors import ConfigurationError
from practicum.stages.lockstep import Played, play
from practicum.stages.practices import Practices
from practicum.trajectories import token_rows
from tests.sdk.stages.clerk import Letters, Scripted, calls, clerk, says
from tests.sdk.stages.house import LAMPS_SUITE, SYSTEM, TOOLS, House, Lamps

LIMITS = Limits(steps=4, errors_in_a_row=2)
TASKS = LAMPS_SUITE.tasks(Split.TRAIN)[:7]
LETTERS = Letters()


def played(
    say: Callable[[str], Message | str],
    tasks: tuple[Task, ...] = TASKS,
    *,
    limits: Limits = LIMITS,
    seats: int = 3,
    suite: Lamps = LAMPS_SUITE,
) -> tuple[Played, ...]:
    with Practices(suite, seats) as practices:
        return play(suite, tasks, Scripted(say), practices, limits=limits, system=SYSTEM)


def heard(one: Played) -> list[str | None]:
    return [message.content for message in one.trajectory.messages if message.role == "tool"]


def test_tasks_come_back_in_order_and_solved() -> None:
    found = played(clerk({}, 0.0, 1))
    assert [one.task for one in found] == list(TASKS)
    assert [one.verdict.reward for one in found] == [1.0] * 7
    assert len({one.trajectory.episode for one in found}) == 7
    assert {one.trajectory.reward for one in found} == {1.0}


def test_the_record_is_what_the_gateway_would_write() -> None:
    record = played(clerk({}, 0.0, 1))[0].trajectory
    assert [message.role for message in record.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert record.metadata == {"suite": "lamps", "task": "lamps.light.10", "split": "train", "family": "light"}
    first, second = record.model_calls
    assert (first.finish_reason, second.finish_reason) == ("tool_calls", "stop")
    assert second.messages == record.messages[:-1]
    assert second.parent == first.id
    assert {use.use for use in record.uses if use.eligible} == {Use.SFT, Use.PREFERENCE, Use.PIVOT, Use.RL}
    (invocation,) = record.invocations
    assert (invocation.tool, invocation.arguments) == ("house_on", {"room": 10})
    assert record.result is not None
    assert record.result.usage == first.usage + second.usage


def test_the_tokens_decoded_are_the_conversation_as_the_codec_writes_it() -> None:
    for one in played(clerk({"darken": "house_on"}, 0.5, 2)):
        (row,) = token_rows(one.trajectory)
        following = text_of(LETTERS.codec.suffix(Message(role="assistant"), (), ended=LETTERS.codec.stops[0]))
        assert LETTERS.whole(row.input_ids) + following == text_of(LETTERS.codec.render(one.trajectory.messages, TOOLS))


def test_what_cannot_be_called_is_told_in_the_words_of_production() -> None:
    def say(conversation: str) -> Message:
        if "no tool 'fly'" in conversation:
            return says("done")
        return Message(
            role="assistant",
            tool_calls=(
                ToolCall(id="a", name="fly", arguments={}),
                ToolCall(id="b", name="", arguments={}, malformed="<tool_call>{</tool_call>"),
                ToolCall(id="c", name="house_on", arguments={"room": 10}),
            ),
        )

    one = played(say, TASKS[:1], limits=Limits(steps=4, calls_per_step=2))[0]
    unknown, malformed, beyond = heard(one)
    assert unknown == "There is no tool 'fly'. Call one of these: house_dim, house_look, house_off, house_on."
    assert (malformed or "").startswith("This call could not be read: ")
    assert (beyond or "").startswith("This call was not made: a turn may have 2 calls at most.")
    assert one.verdict.reward == 0.0
    assert [message.tool_call_id for message in one.trajectory.messages if message.role == "tool"] == [
        call.id for message in one.trajectory.messages for call in message.tool_calls
    ]


def test_a_task_offers_only_its_tools() -> None:
    task = TASKS[0].model_copy(update={"tools": ("house.look",)})
    one = played(lambda text: says("done") if "There is no tool" in text else calls("house_off", 10), (task,))[0]
    assert heard(one) == ["There is no tool 'house_off'. Call one of these: house_look."]
    assert len(one.trajectory.tools) == 1


def test_whoever_is_stuck_is_ended_by_its_own_doing() -> None:
    one = played(lambda _: calls("house_off", 99), TASKS[:1])[0]
    assert one.trajectory.result is not None
    assert (one.trajectory.result.status, one.trajectory.result.cause) == (EpisodeStatus.EXHAUSTED, Cause.POLICY)
    assert len(one.trajectory.model_calls) == LIMITS.errors_in_a_row
    assert one.verdict.reward == 0.0


def test_half_a_turn_is_no_answer() -> None:
    one = played(lambda _: "don", TASKS[:1])[0]
    assert one.trajectory.result is not None
    assert (one.trajectory.result.status, one.trajectory.result.cause) == (EpisodeStatus.EXHAUSTED, Cause.BUDGET)
    assert one.trajectory.result.answer is None
    assert one.trajectory.model_calls[0].finish_reason == "length"
    assert one.verdict.reward == 0.0


def test_a_turn_cut_off_within_a_call_is_closed_by_what_follows() -> None:
    def say(conversation: str) -> Message | str:
        return says("done") if "could not be read" in conversation else '<tool_call>{"name":"house_off","argu'

    record = played(say, TASKS[:1])[0].trajectory
    (row,) = token_rows(record)
    assert LETTERS.codec.stops[0] not in LETTERS.text(row.input_ids)
    stop = LETTERS.tokenise(LETTERS.codec.turn(says("")))[-1]
    ends = [label for token, label in zip(row.input_ids, row.labels, strict=True) if token == stop]
    assert ends == [-100, -100, -100, -100, stop]  # system, user, the cut turn, its answer; the last the model drew


def test_a_full_context_ends_the_episode_by_its_own_doing() -> None:
    sampler = Scripted(lambda _: calls("house_look", 10))
    sampler.context = 400
    with Practices(LAMPS_SUITE, 1) as practices:
        one = play(LAMPS_SUITE, TASKS[:1], sampler, practices, limits=Limits(steps=9), system=SYSTEM)[0]
    assert one.trajectory.result is not None
    assert one.trajectory.result.cause is Cause.BUDGET
    assert "context of 400 tokens is full" in (one.trajectory.result.reason or "")
    assert one.verdict.reward == 0.0


class Fragile(House):
    """A house that falls apart when somebody looks into room 12."""

    async def call(self, tool: str, arguments: JsonObject, key: str) -> Observation:
        if arguments["room"] == 12:
            raise ConnectionError("it fell apart")
        return await super().call(tool, arguments, key)


class Waiting(House):
    """A house in which everything asks a person first."""

    async def call(self, tool: str, arguments: JsonObject, key: str) -> Observation:
        return (await super().call(tool, arguments, key)).model_copy(update={"status": CallStatus.WAITING})


def test_infrastructure_that_fails_earns_nothing_and_hurts_nobody_else() -> None:
    tasks = LAMPS_SUITE.tasks(Split.TRAIN)[:12]
    found = played(clerk({}, 0.0, 1), tasks, suite=Lamps(house=Fragile), seats=4)
    lost = [one for one in found if one.task.id.endswith(".12")]
    assert len(lost) == 3
    for one in lost:
        assert one.verdict.reward is None
        assert one.trajectory.reward is None
        assert one.trajectory.result is not None
        assert one.trajectory.result.cause is Cause.INFRASTRUCTURE
    assert {one.verdict.reward for one in found if one not in lost} == {1.0}


def test_a_call_that_waits_for_a_person_is_no_failure_of_the_policy() -> None:
    one = played(clerk({}, 0.0, 1), TASKS[:1], suite=Lamps(house=Waiting))[0]
    assert one.verdict.reward is None
    assert one.trajectory.result is not None
    assert one.trajectory.result.cause is Cause.PERSON


def test_a_start_state_that_is_refused_leaves_an_empty_record() -> None:
    bad = TASKS[0].model_copy(update={"start": {"shed": {}}})
    found = played(clerk({}, 0.0, 1), (bad, TASKS[1]))
    assert found[0].verdict.reward is None
    assert found[0].trajectory.model_calls == ()
    assert found[1].verdict.reward == 1.0


def test_a_limit_that_cannot_be_held_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no clock"):
        played(clerk({}, 0.0, 1), limits=Limits(seconds=5))
