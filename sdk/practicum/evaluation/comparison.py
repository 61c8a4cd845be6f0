"""Is one model better than another? Asked of the same tasks, paired task by task."""

from collections.abc import Iterator
from statistics import fmean

from practicum.contracts.evaluation import Comparison, EvaluationReport
from practicum.errors import RequestError
from practicum.evaluation.estimators import paired_interval
from practicum.evaluation.summary import counts_of

_SETTINGS = ("k", "limits", "sampling", "seed")


def compare(baseline: EvaluationReport, candidate: EvaluationReport, *, seed: int = 0) -> Comparison:
    """Compare two evaluations on the tasks that both scored.

    Args:
        baseline: what to compare with.
        candidate: what is to be better.
        seed: of the interval's random subsets.

    Raises:
        RequestError: they are not of the same suite, tasks and split, or have no scored task in common.
    """
    for name in ("suite", "suite_digest", "split"):
        if getattr(baseline, name) != getattr(candidate, name):
            raise RequestError(
                f"The two evaluations differ in their {name}: {getattr(baseline, name)}, {getattr(candidate, name)}.",
                mend="Evaluate both models on the same tasks.",
            )
    before, after = _shares(baseline), _shares(candidate)
    shared = [task for task in before if task in after]
    if not shared:
        raise RequestError(
            "The two evaluations have no scored task in common.", mend="Evaluate both on the same tasks."
        )
    differences = [after[task] - before[task] for task in shared]
    low, high = paired_interval(differences, seed)
    return Comparison(
        baseline=baseline.id,
        candidate=candidate.id,
        suite=candidate.suite,
        suite_digest=candidate.suite_digest,
        split=candidate.split,
        n=len(shared),
        baseline_success=fmean(before[task] for task in shared),
        candidate_success=fmean(after[task] for task in shared),
        difference=fmean(differences),
        low=low,
        high=high,
        improved=sum(difference > 0 for difference in differences),
        worsened=sum(difference < 0 for difference in differences),
        better=low > 0,
        notes=tuple(_notes(baseline, candidate, len(shared))),
    )


def _shares(report: EvaluationReport) -> dict[str, float]:
    """The share of successful attempts at each task that has scored ones."""
    counts = ((result.task, counts_of(result)) for result in report.results)
    return {task: successes / scored for task, (successes, scored) in counts if scored}


def _notes(baseline: EvaluationReport, candidate: EvaluationReport, shared: int) -> Iterator[str]:
    for name in _SETTINGS:
        if getattr(baseline, name) != getattr(candidate, name):
            yield f"{name} differs"
    for which, report in (("baseline", baseline), ("candidate", candidate)):
        if left := len(report.results) - shared:
            yield f"{left} tasks of the {which} are not compared"
        if report.unscored:
            yield f"{report.unscored} attempts of the {which} are unscored"
