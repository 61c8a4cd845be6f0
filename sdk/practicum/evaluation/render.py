"""Reports and comparisons as plain text for people; for programs they are JSON as they are."""

from practicum.contracts.evaluation import Comparison, Estimate, EvaluationReport
from practicum.evaluation.online import Gap


def estimate_text(estimate: Estimate) -> str:
    """A share in percent with its interval and count."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "nothing scored"
    return f"{_percent(estimate.value)} ({_percent(estimate.low)} to {_percent(estimate.high)}, n={estimate.n})"


def report_text(report: EvaluationReport) -> str:
    """A report: the shares, then each family, then what was spent."""
    k, attempts = report.k, len(report.results) * report.k
    rows = [
        ("success", estimate_text(report.success)),
        *((f"pass@{k}", estimate_text(report.pass_at_k)), (f"pass^{k}", estimate_text(report.pass_hat_k))) * (k > 1),
        ("unscored", f"{report.unscored} of {attempts} attempts"),
        *((f"  {family}", estimate_text(found)) for family, found in report.families.items()),
        ("endings", ", ".join(f"{count} {status}" for status, count in sorted(report.endings.items()))),
        ("tokens", f"{report.usage.prompt_tokens} in, {report.usage.completion_tokens} out"),
        ("seconds", f"{report.seconds:.1f} over all attempts"),
    ]
    title = f"{report.model} ({report.version}) on {len(report.results)} tasks of {report.suite}, {report.split}"
    return "\n".join((title, *_aligned(rows), f"evaluation {report.id}; intervals are 95%"))


def comparison_text(comparison: Comparison) -> str:
    """A comparison in one table and a verdict."""
    rows = [
        ("baseline", _percent(comparison.baseline_success)),
        ("candidate", _percent(comparison.candidate_success)),
        (
            "difference",
            f"{_points(comparison.difference)} points ({_points(comparison.low)} to {_points(comparison.high)})",
        ),
        ("tasks", f"{comparison.improved} improved, {comparison.worsened} worsened, n={comparison.n}"),
    ]
    title = f"{comparison.n} tasks of {comparison.suite}, {comparison.split}, paired"
    return "\n".join((title, *_aligned(rows), *(f"note: {note}" for note in comparison.notes), _verdict(comparison)))


def gap_text(gap: Gap) -> str:
    """A gap in one sentence, with its verdict."""
    points = f"{_points(gap.difference)} points ({_points(gap.low)} to {_points(gap.high)}, n={gap.n})"
    if gap.low > 0:
        verdict = "it does better"
    elif gap.high < 0:
        verdict = "it does worse"
    else:
        verdict = "not shown to differ"
    return f"{gap.version} against {gap.against}: {points}, {verdict}."


def _verdict(comparison: Comparison) -> str:
    if comparison.better:
        return "The candidate is better: the whole 95% interval is above zero."
    if comparison.high < 0:
        return "The candidate is worse: the whole 95% interval is below zero."
    return "Not shown to be better: the 95% interval holds zero."


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    return [f"{name.ljust(width)}  {text}" for name, text in rows]


def _percent(share: float) -> str:
    return f"{share * 100:.1f}%"


def _points(difference: float) -> str:
    return f"{difference * 100:+.1f}"
