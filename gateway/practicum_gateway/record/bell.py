"""Wakes the readers of an episode's events; those in other processes are told, and look now and then anyway."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager


def _nobody(_episode: str) -> None:
    """Nobody listens elsewhere."""


class Bell:
    """One bell per episode that somebody listens to."""

    def __init__(self, elsewhere: Callable[[str], None] = _nobody) -> None:
        """Nobody listens yet.

        Args:
            elsewhere: has the bells of an episode rung in other processes.
        """
        self._elsewhere = elsewhere
        self._listeners: dict[str, set[asyncio.Event]] = {}

    def ring(self, episode: str) -> None:
        """Wake everybody who listens to an episode."""
        self.ring_here(episode)
        self._elsewhere(episode)

    def ring_here(self, episode: str) -> None:
        """Wake who listens in this process."""
        for listener in self._listeners.get(episode, ()):
            listener.set()

    @contextmanager
    def listen(self, episode: str) -> Generator[asyncio.Event]:
        """An event that is set whenever the bell rings; the listener clears it before it looks."""
        listener = asyncio.Event()
        self._listeners.setdefault(episode, set()).add(listener)
        try:
            yield listener
        finally:
            listeners = self._listeners[episode]
            listeners.discard(listener)
            if not listeners:
                del self._listeners[episode]
