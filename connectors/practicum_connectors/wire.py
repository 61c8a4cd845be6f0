"""HTTP/1.1 over the event loop's own connections: a transport for httpx that does what a sender needs and no more.

httpx's usual one looks at every connection that it holds before each request and passes each byte through four layers,
which costs more than all else about a call when many are made at a time. This one speaks to a single origin, and who
asks bounds the time of the whole.
"""

import asyncio
import re
import select
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeAlias, cast

import httptools
import httpx

STARTED = "started"
"""The extension of a request whose value is called right before its first byte leaves."""

_MOST_QUIET_BYTES = 128 * 1024
"""As much may come that is no body: a head, a chunk's line, what follows the last chunk."""
_MOST_HELD_BYTES = 256 * 1024
"""So much of a body waits to be taken before no more of it is read."""
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_TARGET = re.compile(rb"[\x21-\x7e]+")
_VALUE = re.compile(rb"(?:[^\x00\s](?:[^\x00\n\r\v\f]*[^\x00\s])?)?")
_WITHOUT_BODY = frozenset({204, 304})
_INFORMATION = range(100, 200)

_Place: TypeAlias = tuple[str, int, str | None]
"""Host, port, and the name that its certificate has to show."""


class Transport(httpx.AsyncBaseTransport):
    """Connections to one origin, kept for a while; each carries one request at a time."""

    def __init__(self, *, tls: ssl.SSLContext, connections: int, keep_alive: float, connect_seconds: float) -> None:
        """Connect to nothing yet.

        Args:
            tls: what connections are made with where the origin asks for it.
            connections: most at a time.
            keep_alive: seconds for which one is kept that nobody uses.
            connect_seconds: the longest that making one may take.
        """
        tls.set_alpn_protocols(["http/1.1"])
        self._tls = tls
        self._slots = asyncio.Semaphore(connections)
        self._keep_alive = keep_alive
        self._connect_seconds = connect_seconds
        self._idle: deque[tuple[_Place, float, _Connection]] = deque()
        self._sweeping: asyncio.TimerHandle | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and return once the head of its answer is there; its body is read from the answer.

        Raises:
            httpx.LocalProtocolError: it is no valid HTTP; nothing was sent.
            httpx.ConnectError, httpx.ConnectTimeout: there is no connection to be had; nothing was sent.
            httpx.TransportError: the connection broke, or the answer is no valid HTTP.
        """
        written = _written(request)
        await self._slots.acquire()
        connection: _Connection | None = None
        try:
            place = _place_of(request)
            connection = self._kept(place) or await self._connect(place)
            request.extensions.get(STARTED, _nothing)()
            answer = connection.ask(written, bodiless=request.method == "HEAD")
            await answer.begun()
        except BaseException:
            if connection is not None:
                connection.drop()
            self._slots.release()
            raise
        body = _Body(answer, lambda: self._done(place, connection, answer))
        return httpx.Response(answer.status, headers=answer.headers, stream=body, request=request)

    async def aclose(self) -> None:
        """Close the connections that nobody uses; those in use end with their answers."""
        self._keep_alive = 0.0
        self._sweep()

    async def _connect(self, place: _Place) -> "_Connection":
        host, port, name = place
        try:
            async with asyncio.timeout(self._connect_seconds):
                _, connection = await asyncio.get_running_loop().create_connection(
                    _Connection, host, port, ssl=None if name is None else self._tls, server_hostname=name
                )
        except TimeoutError:
            raise httpx.ConnectTimeout(f"no connection within {self._connect_seconds:g} s") from None
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(str(error)) from error
        return connection

    def _kept(self, place: _Place) -> "_Connection | None":
        """A connection that is still there, the one used last first."""
        for number in range(len(self._idle) - 1, -1, -1):
            found, until, connection = self._idle[number]
            if found == place:
                del self._idle[number]
                if time.monotonic() < until and connection.is_silent():
                    return connection
                connection.drop()
        return None

    def _done(self, place: _Place, connection: "_Connection", answer: "_Answer") -> None:
        """Take a connection back after its answer."""
        self._slots.release()
        if not connection.leave(answer) or not self._keep_alive:
            connection.drop()
            return
        self._idle.append((place, time.monotonic() + self._keep_alive, connection))
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(self._keep_alive, self._sweep)

    def _sweep(self) -> None:
        """Let go of connections that nobody used for long enough, and look again when the next is due."""
        now = time.monotonic()
        while self._idle and (not self._keep_alive or self._idle[0][1] <= now):
            self._idle.popleft()[2].drop()
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        if self._idle:
            self._sweeping = asyncio.get_running_loop().call_later(self._idle[0][1] - now, self._sweep)


class _Connection(asyncio.Protocol):
    """One connection and the answer that it waits for."""

    def __init__(self) -> None:
        self._answer: _Answer | None = None
        self._transport: asyncio.Transport
        self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # nobody asked
            self._transport.abort()
            return
        self._answer.take(data)
        if self._answer.error is not None:
            self._transport.abort()
        elif self._answer.held > _MOST_HELD_BYTES:
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self._answer is not None:
            self._answer.end(exc)

    def ask(self, written: bytes, *, bodiless: bool) -> "_Answer":
        """Send a request; bodiless is one whose answer only says what its body would be."""
        self._answer = _Answer(self._transport.resume_reading, bodiless=bodiless)
        self._transport.write(written)
        return self._answer

    def leave(self, answer: "_Answer") -> bool:
        """Wait for this answer no longer; whether another request may follow."""
        self._answer = None
        whole = answer.keeps and not self._transport.get_write_buffer_size()
        return whole and not self._lost and not self._transport.is_closing()

    def is_silent(self) -> bool:
        """Whether it is open and nothing has come that nobody asked for, such as its end."""
        if self._lost or self._transport.is_closing():
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not poll.poll(0)

    def drop(self) -> None:
        """Close it at once."""
        self._transport.abort()


class _Answer:
    """One answer as it comes, told by the parser.

    Attributes:
        status: of HTTP; 0 until its head is there.
        headers: as they came.
        held: bytes of its body that nobody has taken yet.
        error: why no more of it comes.
        keeps: whether it is whole and the connection goes on after it.
    """

    def __init__(self, resume: Callable[[], None], *, bodiless: bool) -> None:
        parser = httptools.HttpResponseParser(self)
        # Where both are given, chunks count and the length does not (RFC 9112, 6.3); the connection is of one use then.
        parser.set_dangerous_leniencies(lenient_chunked_length=True)
        self._parser: Any = parser
        self._resume = resume
        self._bodiless = bodiless
        self._waiting: asyncio.Future[None] | None = None
        self._pieces: deque[bytes] = deque()
        self._quiet = 0
        self._framed = self._whole = False
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.held = 0
        self.error: httpx.TransportError | None = None
        self.keeps = False

    async def begun(self) -> None:
        """Wait for its head.

        Raises:
            httpx.TransportError: none comes.
        """
        while not self.status:
            await self._more()

    async def body(self) -> AsyncIterator[bytes]:
        """Its body, as much at a time as has come.

        Raises:
            httpx.TransportError: it ends before its end.
        """
        while True:
            while self._pieces:
                came = b"".join(self._pieces)
                self._pieces.clear()
                self.held = 0
                yield came
            if self._whole:
                return
            self._resume()
            await self._more()

    def take(self, data: bytes) -> None:
        """Take what came."""
        self._quiet += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(httpx.RemoteProtocolError("the answer is no valid HTTP"))
        if self._quiet > _MOST_QUIET_BYTES:
            self._fail(httpx.RemoteProtocolError("the answer's head has no end"))

    def end(self, why: Exception | None) -> None:
        """The connection is closed: the end of an answer that has no length, where nothing went wrong."""
        if self.status and not self._framed and why is None:
            self._whole = True
            self._wake()
        else:
            self._fail(httpx.ReadError("the connection broke") if why else httpx.RemoteProtocolError("no whole answer"))

    def close(self) -> None:
        """Take nothing more."""
        self._parser = None  # which holds on to this

    def on_message_begin(self) -> None:
        """Called by the parser."""
        self.headers = self.headers if self.status else []
        self.keeps = False  # whatever comes behind an answer, nobody asked for it

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser, for what follows the last chunk too."""
        if not self.status:
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        status = self._parser.get_status_code()
        if self.status or status in _INFORMATION:
            return
        names = {name.lower() for name, _ in self.headers}
        self.status = status
        self._framed = status in _WITHOUT_BODY or bool(names & {b"content-length", b"transfer-encoding"})
        self._quiet = 0
        self._whole = self._bodiless
        self._wake()

    def on_body(self, piece: bytes) -> None:
        """Called by the parser."""
        self._quiet = 0
        if not self._whole:
            self._pieces.append(piece)
            self.held += len(piece)
            self._wake()

    def on_message_complete(self) -> None:
        """Called by the parser."""
        if self.status and not self._whole:
            self._whole = True
            self.keeps = self._parser.should_keep_alive()
            self._wake()

    async def _more(self) -> None:
        if self.error is not None:
            raise self.error
        self._waiting = asyncio.get_running_loop().create_future()
        await self._waiting

    def _fail(self, error: httpx.TransportError) -> None:
        if self.error is None and not self._whole:
            self.error = error
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class _Body(httpx.AsyncByteStream):
    """The body of an answer, as httpx reads it."""

    def __init__(self, answer: _Answer, done: Callable[[], None]) -> None:
        self._answer = answer
        self._done = done
        self._closed = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._answer.body()

    async def aclose(self) -> None:
        if not self._closed:
            self._closed = True
            self._done()
            self._answer.close()


def _nothing() -> None:
    """Nobody wants to know."""


def _place_of(request: httpx.Request) -> _Place:
    url = request.url
    if url.scheme not in {"http", "https"}:
        raise httpx.UnsupportedProtocol(f"no HTTP: {url.scheme}")
    if url.scheme == "http":
        return url.host, url.port or 80, None
    return url.host, url.port or 443, str(request.extensions.get("sni_hostname", url.host))


def _written(request: httpx.Request) -> bytes:
    """A request as it goes over the wire.

    Raises:
        httpx.LocalProtocolError: it is no valid HTTP.
    """
    method, target, lines = request.method.encode("ascii", "replace"), request.url.raw_path, [b""]
    if not (_TOKEN.fullmatch(method) and _TARGET.fullmatch(target)):
        raise httpx.LocalProtocolError("the method or the target is none")
    for name, value in request.headers.raw:
        if not (_TOKEN.fullmatch(name) and _VALUE.fullmatch(value)):
            raise httpx.LocalProtocolError("a header is none")
        if name.lower() == b"transfer-encoding" or (
            name.lower() == b"content-length" and value != str(len(request.content)).encode()
        ):
            raise httpx.LocalProtocolError("a header is about another body")
        lines.append(b"%b: %b" % (name, value))
    lines[0] = b"%b %b HTTP/1.1" % (method, target)
    return b"\r\n".join((*lines, b"", request.content))
