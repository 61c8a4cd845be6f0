"""Trajectories: what the gateway recorded of an episode, complete enough to train on."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from practicum.contracts.base import JsonObject, Value
from practicum.contracts.episodes import EpisodeMode, EpisodeResult
from practicum.contracts.messages import Message
from practicum.contracts.models import ModelCall
from practicum.contracts.tools import CallStatus, Compensation, Observation

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
        id: by which the audit log names it; None for a call that the gateway answered itself.
        compensates: the call that it undid, by its id.
    """

    key: str
    step: int
    call: int
    tool: str
    arguments: JsonObject
    observation: Observation
    started: datetime
    seconds: float
    id: str | None = None
    compensates: str | None = None


class CallRecord(Invocation):
    """One tool call as the ledger holds it, and what can be done about it.

    Attributes:
        principal: on whose behalf it was made.
        episode: the episode it belongs to.
        undo: the call that undoes it, as the present tools allow.
        note: why there is none.
        undone: how the latest try to undo it ended; None where nobody tried.
    """

    principal: str
    episode: str | None = None
    undo: Compensation | None = None
    note: str | None = None
    undone: CallStatus | None = None


class UndoRequest(Value):
    """A wish to undo a call.

    Attributes:
        key: idempotency key of the call.
        episode: the episode it belongs to, if it does.
        idempotency_key: of the call that undoes it; the gateway's own when absent, so that it is made once.
    """

    key: str = Field(min_length=1, max_length=200)
    episode: str | None = None
    idempotency_key: str | None = Field(default=None, min_length=1, max_length=200)


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
