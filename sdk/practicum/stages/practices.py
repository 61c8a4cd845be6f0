"""Many private copies of a suite's systems, for code that is not async: a trainer waits for its systems anyway.

The copies live in a thread of their own with an event loop of their own, each opened and closed by one task, so that
it does not matter from where they are used. Whatever goes wrong in a copy is told as the `Lost` of that seat: it is
never the policy's doing, and must not end the others' episodes.
"""

import asyncio
import logging
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from practicum.contracts.base import JsonObject
from practicum.contracts.tasks import States
from practicum.contracts.tools import CallStatus, Observation, Tool
from practicum.errors import CallError, UpstreamError
from practicum.tasks import Practice, Suite

_LOG = logging.getLogger(__name__)
_PATIENCE = 60.0
"""Seconds for one operation of a copy."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Lost:
    """An operation that came to nothing through no fault of the policy."""

    reason: str


@dataclass(frozen=True, slots=True)
class SeatCall:
    """A tool call in one seat's systems."""

    tool: str
    arguments: JsonObject
    key: str


class Practices:
    """Copies of a suite's systems, one for each seat; use it in a `with` statement."""

    def __init__(self, suite: Suite, seats: int, *, patience: float = _PATIENCE) -> None:
        """Say how many.

        Args:
            suite: whose systems.
            seats: how many episodes go on at once.
            patience: seconds for one operation, after which it is lost.
        """
        self.seats = seats
        self._suite = suite
        self._patience = patience
        self._open: list[_Seat] = []
        self._broken: set[int] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="practices", daemon=True)

    def __enter__(self) -> Self:
        """Open the copies.

        Raises:
            UpstreamError: they cannot be opened.
        """
        self._thread.start()
        (failure,) = self._together([self._open_all()])
        if isinstance(failure, Exception):
            self._end()
            raise UpstreamError(f"The systems of the suite {self._suite.name} cannot be opened: {failure}") from failure
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the copies."""
        self._end()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools of the systems, sorted by name."""
        return self._open[0].practice.tools

    def load(self, starts: Mapping[int, States]) -> Mapping[int, Lost | None]:
        """Put seats into start states; a seat that was lost before gets new systems first."""
        return self._each({seat: self._load(seat, start) for seat, start in starts.items()})

    def call(self, calls: Mapping[int, SeatCall]) -> Mapping[int, Observation | Lost]:
        """Make a call in each of some seats."""
        return self._each({seat: _called(self._open[seat].practice, call) for seat, call in calls.items()})

    def states(self, seats: Sequence[int]) -> Mapping[int, States | Lost]:
        """What the systems of some seats hold."""
        return self._each({seat: self._open[seat].practice.state() for seat in seats})

    async def _open_all(self) -> None:
        for _ in range(self.seats):
            self._open.append(await _Seat.taken(self._suite))

    async def _load(self, seat: int, start: States) -> None:
        if seat in self._broken:
            await self._open[seat].leave(self._patience)
            self._open[seat] = await _Seat.taken(self._suite)
            self._broken.discard(seat)
        await self._open[seat].practice.load(start)

    def _each(self, work: Mapping[int, Coroutine[Any, Any, T]]) -> Mapping[int, T | Lost]:
        """Do something in some seats at once and wait for all of it."""
        outcomes = self._together([asyncio.wait_for(one, self._patience) for one in work.values()])
        return {seat: self._judged(seat, outcome) for seat, outcome in zip(work, outcomes, strict=True)}

    def _judged(self, seat: int, outcome: T | Exception) -> T | Lost:
        """The one boundary at which whatever a system throws becomes a lost episode."""
        if not isinstance(outcome, Exception):
            return outcome
        _LOG.warning("The practice systems of seat %d failed: %r", seat, outcome)
        self._broken.add(seat)
        return Lost(f"{type(outcome).__name__}: {outcome}".rstrip(": "))

    def _together(self, work: Sequence[Coroutine[Any, Any, T]]) -> list[T | Exception]:
        """What came of each, in the copies' own thread."""

        async def all_of_it() -> list[T | BaseException]:
            return await asyncio.gather(*work, return_exceptions=True)

        outcomes = asyncio.run_coroutine_threadsafe(all_of_it(), self._loop).result()
        for outcome in outcomes:
            if isinstance(outcome, BaseException) and not isinstance(outcome, Exception):
                raise outcome
        return [
            outcome for outcome in outcomes if not isinstance(outcome, BaseException) or isinstance(outcome, Exception)
        ]

    def _end(self) -> None:
        self._together([seat.leave(self._patience) for seat in self._open])
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Seat:
    """One copy, entered and left by a task of its own."""

    practice: Practice

    def __init__(self, suite: Suite) -> None:
        self._suite = suite
        self._opened, self._leaving = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._live())

    @classmethod
    async def taken(cls, suite: Suite) -> "_Seat":
        """Open a copy; raises what its opening raises."""
        seat = cls(suite)
        opened = asyncio.create_task(seat._opened.wait())
        await asyncio.wait({opened, seat._task}, return_when=asyncio.FIRST_COMPLETED)
        opened.cancel()
        if not seat._opened.is_set():
            seat._task.result()
        return seat

    async def leave(self, patience: float) -> None:
        """Close the copy as well as it lets itself be closed."""
        self._leaving.set()
        done, _ = await asyncio.wait({self._task}, timeout=patience)
        for task in done:
            if not task.cancelled() and (error := task.exception()) is not None:
                _LOG.warning("Practice systems did not close: %r", error)
        self._task.cancel()

    async def _live(self) -> None:
        async with self._suite.practice() as self.practice:
            self._opened.set()
            await self._leaving.wait()


async def _called(practice: Practice, call: SeatCall) -> Observation:
    try:
        return await practice.call(call.tool, call.arguments, call.key)
    except CallError as error:
        # The call itself is wrong: that is the policy's own doing, and it is told so.
        return Observation(status=CallStatus.ERROR, content=str(error))
