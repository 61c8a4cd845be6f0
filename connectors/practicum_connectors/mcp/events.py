"""The events of a stream, taken as they arrive: what they carry, and when the one that is waited for is there."""

import math
from collections.abc import Callable
from typing import Final

from practicum_connectors.exchange import Stream, Watch

_MOST_EVENTS: Final = 20_000
"""Of one stream: what it says of how a call goes on is looked at too."""


class Events:
    """Server-sent events, fed in pieces."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._line: list[bytes] = []
        self._after_return = False
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[str]:
        """What the events that end in this piece carry.

        Args:
            chunk: the next bytes.
        """
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r")
        first, *rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._line.append(first)
        if not rest:  # joined once the line has ended, however many pieces it comes in
            return []
        lines = [b"".join(self._line), *rest]
        self._line = [lines.pop()]
        found: list[str] = []
        for line in lines:
            if line:
                name, _, value = line.partition(b":")
                if name == b"data":
                    self._data.append(value.removeprefix(b" "))
            elif self._data:
                found.append(b"\n".join(self._data).decode(errors="replace"))
                self._data = []
        return found


def waiting_for(is_answer: Callable[[str], bool]) -> Watch:
    """Reads a stream of events until one is the answer that is waited for; anything else is read to its end.

    Args:
        is_answer: whether what an event carries is it.
    """

    def watch(content_type: str) -> Stream | None:
        kind = content_type.partition(";")[0].strip().lower()
        return _Waiting(is_answer) if kind == "text/event-stream" else None

    return watch


class _Waiting:
    """One stream; it may take as long as the call may."""

    def __init__(self, is_answer: Callable[[str], bool]) -> None:
        self.seconds = math.inf
        self._events = Events()
        self._is_answer = is_answer
        self._left = _MOST_EVENTS

    def enough(self, chunk: bytes) -> bool:
        texts = self._events.feed(chunk)
        self._left -= len(texts)
        return self._left < 0 or any(self._is_answer(text) for text in texts)
