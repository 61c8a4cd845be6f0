"""Is a candidate shown to be better? Judged from two whole reports, never from a number somebody sends. Pure."""

from practicum.contracts.evaluation import Comparison, EvaluationReport
from practicum.contracts.models import parted, reference
from practicum.contracts.promotion import PromotionRequest
from practicum.contracts.tasks import Split
from practicum.errors import ConflictError, RequestError
from practicum.evaluation import compare, comparison_text

_FAIR = ("limits", "sampling")
"""What must be the same for both, besides the tasks: more steps alone can make a model look better."""


def judge(alias: str, current: str, request: PromotionRequest) -> Comparison | None:
    """The comparison on which a candidate is promoted; None where somebody answers for it without one.

    Args:
        alias: whose version it shall be.
        current: the version that the alias names now.
        request: the candidate and its evidence.

    Raises:
        RequestError: there are no two reports, or they are not of these versions on the same held-out tasks.
        ConflictError: it is not shown to be better, and nobody answers for it.
    """
    if request.evaluation is None and request.against is None and request.override is not None:
        return None
    if request.evaluation is None or request.against is None:
        raise RequestError(
            "A promotion needs two reports: of the candidate, and of the current version on the same tasks.",
            mend="Give both, or override with a reason, which is recorded.",
        )
    _check_version("candidate", request.evaluation, alias, request.version)
    _check_version("baseline", request.against, alias, current)
    _check_tasks(request.against, request.evaluation)
    comparison = compare(request.against, request.evaluation)
    if not comparison.better and request.override is None:
        raise ConflictError(
            f"'{reference(alias, request.version)}' is not shown to be better than '{current}'.\n"
            f"{comparison_text(comparison)}",
            mend="Train on, or evaluate on more tasks or attempts. To promote it all the same, override with a reason.",
        )
    return comparison


def _check_version(which: str, report: EvaluationReport, alias: str, version: str) -> None:
    if (parted(report.model)[0], report.version) != (alias, version):
        raise RequestError(
            f"The {which}'s report is of '{report.version}' behind '{report.model}', "
            f"and should be of '{version}' behind '{alias}'.",
            mend=f"Evaluate it: practicum eval SUITE --model {reference(alias, version)}",
        )


def _check_tasks(baseline: EvaluationReport, candidate: EvaluationReport) -> None:
    if not baseline.split == candidate.split == Split.HELD_OUT:
        raise RequestError(
            f"The reports are of the splits '{baseline.split}' and '{candidate.split}'.",
            mend="Evaluate both on held-out tasks, which nothing was trained on.",
        )
    if {each.task for each in baseline.results} != {each.task for each in candidate.results}:
        raise RequestError(
            f"The reports are of other tasks: {len(baseline.results)} of the baseline, "
            f"{len(candidate.results)} of the candidate.",
            mend="Evaluate both on the same tasks, with the same limit.",
        )
    for name in _FAIR:
        if getattr(baseline, name) != getattr(candidate, name):
            raise RequestError(
                f"The two evaluations had other {name}.", mend="Evaluate both in the same way, or override."
            )
