"""Estimators: from counts to shares with 95% intervals. Pure, and each names the source of its formula."""

import random
from collections import Counter
from collections.abc import Sequence
from math import comb, hypot, sqrt
from statistics import NormalDist, fmean, pvariance

from practicum.contracts.evaluation import Estimate

CONFIDENCE = 0.95
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)

_SUBSETS = 9_999
_TAIL = round((1 - CONFIDENCE) / 2 * (_SUBSETS + 1))


def wilson(share: float, n: float) -> tuple[float, float]:
    """The score interval for a share.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927) 209-212. Unlike
    the textbook interval it stays within 0 and 1 and has a width at 0 and 1 too. For a mean of values between 0 and 1
    it is too wide rather than too narrow, since no such values vary more than zeros and ones of the same mean.

    Args:
        share: the observed share or mean, from 0 to 1.
        n: how many independent observations it rests on; an effective number need not be whole.

    Raises:
        ValueError: there are no observations, or the share is none.
    """
    if n <= 0 or not 0 <= share <= 1:
        raise ValueError(f"no interval for a share of {share} of {n}")
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    # At the ends the formula gives 0 and 1 exactly, and floating point almost.
    return (0.0 if share == 0 else max(0.0, middle - half)), (1.0 if share == 1 else min(1.0, middle + half))


def mean_estimate(values: Sequence[float]) -> Estimate:
    """The mean of independent values between 0 and 1, with its Wilson interval."""
    if not values:
        return Estimate(n=0)
    value = fmean(values)
    low, high = wilson(value, len(values))
    return Estimate(n=len(values), value=value, low=low, high=high)


def success_rate(tasks: Sequence[tuple[int, int]]) -> Estimate:
    """The share of successes over attempts that come in groups, one group a task.

    Attempts at one task are alike, so that they are worth fewer independent ones. The Wilson interval is taken for that
    effective number: n divided by the design effect, as E. L. Korn and B. I. Graubard do it, "Confidence intervals for
    proportions with small expected number of positive counts estimated from survey data", Survey Methodology 24 (1998)
    193-201, with the ratio estimator's variance between groups. It lies between the number of tasks (all attempts at a
    task agree) and the number of attempts (they are independent); with one attempt a task it is plain Wilson.

    Args:
        tasks: successes and scored attempts of each task; a task without scored attempts counts for nothing.
    """
    scored = [(successes, attempts) for successes, attempts in tasks if attempts]
    if not scored:
        return Estimate(n=0)
    attempts = sum(each for _, each in scored)
    value = sum(each for each, _ in scored) / attempts
    low, high = wilson(value, _effective(scored, value, attempts))
    return Estimate(n=attempts, value=value, low=low, high=high)


def _effective(scored: Sequence[tuple[int, int]], value: float, attempts: int) -> float:
    """How many independent attempts these are worth."""
    groups = len(scored)
    if groups == 1 or value in (0, 1):
        return groups
    between = sum((successes - value * tried) ** 2 for successes, tried in scored)
    variance = groups / (groups - 1) * between / attempts**2
    independent = value * (1 - value)
    if independent >= variance * attempts:
        return attempts
    return max(groups, independent / variance)


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The chance that at least one of k attempts succeeds, estimated without bias from n attempts.

    1 - C(n-c, k) / C(n, k): M. Chen et al., "Evaluating large language models trained on code", arXiv:2107.03374, 2021.

    Args:
        n: scored attempts at the task.
        c: how many of them succeeded.
        k: attempts that would be made.

    Returns:
        The estimate; None when fewer than k attempts were scored, since then there is none.
    """
    return None if n < k else 1 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """The chance that all of k attempts succeed, pass^k, estimated without bias from n attempts.

    C(c, k) / C(n, k): S. Yao et al., "tau-bench", arXiv:2406.12045, 2024. Arguments and None as for `pass_at_k`.
    """
    return None if n < k else comb(c, k) / comb(n, k)


def unpaired_interval(one: Estimate, other: Estimate) -> tuple[float, float]:
    """A 95% interval for the difference of two shares of different episodes, the first less the second.

    R. G. Newcombe, "Interval estimation for the difference between independent proportions: comparison of eleven
    methods", Statistics in Medicine 17 (1998) 873-890, method 10: each share moves to the end of its Wilson interval.

    Raises:
        ValueError: one of them rests on nothing.
    """
    bounds = (one.value, one.low, one.high, other.value, other.low, other.high)
    if None in bounds:
        raise ValueError("no interval for a difference of which one side was not observed")
    value, low, high, its_value, its_low, its_high = (bound or 0.0 for bound in bounds)
    difference = value - its_value
    below, above = hypot(value - low, its_high - its_value), hypot(high - value, its_value - its_low)
    return max(-1.0, difference - below), min(1.0, difference + above)


def paired_interval(differences: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """A 95% interval for the mean of paired differences, which pretends to know no more than a small sample says.

    It spans two intervals, each good where the other is too narrow. `_subset_interval` needs six tasks that all
    improved to rule out chance, as an exact test does, but has no width where all differences are the same.
    `_adjusted_interval` always has one, but trusts four such tasks. A bootstrap would trust two.

    Args:
        differences: one a task, each from -1 to 1.
        seed: of the subsets that are drawn; the same seed gives the same interval.

    Returns:
        Lower and upper bound, from -1 to 1.

    Raises:
        ValueError: there are no differences.
    """
    if not differences:
        raise ValueError("no interval for no differences")
    ranges = (_subset_interval(differences, seed), _adjusted_interval(differences))
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _subset_interval(differences: Sequence[float], seed: int) -> tuple[float, float]:
    """From the means of random subsets, each difference in or out by a coin.

    J. A. Hartigan, "Using subsample values as typical values", JASA 64 (1969) 1303-1317. For differences that are
    symmetric about their centre, as those of two equally good models are about 0, it covers as often as it says,
    whatever the number of tasks; for many tasks it is the usual interval.
    """
    groups = sorted(Counter(round(difference, 12) for difference in differences).items())
    draw = random.Random(seed)  # noqa: S311  # statistics, no secrets
    means: list[float] = []
    for _ in range(_SUBSETS):
        # A coin for each difference of a group: the count of heads is all that matters.
        chosen = [(value, draw.getrandbits(size).bit_count()) for value, size in groups]
        if count := sum(number for _, number in chosen):
            means.append(sum(value * number for value, number in chosen) / count)
    means.sort()
    # The empty subset has no mean; it bounds nothing, on either side.
    place = _TAIL - (_SUBSETS - len(means)) - 1
    return (means[place], means[-1 - place]) if place >= 0 else (-1.0, 1.0)


def _adjusted_interval(differences: Sequence[float]) -> tuple[float, float]:
    """The usual interval after one task that improved wholly and one that worsened wholly are added.

    D. G. Bonett and R. M. Price, "Adjusted Wald confidence interval for a difference of binomial proportions based on
    paired data", J. Educational and Behavioral Statistics 37 (2012) 479-488.
    """
    adjusted = (*differences, 1.0, -1.0)
    middle, half = fmean(adjusted), _Z * sqrt(pvariance(adjusted) / len(adjusted))
    return max(-1.0, middle - half), min(1.0, middle + half)
