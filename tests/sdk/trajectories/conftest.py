"""Trajectories to work on: one that is right in every way, and how to change it."""

from datetime import timedelta
from typing import Any, Protocol

import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import Cause, EpisodeMode, EpisodeResult, EpisodeStatus
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.models import ModelCall, Sampled, Sampling
from practicum.contracts.trajectory import Reward, Trajectory
from tests.sdk.stand_in import NOW

SYSTEM = Message(role="system", content="You are an agent.")
TASK = Message(role="user", content="Refund order 1042.")
CALL = Message(
    role="assistant",
    tool_calls=(ToolCall(id="c1", name="erp_refund", arguments={"order": 1042, "note": None, "text": "„Größe“"}),),
)
RESULT = Message(role="tool", content='{"refunded": true}', tool_call_id="c1")
ANSWER = Message(role="assistant", content="Refunded.")
TOOL: JsonObject = {"type": "function", "function": {"name": "erp_refund", "parameters": {"type": "object"}}}

FIRST = Sampled(prompt_ids=(1, 2, 3), completion_ids=(10, 11), logprobs=(-0.1, -0.2))
SECOND = Sampled(prompt_ids=(1, 2, 3, 10, 11, 4, 5), completion_ids=(12,), logprobs=(-0.3,))


def model_call(step: int, sampled: Sampled | None, response: Message, /, **changes: Any) -> ModelCall:
    """An accepted call of a step."""
    call = ModelCall(
        id=f"m{step}",
        step=step,
        model="local",
        version="smol@1",
        messages=(SYSTEM, TASK),
        sampling=Sampling(temperature=1.0, top_p=1.0),
        response=response,
        finish_reason="stop",
        sampled=sampled,
        template_hash="t" * 64,
        started=NOW + timedelta(seconds=step),
        seconds=1,
    )
    return call.model_copy(update=changes)


class Recorded(Protocol):
    def __call__(self, **changes: Any) -> Trajectory: ...


@pytest.fixture
def recorded() -> Recorded:
    """Makes the right trajectory with some fields changed."""

    def make(**changes: Any) -> Trajectory:
        trajectory = Trajectory(
            episode="ep1",
            task="Refund order 1042.",
            model="local",
            mode=EpisodeMode.LIVE,
            messages=(SYSTEM, TASK, CALL, RESULT, ANSWER),
            tools=(TOOL,),
            model_calls=(model_call(0, FIRST, CALL), model_call(1, SECOND, ANSWER)),
            result=EpisodeResult(status=EpisodeStatus.COMPLETED, cause=Cause.POLICY, answer="Refunded.", steps=2),
            rewards=(Reward(reward=1.0, source="verifier"),),
            created=NOW,
            ended=NOW,
        )
        return trajectory.model_copy(update=changes)

    return make
