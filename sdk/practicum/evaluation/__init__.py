"""Evaluations: run them, compare them, show them; every number has an n and an interval."""

from practicum.evaluation.comparison import compare
from practicum.evaluation.estimators import mean_estimate, paired_interval, pass_at_k, pass_hat_k, success_rate, wilson
from practicum.evaluation.log import read_report
from practicum.evaluation.render import comparison_text, estimate_text, report_text
from practicum.evaluation.runner import Progress, evaluate
from practicum.evaluation.summary import summarise

__all__ = [
    "Progress",
    "compare",
    "comparison_text",
    "estimate_text",
    "evaluate",
    "mean_estimate",
    "paired_interval",
    "pass_at_k",
    "pass_hat_k",
    "read_report",
    "report_text",
    "success_rate",
    "summarise",
    "wilson",
]
