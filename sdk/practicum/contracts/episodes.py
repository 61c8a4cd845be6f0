"""Episodes: one durable run of an agent on one task, as references that are safe in a workflow's history."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue

from practicum.contracts.base import Label, Value
from practicum.contracts.models import Sampling, Usage
from practicum.contracts.tasks import States
from practicum.contracts.tools import CallStatus

MOST_STEPS = 10_000
"""The most turns that any episode may have."""


class Limits(Value):
    """What an episode may spend.

    Attributes:
        steps: model turns.
        calls_per_step: tool calls in one turn; more are answered as refused.
        errors_in_a_row: consecutive turns whose every call failed, after which it ends as stuck.
        tokens: prompt and completion tokens together; None for no bound.
        seconds: wall seconds, waiting for people not counted; None for no bound.
    """

    steps: int = Field(default=12, ge=1, le=MOST_STEPS)
    calls_per_step: int = Field(default=8, ge=1, le=64)
    errors_in_a_row: int = Field(default=3, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    seconds: float | None = Field(default=None, gt=0)


class EpisodeMode(StrEnum):
    """What the episode is for; training never touches a live connector."""

    LIVE = "live"
    TRAINING = "training"


class Driver(StrEnum):
    """Who drives the episode."""

    TEMPORAL = "temporal"
    """A durable workflow."""
    CLIENT = "client"
    """The caller: the in-process driver, a trainer, or an agent of another framework."""


class EpisodeRequest(Value):
    """A wish to run an agent on a task.

    Attributes:
        task: what to do, in words.
        model: alias of the model, or `alias@version` for a version of it that is not the current one.
        tools: glob patterns over `connector.operation`; empty offers none.
        limits: what it may spend.
        sampling: overrides of the model's defaults.
        driver: who drives it.
        mode: live or training.
        idempotency_key: a repeated key returns the first episode.
        metadata: the caller's own labels, such as suite, task id and split; kept with the trajectory.
        start: what the practice systems hold at the start, by system; only for training, live systems stay as they are.
        fallback: whether the fallbacks that the alias has now may answer where its model cannot; never in training,
            whose episodes are of one policy.
    """

    task: str = Field(min_length=1, max_length=100_000)
    model: str
    tools: tuple[str, ...] = ()
    limits: Limits = Limits()
    sampling: Sampling = Sampling()
    driver: Driver = Driver.TEMPORAL
    mode: EpisodeMode = EpisodeMode.LIVE
    idempotency_key: str | None = Field(default=None, min_length=1, max_length=200)
    metadata: dict[Label, Label] = Field(default_factory=dict)
    start: States = Field(default_factory=dict)
    fallback: bool = False


class EpisodeStatus(StrEnum):
    """Where an episode stands."""

    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    """The agent gave its final answer."""
    EXHAUSTED = "exhausted"
    """A limit ended it."""
    FAILED = "failed"
    """Something outside the agent ended it."""
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self not in (EpisodeStatus.RUNNING, EpisodeStatus.WAITING)


class Cause(StrEnum):
    """Who could have caused an ending; decides whether a reward is trustworthy."""

    POLICY = "policy"
    SYSTEM = "system"
    INFRASTRUCTURE = "infrastructure"
    PERSON = "person"
    BUDGET = "budget"

    @property
    def by_policy(self) -> bool:
        """Whether the policy could have caused it: only then does a reward say anything of it.

        A spent budget counts as its own doing, else a policy would learn to dawdle.
        """
        return self in (Cause.POLICY, Cause.BUDGET)


class EpisodeResult(Value):
    """How an episode ended.

    Attributes:
        status: one of the ended states.
        cause: who could have caused it.
        answer: the agent's final text, if it gave one.
        reason: why it ended otherwise, in words.
        steps: model turns taken.
        usage: tokens of the accepted turns.
    """

    status: EpisodeStatus
    cause: Cause
    answer: str | None = None
    reason: str | None = None
    steps: int = 0
    usage: Usage = Usage()


class Episode(Value):
    """An episode as it may be shown.

    `version` is the version that stood behind the alias when it began; it keeps that one to its end.
    """

    id: str
    task: str
    model: str
    tools: tuple[str, ...]
    limits: Limits
    driver: Driver
    mode: EpisodeMode
    status: EpisodeStatus
    principal: str
    created: datetime
    ended: datetime | None = None
    result: EpisodeResult | None = None
    reward: float | None = None
    metadata: dict[str, str] = Field(default_factory=dict)
    version: str | None = None


class EpisodeStart(Value):
    """All that a workflow is given to begin with: references and numbers, no conversation.

    Attributes:
        episode: the episode.
        limits: what it may spend.
        tenant: whose it is; None for the main tenant's.
    """

    episode: str
    limits: Limits
    tenant: str | None = None


class TurnRequest(Value):
    """The driver asks for the model turn of one step; a repeated step returns the accepted turn."""

    step: int = Field(ge=0, le=MOST_STEPS)
    attempt: int = Field(default=1, ge=1, le=1_000)


class CallReference(Value):
    """A call that a turn asks for: enough to drive it, nothing of what it says."""

    index: int
    tool: str
    malformed: bool = False


class TurnReceipt(Value):
    """What a driver learns of a model turn.

    Attributes:
        step: the step.
        calls: the calls it asks for, in order; none means that the turn is the final answer.
        usage: tokens of the turn.
        truncated: whether the turn was cut off at `max_tokens`.
    """

    step: int
    calls: tuple[CallReference, ...] = ()
    usage: Usage = Usage()
    truncated: bool = False


class InvokeRequest(Value):
    """The driver asks for one call of an accepted turn to be made, once."""

    step: int = Field(ge=0, le=MOST_STEPS)
    call: int = Field(ge=0, le=MOST_STEPS)


class CallReceipt(Value):
    """What a driver learns of a call.

    Attributes:
        step: the step.
        call: the index of the call within the step.
        status: how it stands.
        approval: the approval it waits for, while it waits.
        arguments_hash: what that approval is bound to.
    """

    step: int
    call: int
    status: CallStatus
    approval: str | None = None
    arguments_hash: str | None = None


class ApprovalDecision(Value):
    """The update by which a waiting workflow learns that an approval was answered."""

    approval: str
    approved: bool
    arguments_hash: str


class RewardRequest(Value):
    """A verdict from outside.

    Attributes:
        reward: the reward; None when the policy could not have caused the failure.
        source: which verifier or person gave it.
        reason: why.
    """

    reward: float | None
    source: str = Field(min_length=1, max_length=200)
    reason: str | None = None


EventType = Literal[
    "episode.started",
    "turn.started",
    "turn.finished",
    "turn.failed",
    "call.started",
    "call.finished",
    "approval.requested",
    "approval.decided",
    "episode.ended",
]


class EpisodeEvent(Value):
    """One thing that happened, in order; `sequence` is where a reader can resume.

    Attributes:
        sequence: position in the episode, from 1.
        episode: the episode.
        at: when.
        type: what kind of thing.
        step: the step it belongs to.
        data: what a person would want to see of it: the message, the call, the observation, the result.
    """

    sequence: int
    episode: str
    at: datetime
    type: EventType
    step: int | None = None
    data: dict[str, JsonValue] = Field(default_factory=dict)
