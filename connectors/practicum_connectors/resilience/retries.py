"""Trying again: only what is harmless to repeat, only so often, and no sooner than the system asks for.

What may be repeated is decided by whoever knows the call; here the rule is kept that a call with an effect is tried
again only after an answer by which the system said that it did nothing. One that may have taken effect is left to
whoever keeps the ledger, even where the system would recognise its idempotency key: a second answer does not tell by
itself what became of the first call.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus

from practicum_connectors.exchange import Delivery, Exchange, HttpResponse
from practicum_connectors.resilience.clock import Clock

_FIRST_WAIT_SECONDS = 0.25
_LONGEST_WAIT_SECONDS = 8.0
_DECLINED = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_DOWN = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT})


class Repeat(StrEnum):
    """How far a call may be repeated."""

    NEVER = "never"
    """Not at all: a second time might do it twice."""
    IF_DECLINED = "if_declined"
    """After an answer by which nothing was done: it carries the system's own idempotency key."""
    FREELY = "freely"
    """Whatever became of it: it only reads."""


async def retried(
    attempt: Callable[[float], Awaitable[Exchange]],
    repeat: Repeat,
    *,
    attempts: int,
    seconds: float,
    clock: Clock | None = None,
    draw: Callable[[float, float], float] = random.uniform,
) -> Exchange:
    """Try a call, and again where that is harmless and may help.

    Args:
        attempt: tries once, within so many seconds.
        repeat: how far the call may be repeated.
        attempts: most tries.
        seconds: bound on all of them with their pauses.
        clock: the time.
        draw: a number between two, for pauses that do not fall together with those of others.

    Returns:
        What came of the last try that reached out; `attempts` says how many there were.
    """
    clock = clock or Clock()
    end = clock.now() + seconds
    exchange = await attempt(seconds)
    tries = 1
    while tries < attempts and _may_help(exchange, repeat):
        pause = _pause(exchange, tries, draw)
        if clock.now() + pause >= end:
            break
        await clock.sleep(pause)
        following = await attempt(end - clock.now())
        if not following.tried:
            break
        exchange, tries = following, tries + 1
    return exchange if tries == exchange.attempts else replace(exchange, attempts=tries)


def retry_after(response: HttpResponse) -> float | None:
    """Seconds that a response asks to wait, by `Retry-After` in either of its forms; None where it does not ask."""
    value = (response.header("retry-after") or "").strip()
    if value.isascii() and value.isdecimal():
        return float(value)
    until = _moment(value)
    if until is None:
        return None
    now = _moment(response.header("date") or "") or datetime.now(UTC)
    return max(0.0, (until - now).total_seconds())


def shows_trouble(exchange: Exchange) -> bool | None:
    """Whether what came of a try shows a system that is down; None where nothing was tried."""
    if not exchange.tried:
        return None
    return exchange.response is None or exchange.response.status in _DOWN


def _may_help(exchange: Exchange, repeat: Repeat) -> bool:
    if repeat is Repeat.NEVER or not exchange.tried:
        return False
    if exchange.response is not None:
        status = exchange.response.status
        return status in _DECLINED or (repeat is Repeat.FREELY and status in _DOWN)
    return exchange.delivery is Delivery.NOT_SENT or repeat is Repeat.FREELY


def _pause(exchange: Exchange, tries: int, draw: Callable[[float, float], float]) -> float:
    most = min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2.0 ** (tries - 1))
    asked = None if exchange.response is None else retry_after(exchange.response)
    return draw(0.0, most) if asked is None else asked + draw(0.0, _FIRST_WAIT_SECONDS)


def _moment(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
