"""Evaluations: how well a model does on a fixed set of tasks, every number with what it rests on."""

from datetime import datetime
from typing import Literal, Self

from pydantic import Field, model_validator

from practicum.contracts.base import Value
from practicum.contracts.episodes import Cause, EpisodeStatus, Limits
from practicum.contracts.models import Sampling, Usage
from practicum.contracts.tasks import Split


class Estimate(Value):
    """A share with what it rests on.

    Attributes:
        n: how many were counted.
        value: the share, from 0 to 1; None when nothing was counted.
        low: lower bound of its 95% interval.
        high: upper bound.
    """

    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None


class EvaluationPlan(Value):
    """What is evaluated and how; the same plan can be gone on with after an interruption.

    Attributes:
        format: version of this record's form.
        id: identifies the evaluation; its episodes bear it as the label `evaluation`.
        suite: name of the suite.
        suite_digest: SHA-256 of the suite's tasks.
        split: which side of the line its tasks are on.
        limit: how many of the split's tasks, from the first; None for all.
        model: alias of the model.
        version: what answered behind the alias.
        k: attempts at each task.
        limits: what an episode may spend.
        sampling: overrides of the model's defaults.
        seed: from it each attempt gets a seed of its own, the same whatever the model; None leaves it to the provider.
        created: when it began.
    """

    format: Literal["practicum-evaluation/1"] = "practicum-evaluation/1"
    id: str
    suite: str
    suite_digest: str
    split: Split
    limit: int | None = Field(default=None, ge=1)
    model: str
    version: str
    k: int = Field(ge=1, le=100)
    limits: Limits = Limits()
    sampling: Sampling = Sampling()
    seed: int | None = None
    created: datetime


class AttemptResult(Value):
    """What came of one attempt at a task.

    Attributes:
        task: id of the task.
        family: its kind.
        attempt: which attempt at this task, from 0.
        episode: id of the episode.
        reward: the verdict; None when the policy could not have caused the ending, or when it could not be told.
        differences: what the verifier found wrong, or why there is no reward.
        status: how the episode ended.
        cause: who could have caused that.
        steps: model turns taken.
        usage: tokens of these turns.
        seconds: wall seconds from its start to its end.
    """

    task: str
    family: str
    attempt: int
    episode: str
    reward: float | None
    differences: tuple[str, ...] = ()
    status: EpisodeStatus
    cause: Cause
    steps: int
    usage: Usage = Usage()
    seconds: float


class TaskResult(Value):
    """What came of all attempts at a task.

    Attributes:
        task: id of the task.
        family: its kind.
        rewards: verdict of each attempt, in order; None where there is none.
        episodes: id of each attempt's episode, in the same order.
    """

    task: str
    family: str
    rewards: tuple[float | None, ...]
    episodes: tuple[str, ...]


class EvaluationReport(EvaluationPlan):
    """What an evaluation found.

    Attributes:
        results: what came of each task.
        success: share of scored attempts that earned the whole reward; `n` counts attempts, the interval knows that
            attempts at one task are alike.
        pass_at_k: share of tasks that at least one of `k` attempts solved; `n` counts tasks.
        pass_hat_k: share of tasks that all of `k` attempts solved, pass^k; `n` counts tasks.
        unscored: attempts without a reward; they are in no share.
        families: `success` for each kind of task.
        endings: how many attempts ended in each way.
        usage: tokens of all attempts together.
        seconds: wall seconds of all attempts, added up.
    """

    results: tuple[TaskResult, ...]
    success: Estimate
    pass_at_k: Estimate
    pass_hat_k: Estimate
    unscored: int
    families: dict[str, Estimate]
    endings: dict[EpisodeStatus, int]
    usage: Usage
    seconds: float


class Comparison(Value):
    """Two evaluations of the same tasks, paired task by task.

    Attributes:
        baseline: id of the evaluation that is compared with.
        candidate: id of the evaluation that is to be better.
        suite: name of the suite.
        suite_digest: SHA-256 of its tasks.
        split: which side of the line the tasks are on.
        n: tasks that both scored; only these are compared.
        baseline_success: mean over these tasks of the baseline's share of successful attempts.
        candidate_success: the candidate's.
        difference: candidate minus baseline.
        low: lower bound of the difference's 95% interval.
        high: upper bound.
        improved: tasks at which the candidate succeeded more often.
        worsened: tasks at which it succeeded less often.
        better: whether the whole interval is above zero.
        notes: what besides the model differed between the two.
    """

    baseline: str
    candidate: str
    suite: str
    suite_digest: str
    split: Split
    n: int = Field(ge=1)
    baseline_success: float
    candidate_success: float
    difference: float
    low: float
    high: float
    improved: int
    worsened: int
    better: bool
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _says_what_its_interval_says(self) -> Self:
        if self.better != (self.low > 0):
            raise ValueError("better must say whether low is above 0")
        return self
