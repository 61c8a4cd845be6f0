"""How many calls go at once and in a second."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum_connectors.resilience import BusyError, Clock, Limits


class Time:
    """A clock that moves on by as much as somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.now, sleep=self.sleep)


async def test_no_more_than_so_many_at_once() -> None:
    limits = Limits(2)
    under_way, most = 0, 0

    async def call() -> None:
        nonlocal under_way, most
        async with limits.slot(5):
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.01)
            under_way -= 1

    await asyncio.gather(*(call() for _ in range(7)))
    assert most == 2


async def test_a_call_that_finds_no_place_in_time_is_turned_away_and_leaves_none_taken() -> None:
    limits = Limits(1)
    async with limits.slot(5):
        with pytest.raises(BusyError):
            async with limits.slot(0.02):
                pytest.fail("two at once")
    async with limits.slot(0.02):
        pass


@given(
    rate=st.floats(0.05, 50),
    arrivals=st.lists(st.floats(0, 3), min_size=1, max_size=60),
)
def test_no_stretch_of_time_sees_more_than_the_rate(rate: float, arrivals: list[float]) -> None:
    time, starts = Time(), list[float]()

    async def calls() -> None:
        limits = Limits(8, rate, time.clock)
        for pause in arrivals:
            time.now += pause
            async with limits.slot(10_000):
                starts.append(time.now)

    asyncio.run(calls())
    burst = max(1, int(rate))
    window = burst / rate
    assert all(later - earlier >= window - 1e-6 for earlier, later in zip(starts, starts[burst:], strict=False))


async def test_calls_within_the_rate_do_not_wait() -> None:
    time = Time()
    limits = Limits(8, 5.0, time.clock)
    for _ in range(5):
        async with limits.slot(0):
            pass
    assert time.now == 0


async def test_a_call_that_would_wait_too_long_is_turned_away_at_once_and_reserves_nothing() -> None:
    time = Time()
    limits = Limits(8, 0.5, time.clock)
    async with limits.slot(1):
        pass
    for _ in range(3):
        with pytest.raises(BusyError) as caught:
            async with limits.slot(1):
                pytest.fail("too soon")
        assert caught.value.seconds == 2.0
    async with limits.slot(3):
        assert time.now == 2.0
