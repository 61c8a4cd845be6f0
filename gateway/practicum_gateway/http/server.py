"""The HTTP server's manners: a head has to arrive in time, and what is no HTTP is answered with a problem, too.

uvicorn serves and httptools (llhttp) reads; what both take and a server before the gateway may have read otherwise is
refused here.
"""

import asyncio
import re
from http import HTTPStatus
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from practicum.contracts.problems import Problem
from practicum.errors import GatewayUnavailableError, RequestError
from practicum_gateway.http.problems import MEDIA_TYPE

MOST_HEAD_BYTES = 64 * 1024
"""The longest line and headers of a request."""
_HEAD_SECONDS = 10.0
_LINGER_SECONDS = 2.0
_IDLE_SECONDS = 75
"""How long a connection is kept on which nothing is asked: longer than clients (5 s) and load balancers (60 s) keep
theirs, else one of them sends a request into the very moment at which it is closed, and cannot know whether it came."""
_MOST_CONNECTIONS = 4096
_VERSIONS = frozenset({"1.0", "1.1"})
_DRAIN_SECONDS = 10
_TARGET = re.compile(rb"[\x21-\x7e]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_ONCE = frozenset({b"host", b"content-length", b"transfer-encoding", b"authorization"})
"""Of these a second one is refused, even if it says the same."""


class _UnclearError(Exception):
    """What came is HTTP, but none that everybody reads alike."""


class Connection(HttpToolsProtocol):
    """One connection; uvicorn alone would wait for a head for ever, and for as many of them as come."""

    head_seconds = _HEAD_SECONDS
    """How long a request's line and headers may take to arrive."""
    linger_seconds = _LINGER_SECONDS
    """How long the rest of a body may go on coming that was answered before its end."""
    most = _MOST_CONNECTIONS
    """How many connections are held at once."""
    _head_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = False
    _in_body = False
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for the first head, unless there are too many who are waited for."""
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._refuse(GatewayUnavailableError("Too many connections are open.", mend="Close some, or wait."))
        else:
            self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        if self._refused or self.transport.is_closing():
            return
        super().data_received(data)
        if not (self._refused or self._in_body):
            self._head_bytes += len(data)
            if self._head_bytes > 2 * MOST_HEAD_BYTES + len(data):  # one that has no end; the rest is measured whole
                self.send_400_response("")
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._forget_head()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Take the first byte of a head."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Take a head, if it is clear."""
        self._in_head, self._in_body = False, True
        self._head_bytes = 0
        self._check_head()
        super().on_headers_complete()
        if self._parsed.should_upgrade():  # to nothing: what follows is in no language that is spoken here
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """Wait for the next head."""
        self._in_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with the next request, unless this one has no end."""
        latest = self.cycle
        super().on_response_complete()
        if self._in_head:  # a part of the next one came with this one, perhaps nothing more will
            self._watch_head()
        # One that waits behind the answered one may take its time over its body: it is not answered yet.
        if self._in_body and latest.response_complete and not self.transport.is_closing():
            self.loop.call_later(self.linger_seconds, self._close_unless_past, latest)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, without repeating any of it."""
        del msg
        self._refuse(RequestError("What came is no HTTP request that is taken here.", mend="Use an HTTP/1.1 client."))

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: whoever asks for one is answered as if they had not."""

    def _check_head(self) -> None:
        """Refuse a head that a server before this one may have read differently.

        Raises:
            _UnclearError: it is one.
        """
        names = [name for name, _ in self.headers]
        values = dict(self.headers)
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        version = self._parsed.get_http_version()
        coding = values.get(b"transfer-encoding")
        clear = (
            size <= MOST_HEAD_BYTES
            and version in _VERSIONS
            and (b"host" in values or version == "1.0")
            and _TARGET.fullmatch(self.url) is not None
            and all(names.count(name) <= 1 for name in _ONCE)
            and not any(_CONTROL.search(value) for _, value in self.headers)
            and (coding is None or (coding.lower() == b"chunked" and version == "1.1"))  # llhttp refuses both lengths
        )
        if not clear:
            raise _UnclearError

    @property
    def _parsed(self) -> Any:
        return self.parser

    @property
    def _latest(self) -> RequestResponseCycle | None:
        """The request whose head came last, if one did."""
        return self.cycle

    def _watch_head(self) -> None:
        """Let the time run from the moment at which a head is waited for until it is there."""
        cycle = self._latest
        busy = self._in_body or (cycle is not None and not cycle.response_complete)
        if busy or self.transport.is_closing():
            self._forget_head()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _close_unless_past(self, answered: RequestResponseCycle) -> None:
        if self._in_body and self.cycle is answered:
            self.transport.close()

    def _refuse(self, error: GatewayUnavailableError | RequestError) -> None:
        """Answer, if no answer has begun or is still to come, and close."""
        self._refused = True
        self._forget_head()
        cycle = self._latest
        if cycle is not None and not cycle.response_complete and not self._in_body:
            self.flow.pause_reading()  # what was asked before is answered first
            cycle.keep_alive = False
            return
        if self.pipeline or (cycle is not None and cycle.response_started and not cycle.response_complete):
            self.transport.close()
            return
        unavailable = isinstance(error, GatewayUnavailableError)
        status = HTTPStatus.SERVICE_UNAVAILABLE if unavailable else HTTPStatus.BAD_REQUEST
        problem: Problem = error.problem().model_copy(update={"status": int(status), "title": status.phrase})
        body = problem.model_dump_json(exclude_none=True).encode()
        line = f"HTTP/1.1 {int(status)} {status.phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
        self.transport.write(f"{line}content-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        if cycle is not None:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()


def configured(app: ASGIApp) -> uvicorn.Config:
    """How the gateway is served; its house is open before the first request and closed after the last."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        reset_contextvars=True,  # no request begins with who acted in the one before
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
