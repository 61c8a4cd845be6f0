"""What a path came to: one row for each stage, every share with what it rests on and what it cost."""

from collections.abc import Iterator, Sequence

from practicum.contracts.base import Value
from practicum.contracts.evaluation import Comparison, Estimate, EvaluationReport
from practicum.contracts.models import Usage
from practicum.errors import RequestError
from practicum.evaluation import compare, estimate_text


class StageResult(Value):
    """What one stage came to.

    Attributes:
        stage: its name.
        kind: what it does.
        version: how the gateway's records call its model.
        tasks: held-out tasks that were tried.
        k: attempts at each.
        success: share of scored attempts that earned the whole reward.
        pass_hat_k: share of tasks that all of `k` attempts solved.
        unscored: attempts without a verdict, which are in no share.
        against: the stage before it.
        comparison: with that stage, on the same tasks; None without one, or where no task was scored in both.
        training_seconds: wall seconds of its own making: rows and training.
        evaluation_seconds: wall seconds of serving and evaluating it.
        usage: tokens of its evaluation.
        evaluation: folder of its evaluation, below the path's.
        dataset: digest of the rows it learned from.
        bundle: digest of its bundle.
        bundle_folder: where that lies, below the path's folder.
    """

    stage: str
    kind: str
    version: str
    tasks: int
    k: int
    success: Estimate
    pass_hat_k: Estimate
    unscored: int
    against: str | None = None
    comparison: Comparison | None = None
    training_seconds: float
    evaluation_seconds: float
    usage: Usage
    evaluation: str
    dataset: str | None = None
    bundle: str | None = None
    bundle_folder: str | None = None


class PathReport(Value):
    """What a path came to.

    Attributes:
        suite: dotted path of its suite.
        suite_digest: SHA-256 of the suite's tasks.
        references_seconds: wall seconds of performing reference solutions, which several stages share.
        stages: in the path's order.
    """

    suite: str
    suite_digest: str
    references_seconds: float
    stages: tuple[StageResult, ...]


def compared(before: EvaluationReport, after: EvaluationReport) -> Comparison | None:
    """Two stages on the tasks that both scored; None where there are none."""
    try:
        return compare(before, after)
    except RequestError:
        return None


COLUMNS = ("stage", "n", "success", "pass^k", "difference", "unscored", "training", "evaluation", "tokens")
"""Headings; the difference is to the stage before, on the same tasks."""


def rows_of_report(report: PathReport) -> Iterator[Sequence[str]]:
    """The cells of a report under `COLUMNS`."""
    for stage in report.stages:
        yield (
            stage.stage,
            str(stage.success.n),
            estimate_text(stage.success).replace(f", n={stage.success.n}", ""),
            f"k={stage.k}: {_percent(stage.pass_hat_k)}",
            _difference(stage.comparison),
            str(stage.unscored),
            f"{stage.training_seconds:.0f} s" if stage.training_seconds else "",
            f"{stage.evaluation_seconds:.0f} s",
            f"{stage.usage.prompt_tokens + stage.usage.completion_tokens}",
        )


def footing(report: PathReport) -> str:
    """What stands below the table."""
    seconds = report.references_seconds + sum(
        stage.training_seconds + stage.evaluation_seconds for stage in report.stages
    )
    tried = f"{report.stages[-1].tasks} held-out tasks of {report.suite} for every stage"
    return f"{tried}; intervals are 95%; {seconds / 60:.0f} minutes in all."


def _percent(estimate: Estimate) -> str:
    return "-" if estimate.value is None else f"{estimate.value * 100:.1f}%"


def _difference(comparison: Comparison | None) -> str:
    if comparison is None:
        return ""
    low, high = comparison.low * 100, comparison.high * 100
    return f"{comparison.difference * 100:+.1f} points ({low:+.1f} to {high:+.1f})"
