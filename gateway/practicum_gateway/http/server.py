"""The HTTP server's manners: a head has to arrive in time, and what is no HTTP is answered with a problem, too."""

import asyncio
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from practicum.contracts.problems import Problem
from practicum.errors import GatewayUnavailableError, RequestError
from practicum_gateway.http.problems import MEDIA_TYPE

MOST_HEAD_BYTES = 64 * 1024
"""The longest line and headers of a request."""
_HEAD_SECONDS = 10.0
_LINGER_SECONDS = 2.0
_MOST_CONNECTIONS = 4096
_VERSIONS = (b"1.0", b"1.1")
_DRAIN_SECONDS = 10


class _Strict(h11.Connection):
    """Refuses heads that a server before this one may have read differently."""

    def next_event(self) -> Any:
        """What came next."""
        event = super().next_event()
        if isinstance(event, h11.Request) and not _is_clear(event):
            raise h11.RemoteProtocolError("a head that is not clear")
        return event


def _is_clear(head: h11.Request) -> bool:
    names = [name for name, _ in head.headers]
    size = len(head.target) + sum(len(name) + len(value) for name, value in head.headers)
    return (
        size <= MOST_HEAD_BYTES  # h11 itself only measures what arrives in pieces
        and head.http_version in _VERSIONS
        and not {b"transfer-encoding", b"content-length"} <= set(names)
        and names.count(b"authorization") <= 1
    )


class Connection(H11Protocol):
    """One connection; uvicorn alone would wait for a head for ever, and for as many of them as come."""

    head_seconds = _HEAD_SECONDS
    """How long a request's line and headers may take to arrive."""
    linger_seconds = _LINGER_SECONDS
    """How long the rest of a body may go on coming that was answered before its end."""
    most = _MOST_CONNECTIONS
    """How many connections are held at once."""
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for the first head, unless there are too many who are waited for."""
        super().connection_made(transport)
        self.conn = _Strict(h11.SERVER, MOST_HEAD_BYTES)
        if len(self.connections) > self.most:
            self._end(GatewayUnavailableError("Too many connections are open.", mend="Close some, or wait."))
        else:
            self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._forget_head()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Go on with the next request, unless this one has no end."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self.loop.call_later(self.linger_seconds, self._close_unless_past, self.cycle)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, without repeating any of it."""
        _ = msg
        self._end(RequestError("What came is no HTTP request that is taken here.", mend="Use an HTTP/1.1 client."))

    def _watch_head(self) -> None:
        """Let the time run from the moment at which a head is waited for until it is there."""
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._forget_head()
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _close_unless_past(self, cycle: RequestResponseCycle) -> None:
        if self.cycle is cycle and self.conn.their_state is h11.SEND_BODY:
            self.transport.close()

    def _end(self, error: GatewayUnavailableError | RequestError) -> None:
        """Answer, if no answer has begun, and close."""
        unavailable = isinstance(error, GatewayUnavailableError)
        status = HTTPStatus.SERVICE_UNAVAILABLE if unavailable else HTTPStatus.BAD_REQUEST
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            problem: Problem = error.problem().model_copy(update={"status": int(status), "title": status.phrase})
            body = problem.model_dump_json(exclude_none=True).encode()
            headers = [("content-type", MEDIA_TYPE), ("content-length", str(len(body))), ("connection", "close")]
            for event in (
                h11.Response(status_code=status, headers=headers, reason=status.phrase.encode()),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
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
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
