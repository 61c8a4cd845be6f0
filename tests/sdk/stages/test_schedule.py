import pytest

from practicum.stages.schedule import share_of_rate


def shares(steps: int, **how: object) -> list[float]:
    settings = {"warmup": 0.0, "falling": True, **how}
    return [share_of_rate(step, steps, **settings) for step in range(steps)]  # pyright: ignore[reportArgumentType]


def test_it_rises_and_falls_and_every_step_learns() -> None:
    assert shares(10, warmup=0.3) == pytest.approx([0.25, 0.5, 0.75, *(n / 7 for n in range(7, 0, -1))])
    assert shares(4) == [1.0, 0.75, 0.5, 0.25]


def test_it_can_stay() -> None:
    assert shares(5, warmup=0.4, falling=False) == pytest.approx([1 / 3, 2 / 3, 1.0, 1.0, 1.0])
    assert shares(1, warmup=1.0, falling=False) == [0.5]


def test_where_time_is_shorter_than_the_steps_time_decides() -> None:
    assert share_of_rate(2, 100, warmup=0.0, falling=True, spent=0.8) == pytest.approx(0.2)
    assert share_of_rate(80, 100, warmup=0.0, falling=True, spent=0.1) == pytest.approx(0.2)
    assert share_of_rate(2, 100, warmup=0.0, falling=True, spent=3.0) == 0.0
