"""Answers that come bit by bit: server-sent events and JSON line by line, bounded where they have no end of their own.

`watch` is asked when the headers of an answer are there; what it gives counts the answer as it arrives, and says when
enough of it was read. What was read until then is the answer.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.response.json_values import parse_json

Kind = Literal["events", "lines"]

_KINDS: Final[dict[str, Kind]] = {
    "text/event-stream": "events",
    "application/x-ndjson": "lines",
    "application/ndjson": "lines",
    "application/jsonl": "lines",
    "application/x-jsonlines": "lines",
    "application/json-lines": "lines",
    "application/jsonlines": "lines",
    "application/stream+json": "lines",
    "application/x-json-stream": "lines",
    "application/json-seq": "lines",
}
_START_BYTES = 8
"""As much of the beginning of a line as tells what it is."""
_RECORD = "\x1e"
"""Stands before each value of `application/json-seq`."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of a stream is read.

    Attributes:
        items: most events or lines.
        bytes: most bytes.
        seconds: longest time.
    """

    items: int
    bytes: int
    seconds: float


BOUNDS: Final[dict[Kind, Bounds]] = {
    "events": Bounds(items=500, bytes=1024 * 1024, seconds=10.0),
    "lines": Bounds(items=50_000, bytes=16 * 1024 * 1024, seconds=15.0),
}
"""Events are news, which go on for ever; lines are mostly an export, which has an end."""


def stream_kind(content_type: str) -> Kind | None:
    """What kind of stream a media type is; None if it is none.

    Args:
        content_type: a Content-Type header, with or without parameters.
    """
    name, _, parameters = content_type.lower().partition(";")
    name = name.strip()
    if name.endswith("+json-seq") or (name == "application/json" and "stream=" in parameters):
        return "lines"  # `stream=watch` is how Kubernetes says it
    return _KINDS.get(name)


def watch(content_type: str) -> "Stream | None":
    """What counts an answer of a media type; None if it is no stream and is read to its end.

    Args:
        content_type: a Content-Type header.
    """
    kind = stream_kind(content_type)
    return None if kind is None else Stream(kind, BOUNDS[kind])


class Stream:
    """One stream, counted as it arrives.

    Attributes:
        seconds: the longest time for which it is read.
    """

    def __init__(self, kind: Kind, bounds: Bounds) -> None:
        """Count nothing yet.

        Args:
            kind: what comes.
            bounds: how much of it is read.
        """
        self.seconds = bounds.seconds
        self._bounds = bounds
        self._of_events = kind == "events"
        self._bytes = self._items = 0
        self._line = b""
        self._after_return = self._has_data = False

    def enough(self, chunk: bytes) -> bool:
        """Count what came, and say whether no more of it is wanted."""
        self._bytes += len(chunk)
        if chunk:
            lines = (self._line + self._even(chunk)).split(b"\n")
            self._line = lines.pop()[:_START_BYTES]
            for line in lines:
                self._count(line)
        return self._items >= self._bounds.items or self._bytes >= self._bounds.bytes

    def _even(self, chunk: bytes) -> bytes:
        """The chunk with one kind of line end, whatever stood at the end of the one before."""
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_return = False
        if chunk:
            self._after_return = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _count(self, line: bytes) -> None:
        if not self._of_events:
            self._items += bool(line.strip())
        elif line:
            self._has_data = self._has_data or line.startswith(b"data")
        elif self._has_data:
            self._items, self._has_data = self._items + 1, False


def read_events(text: str, *, complete: bool) -> list[JsonValue]:
    """The server-sent events of a text: `data` (JSON where it is some), and `event` and `id` where they are given.

    Args:
        text: what was read of the stream.
        complete: whether it ended by itself, so that the last event is whole too.
    """
    events: list[JsonValue] = []
    fields: list[tuple[str, str]] = []
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for line in [*lines, *([""] if complete else [])]:
        if line:
            name, _, value = line.partition(":")
            fields.append((name, value.removeprefix(" ")))
            continue
        event = _event(fields)
        if event is not None:
            events.append(event)
        fields = []
    return events


def _event(fields: Iterable[tuple[str, str]]) -> JsonObject | None:
    """One event; None for a block that carries none, such as a comment that keeps a connection open."""
    data = [value for name, value in fields if name == "data"]
    if not data:
        return None
    said = "\n".join(data)
    parsed = parse_json(said)
    event: JsonObject = {name: value for name, value in fields if name in {"event", "id"} and value}
    return {**event, "data": said if parsed is None else parsed.value}


def read_lines(text: str, *, complete: bool) -> list[JsonValue] | None:
    """The values of JSON line by line; None if a line is none.

    Args:
        text: what was read of the stream.
        complete: whether it ended by itself; else its last line may be half a value, which is left out.
    """
    values: list[JsonValue] = []
    lines = list(_lines(text))
    for number, line in enumerate(lines, 1):
        parsed = parse_json(line)
        if parsed is not None:
            values.append(parsed.value)
        elif complete or number < len(lines):
            return None
    return values


def _lines(text: str) -> Iterator[str]:
    text = text.removeprefix("\ufeff")
    for record in text.split(_RECORD if _RECORD in text else "\n"):
        if record.strip():
            yield record
