"""Wakes the readers of an episode's events in this process; readers in others poll."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager


class Bell:
    """One bell per episode that somebody listens to."""

    def __init__(self) -> None:
        """Nobody listens yet."""
        self._listeners: dict[str, set[asyncio.Event]] = {}

    def ring(self, episode: str) -> None:
        """Wake everybody who listens to an episode."""
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
