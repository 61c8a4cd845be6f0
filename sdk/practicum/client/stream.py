"""Server-sent events without a network: bytes in, data out, and where a reader stands after each event."""

import time
from collections.abc import Iterator

from practicum.contracts.episodes import EpisodeEvent
from practicum.errors import GatewayUnavailableError

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 2.0


class EventBuffer:
    """Cuts a byte stream into the data of server-sent events.

    Lines end with a line feed only, as the gateway writes them: JSON may hold other characters that some libraries
    take for the end of a line.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The data of each event that `piece` completes."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            stripped = line.removesuffix(b"\r")
            if not stripped and self._data:
                yield b"\n".join(self._data)
                self._data = []
            elif stripped.startswith(b"data:"):
                self._data.append(stripped.removeprefix(b"data:").removeprefix(b" "))


class Following:
    """Where a reader of an episode's events stands, over as many connections as it takes.

    Attributes:
        after: sequence of the last event seen.
        ended: whether the episode's last event was seen.
    """

    def __init__(self, after: int, patience: float, *, known: bool = False) -> None:
        """Begin.

        Args:
            after: sequence after which to begin.
            patience: seconds that a lost gateway is waited for.
            known: the gateway has answered before, so that one which is away will come back.
        """
        self.after = after
        self.ended = False
        self._patience = patience
        self._connected = known
        self._lost_at: float | None = None
        self._pause = FIRST_PAUSE

    def alive(self) -> None:
        """The gateway answers."""
        self._connected = True
        self._lost_at = None

    def fresh(self, event: EpisodeEvent) -> bool:
        """Take an event; whether it was not seen before."""
        if event.sequence <= self.after:
            return False
        self.after = event.sequence
        self.ended = event.type == "episode.ended"
        self._pause = FIRST_PAUSE
        return True

    def lost(self, error: GatewayUnavailableError) -> None:
        """The gateway went away.

        Raises:
            GatewayUnavailableError: `error`, when the gateway was never there or patience is at its end.
        """
        now = time.monotonic()
        if self._lost_at is None:
            self._lost_at = now
        if not self._connected or now - self._lost_at >= self._patience:
            raise error

    def pause(self) -> float:
        """Seconds to wait before the next connection; they grow while nothing new arrives."""
        pause = self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        return pause
