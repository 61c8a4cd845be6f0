"""What is tried again, how often and when; never what may have taken effect."""

import pytest

from practicum_connectors.exchange import Delivery, Exchange, HttpResponse
from practicum_connectors.resilience import Clock, Repeat, retried, retry_after, shows_trouble


def answered(status: int, *headers: tuple[str, str]) -> Exchange:
    return Exchange(Delivery.ANSWERED, HttpResponse(status, headers))


NOT_SENT = Exchange(Delivery.NOT_SENT, reason="refused")
LOST = Exchange(Delivery.LOST, reason="broke off")
TURNED_AWAY = Exchange(Delivery.NOT_SENT, reason="open", tried=False)
ALL = [NOT_SENT, LOST, *(answered(status) for status in (429, 500, 502, 503, 504))]


class System:
    """Answers as scripted; the pauses between are noted, and take no time but the clock's."""

    def __init__(self, *script: Exchange, seconds: float = 0.0) -> None:
        self.script = list(script)
        self.seconds = seconds
        self.now = 0.0
        self.pauses: list[float] = []
        self.given: list[float] = []

    async def attempt(self, within: float) -> Exchange:
        self.given.append(within)
        self.now += self.seconds
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    async def call(self, repeat: Repeat, attempts: int = 3, seconds: float = 30.0, high: bool = True) -> Exchange:
        return await retried(
            self.attempt,
            repeat,
            attempts=attempts,
            seconds=seconds,
            clock=Clock(lambda: self.now, self.sleep),
            draw=lambda low, most: most if high else low,
        )


@pytest.mark.parametrize("outcome", ALL)
async def test_an_unsafe_call_is_never_repeated(outcome: Exchange) -> None:
    system = System(outcome)
    assert (await system.call(Repeat.NEVER)).attempts == 1
    assert len(system.given) == 1


@pytest.mark.parametrize("outcome", ALL)
async def test_a_call_with_a_key_is_repeated_only_after_nothing_was_done(outcome: Exchange) -> None:
    system = System(outcome)
    declined = outcome is NOT_SENT or (outcome.response is not None and outcome.response.status in {429, 503})
    assert (await system.call(Repeat.IF_DECLINED)).attempts == (3 if declined else 1)


async def test_a_call_with_a_key_stops_where_it_may_have_taken_effect() -> None:
    system = System(answered(503), LOST, answered(201))
    ended = await system.call(Repeat.IF_DECLINED)
    assert (ended.delivery, ended.attempts) == (Delivery.LOST, 2)


@pytest.mark.parametrize("outcome", ALL)
async def test_a_read_is_repeated_when_the_system_is_down_or_busy(outcome: Exchange) -> None:
    system = System(outcome, answered(200))
    ended = await system.call(Repeat.FREELY)
    helped = outcome.response is None or outcome.response.status != 500
    assert (ended.response is not None and ended.response.status == 200) is helped
    assert ended.attempts == (2 if helped else 1)


@pytest.mark.parametrize("status", [200, 301, 400, 401, 403, 404, 409, 422, 500, 501])
async def test_other_answers_stand(status: int) -> None:
    system = System(answered(status))
    assert (await system.call(Repeat.FREELY)).attempts == 1


async def test_pauses_grow_and_are_drawn_at_random() -> None:
    most = System(LOST)
    await most.call(Repeat.FREELY, attempts=5, seconds=1000)
    assert most.pauses == [0.25, 0.5, 1.0, 2.0]
    least = System(LOST)
    await least.call(Repeat.FREELY, attempts=5, high=False)
    assert least.pauses == [0.0] * 4


async def test_no_sooner_than_the_system_asks() -> None:
    system = System(answered(429, ("retry-after", "7")), answered(200))
    await system.call(Repeat.FREELY, high=False)
    assert system.pauses == [7.0]


async def test_not_at_all_where_it_asks_for_more_time_than_is_left() -> None:
    system = System(answered(503, ("retry-after", "60")), answered(200))
    ended = await system.call(Repeat.FREELY, seconds=30)
    assert (ended.attempts, system.pauses) == (1, [])


async def test_all_tries_share_one_time() -> None:
    system = System(answered(502), seconds=4.0)
    ended = await system.call(Repeat.FREELY, attempts=5, seconds=10, high=False)
    assert ended.attempts == 3
    assert system.given == [10.0, 6.0, 2.0]


async def test_a_try_that_was_turned_away_on_this_side_changes_nothing() -> None:
    system = System(answered(503), TURNED_AWAY)
    ended = await system.call(Repeat.FREELY)
    assert (ended.response is not None and ended.response.status, ended.attempts) == (503, 1)
    assert (await System(TURNED_AWAY).call(Repeat.FREELY)).attempts == 1


DATED = "Mon, 30 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 5 ", 5.0),
        ("Mon, 30 Nov 2026 12:01:30 GMT", 90.0),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0.0),
        ("-1", None),
        ("soon", None),
        ("", None),
        ("1e9", None),
        ("٣", None),
    ],
)
def test_retry_after_in_both_its_forms(value: str, seconds: float | None) -> None:
    response = HttpResponse(429, (("date", DATED), ("retry-after", value)))
    assert retry_after(response) == seconds


def test_retry_after_without_the_systems_own_date_is_measured_here() -> None:
    wait = retry_after(HttpResponse(503, (("retry-after", "Fri, 01 Jan 2100 00:00:00 GMT"),)))
    assert wait is not None
    assert wait > 365 * 24 * 3600
    assert retry_after(HttpResponse(503)) is None


@pytest.mark.parametrize(
    ("exchange", "trouble"),
    [
        (NOT_SENT, True),
        (LOST, True),
        (answered(502), True),
        (answered(503), True),
        (answered(504), True),
        (answered(500), False),
        (answered(429), False),
        (answered(200), False),
        (TURNED_AWAY, None),
    ],
)
def test_what_shows_a_system_that_is_down(exchange: Exchange, trouble: bool | None) -> None:
    assert shows_trouble(exchange) is trouble
