"""A circuit breaker: a system that fails again and again is left alone for a while, then tried by one call.

closed --(so many failures in a row)--> open --(so many seconds)--> one call tries
   ^                                      ^                              |
   |                                      +----------- fails ------------+
   +------------------------------ answers ------------------------------+
"""

import contextlib
from collections.abc import Generator
from dataclasses import dataclass

from practicum_connectors.resilience.clock import Clock

_UNDER_TRIAL_SECONDS = 1.0


@dataclass(slots=True)
class Turn:
    """One call that was let through.

    Attributes:
        failed: what it showed of the system; None while it has shown nothing, as a cancelled call.
    """

    failed: bool | None = None


class Breaker:
    """Decides whether a system is asked at all, by what came of the calls before."""

    def __init__(self, failures: int, seconds: float, clock: Clock | None = None) -> None:
        """Begin closed.

        Args:
            failures: so many in a row open it.
            seconds: how long it stays open before one call tries.
            clock: the time.
        """
        self._most = failures
        self._seconds = seconds
        self._clock = clock or Clock()
        self._failures = 0
        self._opened: float | None = None
        self._trial = False

    def wait(self) -> float:
        """Seconds to wait before a call may go; 0 when it may go now."""
        if self._opened is None:
            return 0.0
        left = self._opened + self._seconds - self._clock.now()
        if left > 0:
            return left
        return _UNDER_TRIAL_SECONDS if self._trial else 0.0

    @contextlib.contextmanager
    def turn(self) -> Generator[Turn]:
        """The time of one call that may go; it tells in the turn what came of it."""
        begun = self._opened
        trial = begun is not None
        self._trial = self._trial or trial
        turn = Turn()
        try:
            yield turn
        finally:
            if trial:
                self._trial = False
            if self._opened == begun:  # else the call was begun in other times: it says nothing of these
                self._settle(turn)

    def _settle(self, turn: Turn) -> None:
        if turn.failed is None:
            return
        if not turn.failed:
            self._failures, self._opened = 0, None
            return
        self._failures += 1
        if self._failures >= self._most:
            self._opened = self._clock.now()
