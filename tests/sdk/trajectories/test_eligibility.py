"""What a trajectory is good for, and the reasons against the rest."""

from typing import Any

import pytest

from practicum.contracts.episodes import Cause, EpisodeResult, EpisodeStatus
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import Attempt, Sampling
from practicum.contracts.trajectory import Reward, Trajectory, Use
from practicum.trajectories import accepted_calls, uses
from tests.sdk.trajectories.conftest import ANSWER, CALL, FIRST, RESULT, SECOND, SYSTEM, TASK, Recorded, model_call


def against(trajectory: Trajectory) -> dict[Use, tuple[str, ...]]:
    found = uses(trajectory)
    assert [each.use for each in found] == list(Use)
    assert all(each.eligible == (not each.reasons) for each in found)
    return {each.use: each.reasons for each in found}


def ended(status: EpisodeStatus, cause: Cause) -> EpisodeResult:
    return EpisodeResult(status=status, cause=cause)


def test_a_right_trajectory_is_good_for_everything(recorded: Recorded) -> None:
    assert against(recorded()) == dict.fromkeys(Use, ())


@pytest.mark.parametrize(
    ("changes", "reason", "spared"),
    [
        ({"result": None}, "it has not ended", ()),
        ({"result": ended(EpisodeStatus.FAILED, Cause.INFRASTRUCTURE)}, "infrastructure ended it", ()),
        ({"result": ended(EpisodeStatus.FAILED, Cause.SYSTEM)}, "a connected system ended it", ()),
        ({"result": ended(EpisodeStatus.CANCELLED, Cause.PERSON)}, "a person ended it", ()),
        ({"result": ended(EpisodeStatus.FAILED, Cause.POLICY)}, "it ended as failed", ()),
        (
            {"result": ended(EpisodeStatus.EXHAUSTED, Cause.BUDGET)},
            "a limit ended it before its answer",
            (Use.PREFERENCE, Use.PIVOT, Use.RL),
        ),
        ({"rewards": ()}, "nobody gave a verdict", (Use.SFT,)),
        ({"rewards": (Reward(reward=None, source="judge"),)}, "its latest verdict gives no reward", ()),
        ({"rewards": (Reward(reward=0.0, source="judge"),)}, "its reward is 0", (Use.PREFERENCE, Use.RL)),
        ({"messages": (SYSTEM, TASK, CALL, RESULT)}, "it has no final answer", (Use.PREFERENCE, Use.PIVOT, Use.RL)),
        ({"messages": (SYSTEM, TASK, CALL, ANSWER)}, "a call has no answer", (Use.PREFERENCE, Use.PIVOT, Use.RL)),
    ],
)
def test_reasons_and_the_uses_they_spare(
    recorded: Recorded, changes: dict[str, Any], reason: str, spared: tuple[Use, ...]
) -> None:
    found = against(recorded(**changes))
    assert {use for use, reasons in found.items() if not reasons} == set(spared)
    assert all(reason in reasons for use, reasons in found.items() if use not in spared)


def test_a_malformed_call_is_not_imitated(recorded: Recorded) -> None:
    broken = Message(role="assistant", tool_calls=(ToolCall(id="c1", name="", arguments={}, malformed="{oops"),))
    calls = (model_call(0, FIRST, broken), model_call(1, SECOND, ANSWER))
    found = against(recorded(messages=(SYSTEM, TASK, broken, RESULT, ANSWER), model_calls=calls))
    assert found == {
        Use.SFT: ("a call could not be read",),
        Use.PREFERENCE: (),
        Use.PIVOT: ("it holds no tool call",),
        Use.RL: (),
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sampled": None}, "no token ids were recorded"),
        ({"sampled": SECOND.model_copy(update={"completion_ids": ()})}, "no token ids were recorded"),
        (
            {"sampled": SECOND.model_copy(update={"prompt_ids": ()})},
            "token ids of a prompt are missing: the server told only those that it drew",
        ),
        ({"candidates": ("m0", "mx")}, "a call could continue several others equally well"),
        ({"sampled": SECOND.model_copy(update={"logprobs": ()})}, "logprobs are missing"),
        ({"constrained": True}, "a grammar held the decoding"),
        ({"sampling": Sampling(temperature=0.0, top_p=1.0)}, "the temperature was 0"),
        ({"sampling": Sampling(temperature=0.7, top_p=0.95)}, "top_p was 0.95"),
        ({"sampling": Sampling(top_p=1.0)}, "the temperature was not recorded"),
        ({"sampling": Sampling(temperature=1.0)}, "top_p was not recorded"),
        ({"version": "smol@2"}, "several model versions answered"),
    ],
)
def test_tokens_that_were_not_drawn_freely_are_not_for_rl(
    recorded: Recorded, changes: dict[str, Any], reason: str
) -> None:
    calls = (model_call(0, FIRST, CALL), model_call(1, SECOND, ANSWER, **changes))
    found = against(recorded(model_calls=calls))
    assert found.pop(Use.RL) == (reason,)
    assert set(found.values()) == {()}


def test_a_turn_that_was_cut_off_is_not_imitated(recorded: Recorded) -> None:
    calls = (model_call(0, FIRST, CALL), model_call(1, SECOND, ANSWER, finish_reason="length"))
    found = against(recorded(model_calls=calls))
    assert found[Use.SFT] == ("a turn was cut off",)
    assert found[Use.RL] == ()


def test_only_accepted_attempts_count(recorded: Recorded) -> None:
    rejected = model_call(0, None, CALL, standing=Attempt.SUPERSEDED, constrained=True, version="other")
    calls = (model_call(1, SECOND, ANSWER), rejected, model_call(0, FIRST, CALL))
    trajectory = recorded(model_calls=calls)
    assert [call.step for call in accepted_calls(trajectory)] == [0, 1]
    assert against(trajectory)[Use.RL] == ()
    assert against(recorded(model_calls=(rejected,)))[Use.RL] == ("no model call was accepted",)


def test_an_empty_record_is_good_for_nothing(recorded: Recorded) -> None:
    found = against(recorded(messages=(), model_calls=(), result=None, rewards=()))
    assert all(found.values())
    assert "the model said nothing" in found[Use.PREFERENCE]
