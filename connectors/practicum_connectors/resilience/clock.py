"""Time, handed in, so that what depends on it can be tried without waiting."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """The time and how to let it pass.

    Attributes:
        now: seconds from some moment on, never going back.
        sleep: waits so many seconds.
    """

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
