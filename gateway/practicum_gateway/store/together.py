"""What several ask for at the same moment is done at once, and what comes meanwhile is done next."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

_A = TypeVar("_A")
_G = TypeVar("_G")
_MOST = 128
"""How much is done at once: more costs no less each, and others wait longer for their turn."""


class Together(Generic[_A, _G]):
    """Does things in batches, one batch after the other."""

    def __init__(
        self,
        do: Callable[[Sequence[_A]], Awaitable[Sequence[_G | Exception]]],
        *,
        apart: Callable[[_A], Hashable] | None = None,
    ) -> None:
        """Have nothing to do yet.

        Args:
            do: does a batch and gives what came of each, in their order; what it raises is told to all of them.
            apart: of those for which it gives the same, one is in a batch, and the others in later ones.
        """
        self._do = do
        self._apart = apart
        self._waiting: list[tuple[_A, asyncio.Future[_G]]] = []
        self._running: asyncio.Task[None] | None = None
        self._work: asyncio.Future[Sequence[_G | Exception]] | None = None

    async def __call__(self, asked: _A) -> _G:
        """What comes of one; whoever is cancelled before its batch begins is left out of it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_G] = loop.create_future()
        self._waiting.append((asked, future))
        if self._running is None:
            self._running = loop.create_task(self._run())
        return await future

    async def close(self) -> None:
        """Let what was asked for be done."""
        if self._running is not None:
            await asyncio.wait([self._running])

    async def _run(self) -> None:
        try:
            while batch := self._next():
                await self._one(batch)
                await asyncio.sleep(0)  # whoever was answered and asks again at once is in the next one
        finally:
            self._running = None

    async def _one(self, batch: Sequence[tuple[_A, "asyncio.Future[_G]"]]) -> None:
        """A batch, of which whatever happens is told to those who wait for it."""
        work = self._work = asyncio.ensure_future(self._do([asked for asked, _ in batch]))
        await asyncio.wait([work])
        error = None if work.cancelled() else work.exception()  # asked for, though nobody may wait for it any more
        waiting = [(place, future) for place, (_, future) in enumerate(batch) if not future.done()]
        for place, future in waiting:
            if work.cancelled():
                future.cancel()
            elif error is not None:
                future.set_exception(error)
            elif isinstance(found := work.result()[place], Exception):
                future.set_exception(found)
            else:
                future.set_result(found)

    def _next(self) -> list[tuple[_A, "asyncio.Future[_G]"]]:
        batch: list[tuple[_A, asyncio.Future[_G]]] = []
        left: list[tuple[_A, asyncio.Future[_G]]] = []
        taken = set[Hashable]()
        for one in self._waiting:
            if one[1].done():
                continue
            mark = None if self._apart is None else self._apart(one[0])
            if len(batch) == _MOST or mark in taken:
                left.append(one)
                continue
            if mark is not None:
                taken.add(mark)
            batch.append(one)
        self._waiting = left
        return batch
