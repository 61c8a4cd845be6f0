import math

import pytest

from practicum.stages.advantages import advantages


def test_a_failure_of_the_infrastructure_is_outside_the_baseline() -> None:
    # By hand: the mean of 1, 1, 0 is 2/3; the squares of 1/3, 1/3, -2/3 sum to 2/3, over two that is 1/3; and so the
    # spread is 0.57735. With 0 in its place the first would be worth 0.8660.
    worth = advantages([1.0, None, 1.0, 0.0])
    spread = math.sqrt(1 / 3) + 1e-4
    assert worth == (pytest.approx(1 / 3 / spread), None, pytest.approx(1 / 3 / spread), pytest.approx(-2 / 3 / spread))
    assert worth[0] == pytest.approx(0.57725, abs=1e-5)


def test_without_normalising_it_is_the_distance_from_the_mean() -> None:
    assert advantages([1.0, 0.0, 0.0, None], normalise=False) == (
        pytest.approx(2 / 3),
        pytest.approx(-1 / 3),
        pytest.approx(-1 / 3),
        None,
    )


@pytest.mark.parametrize("rewards", [[1.0, 1.0, 1.0], [0.0, None, 0.0], [1.0, None, None], [None, None], []])
def test_a_group_that_tells_nothing_leaves_the_loss(rewards: list[float | None]) -> None:
    assert advantages(rewards) == (None,) * len(rewards)


def test_advantages_of_a_group_sum_to_nothing() -> None:
    assert sum(found or 0.0 for found in advantages([0.3, 1.0, None, 0.0, 0.7])) == pytest.approx(0.0)
