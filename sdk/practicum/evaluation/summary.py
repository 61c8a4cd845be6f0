"""From single attempts to a report: a pure function."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from practicum.contracts.evaluation import AttemptResult, EvaluationPlan, EvaluationReport, TaskResult
from practicum.contracts.models import Usage
from practicum.contracts.tasks import Task
from practicum.errors import RequestError
from practicum.evaluation.estimators import mean_estimate, pass_at_k, pass_hat_k, success_rate

WHOLE_REWARD = 1.0
"""An attempt with at least this reward succeeded."""


def counts_of(result: TaskResult) -> tuple[int, int]:
    """How many attempts at a task succeeded, and how many were scored."""
    scored = [reward for reward in result.rewards if reward is not None]
    return sum(reward >= WHOLE_REWARD for reward in scored), len(scored)


def summarise(plan: EvaluationPlan, tasks: Sequence[Task], attempts: Iterable[AttemptResult]) -> EvaluationReport:
    """Put the attempts of an evaluation together.

    Args:
        plan: what was to be evaluated.
        tasks: the tasks, in the suite's order.
        attempts: what came of each attempt at each of them, in any order; of several results of one, the last counts.

    Raises:
        RequestError: an attempt is missing.
    """
    found = {(attempt.task, attempt.attempt): attempt for attempt in attempts}
    results = tuple(_result(plan, task, found) for task in tasks)
    made = [found[task.id, number] for task in tasks for number in range(plan.k)]
    counts = [counts_of(result) for result in results]
    families = dict.fromkeys(result.family for result in results)
    return EvaluationReport(
        **{name: getattr(plan, name) for name in EvaluationPlan.model_fields},
        results=results,
        success=success_rate(counts),
        pass_at_k=mean_estimate([share for c, n in counts if (share := pass_at_k(n, c, plan.k)) is not None]),
        pass_hat_k=mean_estimate([share for c, n in counts if (share := pass_hat_k(n, c, plan.k)) is not None]),
        unscored=sum(attempt.reward is None for attempt in made),
        families={
            family: success_rate([counts_of(result) for result in results if result.family == family])
            for family in families
        },
        endings=dict(Counter(attempt.status for attempt in made)),
        usage=sum((attempt.usage for attempt in made), Usage()),
        seconds=sum(attempt.seconds for attempt in made),
    )


def _result(plan: EvaluationPlan, task: Task, found: Mapping[tuple[str, int], AttemptResult]) -> TaskResult:
    missing = [number for number in range(plan.k) if (task.id, number) not in found]
    if missing:
        raise RequestError(
            f"Attempt {missing[0]} at {task.id} is missing.", mend="Go on with the evaluation in the same folder."
        )
    mine = [found[task.id, number] for number in range(plan.k)]
    return TaskResult(
        task=task.id,
        family=task.family,
        rewards=tuple(attempt.reward for attempt in mine),
        episodes=tuple(attempt.episode for attempt in mine),
    )
