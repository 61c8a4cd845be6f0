"""What the process itself takes: CPU, memory, and how long its event loop keeps others waiting."""

import asyncio
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from practicum_gateway.metrics.instruments import SHORT_SECONDS, Counter, Family, Histogram, gauge

_TICK_SECONDS = 0.25
_STATM = Path("/proc/self/statm")
_OPEN = Path("/proc/self/fd")


class ProcessMeter:
    """Measures this process.

    Attributes:
        started: when it began, seconds since 1970.
    """

    def __init__(self) -> None:
        """Begin; the loop's lag is measured while `watch` runs."""
        self.started = time.time()
        self._lag = Histogram(
            "practicum.event_loop.lag",
            "s",
            "How much later than asked the event loop goes on, looked at four times a second.",
            bounds=SHORT_SECONDS,
        )

    async def watch(self) -> None:
        """Measure the loop's lag until cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            asked = clock() + _TICK_SECONDS
            await asyncio.sleep(_TICK_SECONDS)
            self._lag.observe(max(0.0, clock() - asked))

    def families(self) -> Iterator[Family]:
        """What it stands at; memory and open files where the system tells them."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu = Counter("process.cpu.time", "s", "CPU seconds, user and system.")
        cpu.add(by=used.ru_utime + used.ru_stime)
        yield from cpu.families()
        yield gauge("process.start.time", "s", "When the process began, since 1970.", self.started)
        if _STATM.exists():
            pages = int(_STATM.read_text().split()[1])
            memory = pages * os.sysconf("SC_PAGE_SIZE")
            yield gauge("process.memory.usage", "By", "Resident memory.", memory)
            yield gauge("process.open_files", "{file}", "Open file descriptors.", sum(1 for _ in _OPEN.iterdir()))
        yield from self._lag.families()
