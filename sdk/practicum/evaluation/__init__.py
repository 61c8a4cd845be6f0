"""Evaluations: run them, compare them, show them; every number has an n and an interval."""

from practicum.evaluation.comparison import compare
from practicum.evaluation.estimators import (
    mean_estimate,
    paired_interval,
    pass_at_k,
    pass_hat_k,
    success_rate,
    unpaired_interval,
    wilson,
)
from practicum.evaluation.log import read_report
from practicum.evaluation.online import Gap, Side, SplitReport, gaps_of, sides_of, split_report
from practicum.evaluation.render import comparison_text, estimate_text, gap_text, report_text
from practicum.evaluation.runner import Progress, evaluate
from practicum.evaluation.summary import summarise

__all__ = [
    "Gap",
    "Progress",
    "Side",
    "SplitReport",
    "compare",
    "comparison_text",
    "estimate_text",
    "evaluate",
    "gap_text",
    "gaps_of",
    "mean_estimate",
    "paired_interval",
    "pass_at_k",
    "pass_hat_k",
    "read_report",
    "report_text",
    "sides_of",
    "split_report",
    "success_rate",
    "summarise",
    "unpaired_interval",
    "wilson",
]
