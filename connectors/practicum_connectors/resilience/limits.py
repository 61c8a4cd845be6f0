"""How many calls a system takes at once, and how many in a second."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator

from practicum_connectors.resilience.clock import Clock


class BusyError(Exception):
    """A call cannot be made within its time because others have to be made first."""

    def __init__(self, seconds: float | None = None) -> None:
        """Say how long it would have had to wait, where that is known."""
        super().__init__("Too many calls at once.")
        self.seconds = seconds


class Limits:
    """Lets calls go as fast as the limits allow, in the order in which they came.

    The rate holds for every stretch of time: with 5 a second no second ever sees a sixth, wherever it begins.
    """

    def __init__(self, concurrent: int, per_second: float | None = None, clock: Clock | None = None) -> None:
        """Begin with nothing under way.

        Args:
            concurrent: most calls at once.
            per_second: most calls in a second; None for any number.
            clock: the time.
        """
        self._slots = asyncio.Semaphore(concurrent)
        self._clock = clock or Clock()
        burst = max(1, int(per_second or 1))
        self._window = None if per_second is None else burst / per_second
        self._starts: deque[float] = deque(maxlen=burst)

    @contextlib.asynccontextmanager
    async def slot(self, within: float) -> AsyncGenerator[None]:
        """The time of one call, as soon as it may go.

        Args:
            within: most seconds to wait for that.

        Raises:
            BusyError: it may not go within that time; nothing was reserved.
        """
        begun = self._clock.now()
        try:
            if self._slots.locked():
                async with asyncio.timeout(within):
                    await self._slots.acquire()
            else:
                await self._slots.acquire()  # at once
        except TimeoutError:
            raise BusyError from None
        try:
            wait = self._reserve(within - (self._clock.now() - begun))
            if wait > 0:
                await self._clock.sleep(wait)
            yield
        finally:
            self._slots.release()

    def _reserve(self, within: float) -> float:
        """Seconds until the next call may start; from now on that start is taken."""
        if self._window is None:
            return 0.0
        now = self._clock.now()
        start = now
        if len(self._starts) == self._starts.maxlen:
            start = max(now, self._starts[0] + self._window)
        if start - now > within:
            raise BusyError(start - now)
        self._starts.append(start)
        return start - now
