"""A request's line and headers, read strictly: what a server before this one may have read otherwise is refused."""

import re
from dataclasses import dataclass

MOST_HEAD_BYTES = 64 * 1024
"""The longest line and headers of a request."""
CHUNKED = -1
"""Stands for the length of a body that comes in chunks."""

_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP/1\.([01])")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?")
_MOST_LINE_BYTES = 4096
_LENGTH = re.compile(rb"[0-9]{1,18}")
_ONCE = frozenset({b"host", b"content-length", b"transfer-encoding", b"authorization"})
"""Of these a second one is refused, even if it says the same."""


class UnclearError(Exception):
    """What came is no HTTP, or none that everybody reads alike."""


@dataclass(frozen=True, slots=True)
class Head:
    """A request's line and headers.

    Attributes:
        method: as it was sent.
        target: path and query as they were sent.
        version: of HTTP.
        headers: in order, names in lower case.
        length: of the body; `CHUNKED` where it comes in chunks.
        goes_on: whether another request may follow on the same connection.
        waits: whether the body is sent only when it is asked for.
    """

    method: str
    target: bytes
    version: str
    headers: list[tuple[bytes, bytes]]
    length: int
    goes_on: bool
    waits: bool


def read_head(text: bytes) -> Head:
    """A head without the empty line at its end.

    Raises:
        UnclearError: it is none, or none that is clear.
    """
    line, *lines = text.split(b"\r\n")
    asked = _LINE.fullmatch(line)
    if asked is None or len(text) > MOST_HEAD_BYTES:
        raise UnclearError
    headers: list[tuple[bytes, bytes]] = []
    once: dict[bytes, bytes] = {}
    connection = b""
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or _NAME.fullmatch(name) is None or _CONTROL.search(value) is not None:
            raise UnclearError
        name, value = name.lower(), value.strip(b" \t")
        if name in _ONCE:
            if name in once:
                raise UnclearError
            once[name] = value
        elif name == b"connection":
            connection += b"," + value.lower()
        elif name == b"expect":
            once[name] = value.lower()
        headers.append((name, value))
    recent = asked[3] == b"1"
    if recent and b"host" not in once:
        raise UnclearError
    return Head(
        method=asked[1].decode(),
        target=asked[2],
        version="1.1" if recent else "1.0",
        headers=headers,
        length=_length(once, recent=recent),
        goes_on=recent and b"close" not in {token.strip() for token in connection.split(b",")},
        waits=recent and once.get(b"expect") == b"100-continue",
    )


def _length(once: dict[bytes, bytes], *, recent: bool) -> int:
    coding, length = once.get(b"transfer-encoding"), once.get(b"content-length")
    if coding is None:
        if length is None:
            return 0
        if _LENGTH.fullmatch(length) is not None:
            return int(length)
    elif length is None and recent and coding.lower() == b"chunked":
        return CHUNKED
    raise UnclearError


class Body:
    """The body of a request, taken from what comes.

    Attributes:
        whole: whether all of it was taken.
    """

    def __init__(self, length: int) -> None:
        """Begin.

        Args:
            length: as the head says it.
        """
        self.whole = length == 0
        self._chunked = length == CHUNKED
        self._left = max(length, 0)
        self._behind = self._last = False
        self._trailing = 0

    def take(self, came: bytearray) -> bytes:
        """As much of the body as has come; what was read is taken off the front.

        Raises:
            UnclearError: its chunks are none.
        """
        pieces: list[bytes] = []
        while not self.whole and came:
            if self._left:
                piece = bytes(came[: self._left])
                del came[: len(piece)]
                pieces.append(piece)
                self._left -= len(piece)
                self._behind = self._chunked and not self._left
                self.whole = not (self._left or self._chunked)
                continue
            end = came.find(b"\r\n")
            if max(end, 0 if end >= 0 else len(came)) > _MOST_LINE_BYTES:
                raise UnclearError
            if end < 0:
                break
            line = bytes(came[:end])
            del came[: end + 2]
            self._read(line)
        return b"".join(pieces)

    def _read(self, line: bytes) -> None:
        """One line between the pieces."""
        if self._behind:  # what ends a chunk
            self._behind = False
            if line:
                raise UnclearError
        elif self._last:  # headers behind the last chunk, of which nobody wants to know
            self._trailing += len(line)
            self.whole = not line
            if self._trailing > MOST_HEAD_BYTES:
                raise UnclearError
        else:
            size = _CHUNK.fullmatch(line)
            if size is None:
                raise UnclearError
            self._left = int(size[1], 16)
            self._last = not self._left
