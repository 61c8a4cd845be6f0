"""Being a considerate caller of a system that may be slow, busy or down: limits, a breaker, and retries."""

from practicum_connectors.resilience.breaker import Breaker, Turn
from practicum_connectors.resilience.clock import Clock
from practicum_connectors.resilience.limits import BusyError, Limits
from practicum_connectors.resilience.retries import Repeat, retried, retry_after, shows_trouble

__all__ = [
    "Breaker",
    "BusyError",
    "Clock",
    "Limits",
    "Repeat",
    "Turn",
    "retried",
    "retry_after",
    "shows_trouble",
]
