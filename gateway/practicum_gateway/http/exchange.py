"""One request and its answer, between a connection and the application (ASGI)."""

import asyncio
import logging
import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Protocol

from starlette.types import ASGIApp, Message

from practicum_gateway.http.heads import Head

logger = logging.getLogger("practicum_gateway")

_MOST_HELD_BYTES = 64 * 1024
"""So much of a body waits to be taken before no more of it is read."""
_WITHOUT_BODY = frozenset({204, 304})
_LINES = {int(status): f"HTTP/1.1 {int(status)} {status.phrase}\r\n".encode() for status in HTTPStatus}
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"

Headers = Iterable[tuple[bytes, bytes]]


class Wire(Protocol):
    """What an exchange asks of its connection."""

    def write(self, data: bytes) -> None:
        """Send something."""
        ...

    async def drain(self) -> None:
        """Wait until there is room for more."""
        ...

    def read_on(self) -> None:
        """Go on reading."""
        ...

    def pause(self) -> None:
        """Read no more for now."""
        ...

    def answered(self, *, goes_on: bool) -> None:
        """Take note that the answer is whole, and whether another request may follow."""
        ...

    def break_off(self) -> None:
        """End the connection: what was sent cannot be taken back."""
        ...


class Exchange:
    """One request and its answer.

    Attributes:
        begun: whether anything was answered.
        whole: whether all was answered.
    """

    def __init__(self, head: Head, scope: dict[str, Any], wire: Wire, defaults: Headers) -> None:
        """Begin with a request's head.

        Args:
            head: the head.
            scope: the same as applications take it.
            wire: the connection.
            defaults: headers of every answer.
        """
        self._head = head
        self._scope = scope
        self._wire = wire
        self._defaults = defaults
        self._came = asyncio.Event()
        self._body = bytearray()
        self._all_came = head.length == 0
        self._waits = head.waits
        self._gone = False
        self._line_and_headers = b""
        self._chunked = False
        self._left: int | None = None
        self._goes_on = head.goes_on
        self.begun = self.whole = False
        if self._all_came:
            self._came.set()

    async def run(self, app: ASGIApp) -> None:
        """Let the application answer."""
        try:
            await app(self._scope, self.receive, self.send)
        finally:
            if not (self.whole or self._gone):
                logger.error("a request was left without a whole answer")
                self._wire.break_off()

    def take(self, piece: bytes, *, last: bool) -> None:
        """Take a piece of the body; what comes after the answer is dropped."""
        self._all_came = last
        if not self.whole:
            self._body += piece
            self._came.set()
            if len(self._body) > _MOST_HELD_BYTES:
                self._wire.pause()

    def let_end(self) -> None:
        """Let no other request follow."""
        self._goes_on = False

    def lose(self) -> None:
        """Take note that nobody is there any more."""
        self._gone = not self.whole
        self._came.set()

    async def receive(self) -> Message:
        """What comes next of the body, as ASGI has it."""
        if self._waits:
            self._wire.write(_CONTINUE)
            self._waits = False
        if not (self._gone or self.whole):
            self._wire.read_on()
            await self._came.wait()
            self._came.clear()
        if self._gone or self.whole:
            return {"type": "http.disconnect"}
        piece, self._body = bytes(self._body), bytearray()
        return {"type": "http.request", "body": piece, "more_body": not self._all_came}

    async def send(self, message: Message) -> None:
        """Answer, as ASGI has it.

        Raises:
            RuntimeError: what is answered is no answer.
        """
        await self._wire.drain()
        if self._gone:
            return
        if not self.begun:
            _require(message, "http.response.start")
            self._waits = False
            self.begun = True
            self._line_and_headers = self._started(message["status"], message.get("headers", ()))
        elif not self.whole:
            _require(message, "http.response.body")
            self._continue(message.get("body", b""), last=not message.get("more_body", False))
        else:
            raise RuntimeError("an answer goes on after its end")

    def _started(self, status: int, headers: Headers) -> bytes:
        """The line and the headers of the answer, which go out with the first of its body."""
        parts = [_LINES.get(status) or f"HTTP/1.1 {status} \r\n".encode()]
        framed = closes = False
        for name, value in (*self._defaults, *headers):
            if _NAME.fullmatch(name) is None or _CONTROL.search(value) is not None:
                raise RuntimeError("a header of an answer is none")
            parts.append(b"%b: %b\r\n" % (name, value))
            match name.lower():
                case b"content-length":
                    framed, self._left = True, int(value)
                case b"connection":
                    closes = closes or b"close" in value.lower()
                case _:
                    pass
        self._goes_on = self._goes_on and not closes
        if self._head.method == "HEAD" or status in _WITHOUT_BODY:
            self._left = None
        elif not framed and self._head.version == "1.1":
            self._chunked = True
            parts.append(b"transfer-encoding: chunked\r\n")
        elif not framed:  # its end is the connection's
            self._goes_on = False
        if not (self._goes_on or closes):
            parts.append(b"connection: close\r\n")
        parts.append(b"\r\n")
        return b"".join(parts)

    def _continue(self, piece: bytes, *, last: bool) -> None:
        """Send a piece of the answer's body."""
        if self._head.method == "HEAD":
            piece = b""
        if self._left is not None:
            self._left -= len(piece)
            if self._left < 0 or (last and self._left):
                raise RuntimeError("an answer has another length than it says")
        elif self._chunked:
            piece = (b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b"") + (_LAST_CHUNK if last else b"")
        if self._line_and_headers or piece:
            self._wire.write(self._line_and_headers + piece)
            self._line_and_headers = b""
        if last:
            self.whole = True
            self._came.set()
            self._wire.answered(goes_on=self._goes_on)


def _require(message: Message, kind: str) -> None:
    if message["type"] != kind:
        raise RuntimeError(f"'{message['type']}' where '{kind}' is expected")
