"""The HTTP server's manners: a head has to arrive in time, and what is no HTTP is answered with a problem, too.

uvicorn listens, counts and ends; what is said over a connection is read and written here, strictly, and one request
after the other.
"""

import asyncio
import contextvars
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import unquote

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from practicum.contracts.problems import Problem
from practicum.errors import GatewayUnavailableError, RequestError
from practicum_gateway.http.exchange import Exchange
from practicum_gateway.http.heads import MOST_HEAD_BYTES, Body, Head, UnclearError, read_head
from practicum_gateway.http.middleware import log_unexpected
from practicum_gateway.http.problems import MEDIA_TYPE

__all__ = ["MOST_HEAD_BYTES", "Connection", "configured"]

_HEAD_SECONDS = 10.0
_LINGER_SECONDS = 2.0
_KEEP_ALIVE_SECONDS = 5.0
_MOST_CONNECTIONS = 4096
_DRAIN_SECONDS = 10
_END = b"\r\n\r\n"
_FIRST_VISIBLE = 0x21


class Connection(asyncio.Protocol):
    """One connection: its requests one after the other; a head is not waited for for ever, nor by as many as come."""

    head_seconds = _HEAD_SECONDS
    """How long a request's line and headers may take to arrive."""
    linger_seconds = _LINGER_SECONDS
    """How long the rest of a body may go on coming that was answered before its end."""
    most = _MOST_CONNECTIONS
    """How many connections are held at once."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Be made by uvicorn."""
        if not config.loaded:
            config.load()
        self._app: ASGIApp = cast("Any", config).loaded_app
        self._state = server_state
        self._app_state = app_state
        self._loop = _loop or asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self.transport: asyncio.Transport
        self._ends: tuple[Any, Any] = (None, None)
        self._came = bytearray()
        self._exchange: Exchange | None = None
        self._body: Body | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._waits_for_head = False
        self._room = asyncio.Event()
        self._room.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first head, unless there are too many who are waited for."""
        self.transport = cast("asyncio.Transport", transport)
        self._ends = (_address(transport, "sockname"), _address(transport, "peername"))
        cast("set[Any]", self._state.connections).add(self)
        if len(self._state.connections) > self.most:
            self._refuse(GatewayUnavailableError("Too many connections are open.", mend="Close some, or wait."))
        else:
            self._wait(self.head_seconds, for_head=True)

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        self._came += data
        self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        del exc
        cast("set[Any]", self._state.connections).discard(self)
        self._forget()
        self._room.set()
        if self._exchange is not None:
            self._exchange.lose()

    def pause_writing(self) -> None:
        """Nobody takes what is sent."""
        self._room.clear()

    def resume_writing(self) -> None:
        """Somebody does again."""
        self._room.set()

    def shutdown(self) -> None:
        """End, once what was begun is answered."""
        if self._exchange is None or self._exchange.whole:
            self.transport.close()
        else:
            self._exchange.let_end()

    def write(self, data: bytes) -> None:
        """Send something."""
        if not self.transport.is_closing():
            self.transport.write(data)

    async def drain(self) -> None:
        """Wait until there is room for more."""
        if not self._room.is_set():
            await self._room.wait()

    def read_on(self) -> None:
        """Go on reading."""
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def pause(self) -> None:
        """Read no more for now."""
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def answered(self, *, goes_on: bool) -> None:
        """Go on with the next request, unless this one has no end."""
        self._state.total_requests += 1
        if not goes_on:
            self.transport.close()
        elif not self.transport.is_closing():
            self.read_on()
            if self._body is not None and not self._body.whole:
                self._wait(self.linger_seconds)
            self._loop.call_soon(self._go_on)

    def break_off(self) -> None:
        """End the connection: what was sent cannot be taken back."""
        self.transport.close()

    def _go_on(self) -> None:
        """Read as far as can be: the rest of a request, then the next one's head once this one is answered."""
        try:
            if self._body is not None and not self._read_body(self._body):
                return
            if self.transport.is_closing():
                return
            if self._exchange is not None and not self._exchange.whole:
                if self._came:
                    self.pause()
                return
            self._read_head()
        except UnclearError:
            self._refuse(
                RequestError("What came is no HTTP request that is taken here.", mend="Use an HTTP/1.1 client.")
            )

    def _read_body(self, body: Body) -> bool:
        """Hand on what came of the body; whether that was all of it."""
        exchange = cast("Exchange", self._exchange)
        if not body.whole:
            piece = body.take(self._came)
            if piece or body.whole:
                exchange.take(piece, last=body.whole)
        return body.whole

    def _read_head(self) -> None:
        end = self._came.find(_END)
        if end < 0:
            if len(self._came) > MOST_HEAD_BYTES or (self._came and self._came[0] < _FIRST_VISIBLE):
                raise UnclearError
            if b"\n\n" in self._came:
                raise UnclearError  # some would take it for the end
            if self._came or self._exchange is None:
                self._wait(self.head_seconds, for_head=True)
            else:
                self._wait(_KEEP_ALIVE_SECONDS)
            return
        self._forget()
        head = read_head(bytes(self._came[:end]))
        del self._came[: end + len(_END)]
        self._begin(head)

    def _begin(self, head: Head) -> None:
        path, _, query = head.target.partition(b"?")
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": head.version,
            "server": self._ends[0],
            "client": self._ends[1],
            "scheme": "http",
            "method": head.method,
            "root_path": "",
            "path": unquote(path.decode("ascii")),
            "raw_path": path,
            "query_string": query,
            "headers": head.headers,
            "state": self._app_state.copy(),
        }
        exchange = self._exchange = Exchange(head, scope, self, self._state.default_headers)
        self._body = Body(head.length)
        # Each request begins with what was there before any: not with who acted in the one before.
        task = self._loop.create_task(exchange.run(self._app), context=self._context.copy())
        self._state.tasks.add(task)
        task.add_done_callback(self._ended)
        if self._came or not self._body.whole:
            self._go_on()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._state.tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log_unexpected(error)

    def _wait(self, seconds: float, *, for_head: bool = False) -> None:
        """Close after so many seconds, unless what is waited for comes; a head that has begun is given no more time."""
        if for_head and self._waits_for_head:
            return
        self._forget()
        self._waits_for_head = for_head
        self._timer = self._loop.call_later(seconds, self.transport.close)

    def _forget(self) -> None:
        self._waits_for_head = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, error: GatewayUnavailableError | RequestError) -> None:
        """Answer, if no answer has begun, and close."""
        unavailable = isinstance(error, GatewayUnavailableError)
        status = HTTPStatus.SERVICE_UNAVAILABLE if unavailable else HTTPStatus.BAD_REQUEST
        exchange = self._exchange
        if exchange is None or exchange.whole or not exchange.begun:
            problem: Problem = error.problem().model_copy(update={"status": int(status), "title": status.phrase})
            body = problem.model_dump_json(exclude_none=True).encode()
            line = f"HTTP/1.1 {int(status)} {status.phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
            head = f"{line}content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            self.write(head.encode() + body)
        if exchange is not None:
            exchange.lose()
        self.transport.close()


def _address(transport: asyncio.BaseTransport, name: str) -> tuple[str, int] | None:
    address: object = transport.get_extra_info(name)
    if not isinstance(address, tuple):
        return None
    host, port, *_ = cast("tuple[Any, ...]", address)
    return str(host), int(port)


def configured(app: ASGIApp) -> uvicorn.Config:
    """How the gateway is served; its house is open before the first request and closed after the last."""
    return uvicorn.Config(
        app,
        http=cast("Any", Connection),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
