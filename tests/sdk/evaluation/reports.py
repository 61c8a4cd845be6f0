"""Reports made from rewards."""

from collections.abc import Sequence
from typing import Any

from practicum.contracts.episodes import Cause, EpisodeStatus
from practicum.contracts.evaluation import AttemptResult, EvaluationPlan, EvaluationReport
from practicum.contracts.models import Usage
from practicum.contracts.tasks import Split
from practicum.evaluation import summarise
from tests.sdk.stand_in import NOW
from tests.sdk.suites import Numbers

PLAN = EvaluationPlan(
    id="e1",
    suite="numbers",
    suite_digest="d" * 64,
    split=Split.HELD_OUT,
    model="local",
    version="smol@1",
    k=1,
    created=NOW,
)

Rewards = Sequence[Sequence[float | None]]


def attempts_of(rewards: Rewards) -> list[AttemptResult]:
    """Attempts at the tasks of the suite `numbers`, one list of rewards a task."""
    tasks = Numbers(len(rewards)).tasks(Split.HELD_OUT)
    return [
        AttemptResult(
            task=task.id,
            family=task.family,
            attempt=number,
            episode=f"{task.id}/{number}",
            reward=reward,
            status=EpisodeStatus.COMPLETED if reward is not None else EpisodeStatus.FAILED,
            cause=Cause.POLICY if reward is not None else Cause.INFRASTRUCTURE,
            steps=2,
            usage=Usage(prompt_tokens=10, completion_tokens=2),
            seconds=0.5,
        )
        for task, each in zip(tasks, rewards, strict=True)
        for number, reward in enumerate(each)
    ]


def report_of(rewards: Rewards, **changes: Any) -> EvaluationReport:
    """The report of an evaluation in which these rewards were earned."""
    plan = PLAN.model_copy(update={"k": len(rewards[0]), **changes})
    return summarise(plan, Numbers(len(rewards)).tasks(plan.split), attempts_of(rewards))
