"""Trajectories: what the gateway recorded of an episode, complete enough to train on."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from practicum.contracts.base import JsonObject, Value
from practicum.contracts.episodes import EpisodeMode, EpisodeResult
from practicum.contracts.messages import Message
from practicum.contracts.models import ModelCall
from practicum.contracts.tools import Observation

TRAJECTORY_FORMAT = "practicum-trajectory/1"


class Use(StrEnum):
    """What a trajectory can be trained with."""

    SFT = "sft"
    PREFERENCE = "preference"
    PIVOT = "pivot"
    RL = "rl"


class Eligibility(Value):
    """Whether a trajectory qualifies for a use, and why not."""

    use: Use
    eligible: bool
    reasons: tuple[str, ...] = ()


class Invocation(Value):
    """One tool call as it was made.

    Attributes:
        key: idempotency key under which it was made once.
        step: the episode's step.
        call: index within the step.
        tool: exposed tool name.
        arguments: what was sent, secrets redacted.
        observation: what the model was told.
        started: when the gateway took it up.
        seconds: wall seconds it took, waiting for people not counted.
    """

    key: str
    step: int
    call: int
    tool: str
    arguments: JsonObject
    observation: Observation
    started: datetime
    seconds: float


class Reward(Value):
    """A verdict and where it came from."""

    reward: float | None
    source: str
    reason: str | None = None


class Trajectory(Value):
    """The record of one episode.

    Attributes:
        format: version of this record's form.
        episode: the episode's id.
        task: what was asked.
        model: alias it ran with.
        mode: live or training.
        messages: the accepted conversation from system message to final answer.
        tools: OpenAI-style definitions that were offered.
        model_calls: every attempt, accepted or not.
        invocations: every tool call.
        result: how it ended; None while it runs.
        rewards: verdicts, latest last.
        uses: what it qualifies for.
        metadata: the caller's labels.
        created: when it began.
        ended: when it ended.
    """

    format: Literal["practicum-trajectory/1"] = TRAJECTORY_FORMAT
    episode: str
    task: str
    model: str
    mode: EpisodeMode
    messages: tuple[Message, ...]
    tools: tuple[JsonObject, ...] = ()
    model_calls: tuple[ModelCall, ...] = ()
    invocations: tuple[Invocation, ...] = ()
    result: EpisodeResult | None = None
    rewards: tuple[Reward, ...] = ()
    uses: tuple[Eligibility, ...] = ()
    metadata: dict[str, str] = Field(default_factory=dict)
    created: datetime
    ended: datetime | None = None

    @property
    def reward(self) -> float | None:
        """The latest verdict."""
        return self.rewards[-1].reward if self.rewards else None
