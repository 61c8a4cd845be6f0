"""From attempts to reports, from two reports to a comparison, and how both read."""

import pytest
from pydantic import ValidationError

from practicum.contracts.episodes import EpisodeStatus, Limits
from practicum.contracts.evaluation import Comparison, EvaluationReport
from practicum.contracts.models import Usage
from practicum.contracts.tasks import Split
from practicum.errors import RequestError
from practicum.evaluation import compare, comparison_text, report_text, success_rate, summarise, wilson
from tests.sdk.evaluation.reports import PLAN, attempts_of, report_of
from tests.sdk.suites import NUMBERS

MIXED = [[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.5, 1.0], [None, 1.0], [None, None]]


def test_what_is_unscored_is_in_no_share() -> None:
    report = report_of(MIXED)
    assert (report.success.n, report.success.value) == (9, 5 / 9)
    assert report.success == success_rate([(2, 2), (1, 2), (0, 2), (1, 2), (1, 1)])
    assert report.unscored == 3
    assert (report.pass_at_k.n, report.pass_at_k.value) == (4, 3 / 4)
    assert (report.pass_hat_k.n, report.pass_hat_k.value) == (4, 1 / 4)
    assert (report.pass_hat_k.low, report.pass_hat_k.high) == wilson(0.25, 4)
    assert report.endings == {EpisodeStatus.COMPLETED: 9, EpisodeStatus.FAILED: 3}
    assert (report.usage, report.seconds) == (Usage(prompt_tokens=120, completion_tokens=24), 6.0)
    assert report.results[4].rewards == (None, 1.0)
    assert report.results[4].episodes == ("numbers.held_out.4/0", "numbers.held_out.4/1")


def test_families_apart() -> None:
    report = report_of(MIXED)
    assert list(report.families) == ["odd", "even"]
    assert report.families["odd"] == success_rate([(2, 2), (0, 2), (1, 1)])
    assert report.families["even"] == success_rate([(1, 2), (1, 2), (0, 0)])


def test_of_several_results_of_an_attempt_the_last_counts_and_none_may_be_missing() -> None:
    tasks = NUMBERS.tasks(Split.HELD_OUT)[:2]
    first, second = attempts_of([[None], [0.0]])
    again = first.model_copy(update={"reward": 1.0})
    assert summarise(PLAN, tasks, [first, second, again]).success.value == 0.5
    with pytest.raises(RequestError, match=r"Attempt 0 at numbers\.held_out\.1 is missing"):
        summarise(PLAN, tasks, [first])


def test_a_report_is_its_own_json() -> None:
    report = report_of(MIXED)
    assert EvaluationReport.model_validate_json(report.model_dump_json()) == report


def test_a_comparison_is_paired_on_what_both_scored() -> None:
    before = report_of([[0.0], [0.0], [1.0], [1.0], [None], [0.0]])
    after = report_of([[1.0], [1.0], [0.0], [1.0], [1.0], [None]], id="e2", version="smol@2")
    found = compare(before, after)
    assert (found.baseline, found.candidate, found.n) == ("e1", "e2", 4)
    assert (found.baseline_success, found.candidate_success, found.difference) == (0.5, 0.75, 0.25)
    assert (found.improved, found.worsened, found.better) == (2, 1, False)
    assert found.low < 0.25 < found.high
    assert found.notes == (
        "2 tasks of the baseline are not compared",
        "1 attempts of the baseline are unscored",
        "2 tasks of the candidate are not compared",
        "1 attempts of the candidate are unscored",
    )


def test_attempts_at_a_task_are_one_difference() -> None:
    before = report_of([[0.0, 0.0]] * 3 + [[0.0, 1.0]] * 6)
    after = report_of([[0.0, 1.0]] * 3 + [[0.0, 1.0]] * 6)
    found = compare(before, after)
    assert (found.n, found.difference, found.improved) == (9, pytest.approx(1.5 / 9), 3)
    assert not found.better


def test_better_needs_the_whole_interval() -> None:
    before = report_of([[0.0]] * 96)
    assert compare(before, report_of([[1.0]] * 6 + [[0.0]] * 90)).better
    assert not compare(before, report_of([[1.0]] * 5 + [[0.0]] * 91)).better
    assert not compare(report_of([[0.0]] * 4), report_of([[1.0]] * 4)).better
    assert not compare(before, before).better
    worse = compare(report_of([[1.0]] * 9), report_of([[0.0]] * 9))
    assert (worse.better, worse.high < 0) == (False, True)


@pytest.mark.parametrize(("field", "value"), [("suite", "other"), ("suite_digest", "e" * 64), ("split", Split.TRAIN)])
def test_other_tasks_cannot_be_compared(field: str, value: object) -> None:
    report = report_of([[1.0], [0.0]])
    with pytest.raises(RequestError, match=f"differ in their {field}"):
        compare(report, report.model_copy(update={field: value}))


def test_without_a_scored_task_in_common_there_is_no_comparison() -> None:
    with pytest.raises(RequestError, match="no scored task in common"):
        compare(report_of([[1.0], [None]]), report_of([[None], [1.0]]))


def test_other_settings_are_noted() -> None:
    before = report_of([[1.0], [0.0]])
    after = report_of([[1.0, 1.0], [0.0, 1.0]], limits=Limits(steps=3), seed=4)
    assert compare(before, after).notes == ("k differs", "limits differs", "seed differs")


def test_a_comparison_cannot_claim_what_its_interval_does_not_say() -> None:
    found = compare(report_of([[0.0]] * 9), report_of([[0.0]] * 9))
    with pytest.raises(ValidationError, match="better must say whether low is above 0"):
        Comparison.model_validate({**found.model_dump(), "better": True})
    assert Comparison.model_validate_json(found.model_dump_json()) == found


def test_how_a_report_reads() -> None:
    assert report_text(report_of(MIXED)).splitlines() == [
        "local (smol@1) on 6 tasks of numbers, held_out",
        "success   55.6% (24.1% to 83.1%, n=9)",
        "pass@2    75.0% (30.1% to 95.4%, n=4)",
        "pass^2    25.0% (4.6% to 69.9%, n=4)",
        "unscored  3 of 12 attempts",
        "  odd     60.0% (17.2% to 91.5%, n=5)",
        "  even    50.0% (15.0% to 85.0%, n=4)",
        "endings   9 completed, 3 failed",
        "tokens    120 in, 24 out",
        "seconds   6.0 over all attempts",
        "evaluation e1; intervals are 95%",
    ]
    nothing = report_text(report_of([[None]]))
    assert "success   nothing scored" in nothing
    assert "pass@" not in nothing


def test_how_a_comparison_reads() -> None:
    better = compare(report_of([[0.0]] * 9), report_of([[1.0]] * 9, id="e2", seed=1))
    lines = comparison_text(better).splitlines()
    assert lines[:2] == ["9 tasks of numbers, held_out, paired", "baseline    0.0%"]
    assert lines[4:] == [
        "tasks       9 improved, 0 worsened, n=9",
        "note: seed differs",
        "The candidate is better: the whole 95% interval is above zero.",
    ]
    assert lines[3].startswith("difference  +100.0 points (+")
    same = report_of([[0.0]] * 9)
    assert comparison_text(compare(same, same)).endswith("Not shown to be better: the 95% interval holds zero.")
    worse = compare(report_of([[1.0]] * 9), same)
    assert comparison_text(worse).endswith("The candidate is worse: the whole 95% interval is below zero.")
