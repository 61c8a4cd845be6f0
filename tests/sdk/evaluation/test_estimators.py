"""Estimators against published values, hand calculations and simulation."""

import random
from itertools import combinations
from statistics import fmean

import pytest

from practicum.contracts.evaluation import Estimate
from practicum.evaluation import (
    mean_estimate,
    paired_interval,
    pass_at_k,
    pass_hat_k,
    success_rate,
    unpaired_interval,
    wilson,
)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [  # R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_as_published(successes: int, n: int, low: float, high: float) -> None:
    assert wilson(successes / n, n) == pytest.approx((low, high), abs=5e-5)
    assert wilson(1 - successes / n, n) == pytest.approx((1 - high, 1 - low), abs=5e-5)


def test_wilson_stays_within_zero_and_one() -> None:
    for n in (1, 2, 3, 7, 1000):
        assert wilson(0, n)[0] == 0
        assert wilson(1, n)[1] == 1
    for share, n in ((0.5, 0), (1.1, 3), (-0.1, 3)):
        with pytest.raises(ValueError, match="no interval"):
            wilson(share, n)


def test_nothing_counted_is_nothing_not_zero() -> None:
    assert mean_estimate([]) == success_rate([]) == success_rate([(0, 0)]) == Estimate(n=0)
    assert mean_estimate([0.0, 0.5, 1.0, 0.5]) == Estimate(
        n=4, value=0.5, low=wilson(0.5, 4)[0], high=wilson(0.5, 4)[1]
    )


@pytest.mark.parametrize(
    ("one", "other", "low", "high"),
    [  # Newcombe (1998), table II, method 10
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ],
)
def test_the_difference_of_two_shares_as_published(
    one: tuple[int, int], other: tuple[int, int], low: float, high: float
) -> None:
    sides = [mean_estimate([1.0] * count + [0.0] * (n - count)) for count, n in (one, other)]
    assert unpaired_interval(*sides) == pytest.approx((low, high), abs=1e-4)
    assert unpaired_interval(*reversed(sides)) == pytest.approx((-high, -low), abs=1e-4)
    with pytest.raises(ValueError, match="not observed"):
        unpaired_interval(sides[0], Estimate(n=0))


def test_one_attempt_a_task_is_plain_wilson() -> None:
    found = success_rate([(1, 1)] * 30 + [(0, 1)] * 66)
    assert (found.n, found.value) == (96, 30 / 96)
    assert (found.low, found.high) == wilson(30 / 96, 96)


@pytest.mark.parametrize(
    ("tasks", "n", "effective"),
    [
        ([(2, 2)] * 5 + [(0, 2)] * 5, 20, 10),  # all attempts at a task agree: as many as there are tasks
        ([(1, 2)] * 10, 20, 20),  # they could not agree less
        ([(2, 2), (1, 2), (0, 2), (1, 2)], 8, 6),  # .25 / (4/3 * (1+0+1+0) / 64)
        ([(4, 4)] * 3, 12, 3),
        ([(0, 4)] * 3, 12, 3),
        ([(3, 4)], 4, 1),
        ([(1, 1), (1, 2), (0, 0)], 3, 3),  # .2222 / (2/1 * (1/9+1/9) / 9) is 4.5, and no more than 3 were made
    ],
)
def test_attempts_at_one_task_are_worth_less(tasks: list[tuple[int, int]], n: int, effective: float) -> None:
    found = success_rate(tasks)
    value = sum(successes for successes, _ in tasks) / n
    assert (found.n, found.value) == (n, value)
    assert (found.low, found.high) == pytest.approx(wilson(value, effective))


def test_the_interval_covers_as_often_as_it_says_although_attempts_are_alike() -> None:
    draw = random.Random(7)  # noqa: S311  # a simulation
    covered = naive = 0
    for _ in range(400):
        tasks = [(sum(draw.random() < chance for _ in range(4)), 4) for chance in draw.choices((0.1, 0.9), k=40)]
        found = success_rate(tasks)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.5 <= found.high
        low, high = wilson(found.value or 0, found.n)
        naive += low <= 0.5 <= high
    assert covered / 400 > 0.92
    assert naive / 400 < 0.85


@pytest.mark.parametrize(("n", "c"), [(n, c) for n in range(1, 6) for c in range(n + 1)])
def test_pass_at_k_and_pass_hat_k_are_shares_of_all_draws(n: int, c: int) -> None:
    attempts = [True] * c + [False] * (n - c)
    for k in range(1, n + 1):
        draws = list(combinations(attempts, k))
        assert pass_at_k(n, c, k) == pytest.approx(fmean(any(draw) for draw in draws))
        assert pass_hat_k(n, c, k) == pytest.approx(fmean(all(draw) for draw in draws))
    assert pass_at_k(n, c, n + 1) is pass_hat_k(n, c, n + 1) is None


def test_known_values_of_pass_at_k() -> None:
    assert pass_at_k(5, 2, 2) == pytest.approx(0.7)
    assert pass_hat_k(5, 2, 2) == pytest.approx(0.1)


def test_small_samples_prove_nothing() -> None:
    for n in range(1, 6):
        assert paired_interval([1.0] * n) == (-1.0, 1.0)
    low, high = paired_interval([1.0] * 6)
    assert (low > 0.25, high) == (True, 1.0)


@pytest.mark.parametrize(
    ("improved", "worsened", "same", "better"),
    [  # two-sided exact McNemar test: p = 2 * P(Binomial(improved + worsened, 1/2) >= improved)
        (5, 0, 95, False),  # .0625
        (6, 0, 94, True),  # .0313
        (9, 2, 89, False),  # .0654
        (10, 2, 88, True),  # .0386
        (20, 9, 71, False),  # .0614
        (22, 9, 69, True),  # .0294
    ],
)
def test_better_is_what_an_exact_test_calls_better(improved: int, worsened: int, same: int, better: bool) -> None:
    differences = [1.0] * improved + [-1.0] * worsened + [0.0] * same
    low, high = paired_interval(differences)
    assert (low > 0) is better
    assert paired_interval([-difference for difference in differences], seed=3)[1] == pytest.approx(-low, abs=0.02)
    assert low < fmean(differences) < high


def test_a_large_sample_gives_the_usual_interval() -> None:
    differences = [1.0] * 300 + [-0.5] * 200 + [0.0] * 500
    low, high = paired_interval(differences)
    assert (low, high) == pytest.approx((0.2 - 1.96 * 0.01761, 0.2 + 1.96 * 0.01761), abs=0.003)


def test_no_difference_at_all_still_has_a_width() -> None:
    low, high = paired_interval([0.0] * 96)
    assert low == pytest.approx(-high)
    assert 0.02 < high < 0.04
    with pytest.raises(ValueError, match="no differences"):
        paired_interval([])


def test_the_paired_interval_covers_as_often_as_it_says() -> None:
    draw = random.Random(11)  # noqa: S311  # a simulation
    covered = 0
    for turn in range(80):
        differences = draw.choices((1.0, -1.0, 0.0), weights=(0.3, 0.1, 0.6), k=40)
        low, high = paired_interval(differences, seed=turn)
        covered += low <= 0.2 <= high
    assert covered / 80 > 0.9


def test_the_same_seed_gives_the_same_interval() -> None:
    differences = [1.0] * 9 + [-1.0] * 3 + [0.25] * 20
    assert paired_interval(differences, seed=5) == paired_interval(differences, seed=5)
    assert paired_interval(list(reversed(differences)), seed=5) == paired_interval(differences, seed=5)
