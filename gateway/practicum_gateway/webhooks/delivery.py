"""Delivery: one attempt to post a message, and what its end means."""

import random
import time
from dataclasses import dataclass

from practicum.contracts.base import utc_now
from practicum.contracts.webhooks import WebhookAttempt
from practicum_connectors.exchange import Exchange, HttpRequest
from practicum_connectors.sender import Sender
from practicum_gateway.webhooks.receivers import Receiver
from practicum_gateway.webhooks.signatures import signed

MOST_TRIES = 30
"""How often a message is tried; with the pauses between that is about a day."""
SECONDS = 15.0
"""How long a receiver may take to answer."""
_LONGEST_PAUSE = 3600.0
_GROWTH = 4.0
_JITTER = 0.2
_STEPS = 8  # further ones are no longer anyway
_READ_BYTES = 1024
_OK = range(200, 300)
_GONE = 410


@dataclass(frozen=True, slots=True)
class Posted:
    """How an attempt went.

    Attributes:
        attempt: when it ended, and how.
        retry_after: seconds that the receiver asks to wait, 0 where it does not.
        gone: whether it wants no more attempts.
    """

    attempt: WebhookAttempt
    retry_after: float = 0.0
    gone: bool = False


def pause_after(tries: int) -> float:
    """Seconds until the next attempt: growing, and never quite the same, so that not all come at once.

    Args:
        tries: how many attempts there were.
    """
    pause = min(_LONGEST_PAUSE, _GROWTH ** (min(tries, _STEPS) - 1))
    return pause * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311  # no secret


def sender_of(receiver: Receiver) -> Sender:
    """What posts to a receiver: guarded against private addresses unless it may be at one, following no redirect."""
    return Sender(private_network=receiver.private_network, max_response_bytes=_READ_BYTES)


async def post(sender: Sender, receiver: Receiver, message: str, body: bytes, seconds: float = SECONDS) -> Posted:
    """Sign a message as of now and post it, once; never raises for what the receiver does.

    Args:
        sender: made for the receiver.
        receiver: to whom.
        message: its `webhook-id`.
        body: what is told.
        seconds: how long the receiver may take.
    """
    envelope = signed(body, id=message, at=time.time(), by=receiver.signing)
    plain = (("Content-Type", "application/json"), ("User-Agent", "practicum"))
    request = HttpRequest("POST", receiver.secrets.url, (*plain, *envelope.headers), body)
    return _judged(await sender.send(request, timeout_seconds=seconds))


def _judged(exchange: Exchange) -> Posted:
    response = exchange.response
    if response is None:
        return Posted(WebhookAttempt(at=utc_now(), ok=False, said=(exchange.reason or "No answer.")[:300]))
    attempt = WebhookAttempt(at=utc_now(), ok=response.status in _OK, said=f"answered {response.status}")
    asked = response.header("retry-after") or ""
    wait = min(float(asked), _LONGEST_PAUSE) if asked.isascii() and asked.isdigit() else 0.0
    return Posted(attempt, retry_after=wait, gone=response.status == _GONE)
