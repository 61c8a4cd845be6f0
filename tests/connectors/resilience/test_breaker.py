"""When a system is left alone, and how it is found out that it is back."""

import pytest

from practicum_connectors.resilience import Breaker, Clock


class Time:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.now)


@pytest.fixture
def time() -> Time:
    return Time()


def ask(breaker: Breaker, *outcomes: bool | None) -> None:
    for failed in outcomes:
        with breaker.turn() as turn:
            turn.failed = failed


def test_it_opens_after_so_many_failures_in_a_row(time: Time) -> None:
    breaker = Breaker(3, 30.0, time.clock)
    ask(breaker, True, True, False, True, True)
    assert breaker.wait() == 0
    ask(breaker, True)
    assert breaker.wait() == 30.0
    time.now += 29.5
    assert breaker.wait() == 0.5


def test_one_call_tries_when_the_time_is_over(time: Time) -> None:
    breaker = Breaker(1, 30.0, time.clock)
    ask(breaker, True)
    time.now += 30
    assert breaker.wait() == 0
    with breaker.turn() as turn:
        assert breaker.wait() > 0, "a second call went out while the first one tries"
        turn.failed = False
    assert breaker.wait() == 0
    ask(breaker, False)
    assert breaker.wait() == 0


def test_a_failed_trial_opens_it_again_at_once(time: Time) -> None:
    breaker = Breaker(5, 30.0, time.clock)
    ask(breaker, *[True] * 5)
    time.now += 31
    ask(breaker, True)
    assert breaker.wait() == 30.0


def test_a_trial_that_shows_nothing_leaves_the_next_one_to_try(time: Time) -> None:
    breaker = Breaker(1, 30.0, time.clock)
    ask(breaker, True)
    time.now += 31
    with pytest.raises(KeyboardInterrupt), breaker.turn():
        raise KeyboardInterrupt
    assert breaker.wait() == 0
    ask(breaker, None)
    assert breaker.wait() == 0


def test_what_began_before_it_opened_says_nothing_of_the_time_after(time: Time) -> None:
    breaker = Breaker(1, 30.0, time.clock)
    with breaker.turn() as late_failure, breaker.turn() as late_answer:
        ask(breaker, True)
        time.now += 10
        late_answer.failed = False
        late_failure.failed = True
    assert breaker.wait() == 20.0
