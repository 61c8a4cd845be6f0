"""A stand-in for the gateway on a real loopback socket: it answers what a test tells it to and keeps what it saw."""

import json
import os
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel

from practicum.contracts.episodes import (
    Cause,
    Driver,
    Episode,
    EpisodeEvent,
    EpisodeMode,
    EpisodeResult,
    EpisodeStatus,
    EventType,
    Limits,
)

NOW = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)


@dataclass(frozen=True)
class Answer:
    """What is answered once: a body, or pieces of a stream with seconds of silence between them."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    pieces: tuple[bytes | float, ...] | None = None
    cut: bool = False
    delay: float = 0.0


@dataclass(frozen=True)
class Seen:
    """A request as it arrived; `target` is the path as it stood on the wire."""

    method: str
    target: str
    query: list[tuple[str, str]]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class StandIn:
    """The server's side of a test."""

    url: str = ""
    seen: list[Seen] = field(default_factory=list[Seen])
    answers: dict[tuple[str, str], list[Answer]] = field(default_factory=dict[tuple[str, str], list[Answer]])
    stopping: threading.Event = field(default_factory=threading.Event)

    def on(self, method: str, path: str, *answers: Answer | object) -> None:
        """Answer requests in this order; the last answer stays."""
        self.answers[method, path] = [
            answer if isinstance(answer, Answer) else Answer(body=as_json(answer)) for answer in answers
        ]

    def take(self, request: Seen) -> Answer:
        self.seen.append(request)
        queued = self.answers.get((request.method, request.target), [])
        if not queued:
            return Answer(404, b'{"detail": "Not Found"}')
        return queued.pop(0) if len(queued) > 1 else queued[0]


def as_json(value: object) -> bytes:
    """A value, a list of values or plain JSON as bytes."""
    if isinstance(value, BaseModel):
        return value.model_dump_json().encode()
    if isinstance(value, list):
        items: list[object] = [*value]
        return b"[" + b",".join(as_json(item) for item in items) + b"]"
    return json.dumps(value).encode()


def problem(status: int, code: str, detail: str, **more: object) -> Answer:
    """An error as the gateway sends it."""
    body = {"type": "about:blank", "title": code, "status": status, "detail": detail, "code": code, **more}
    return Answer(status, as_json(body), "application/problem+json")


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, stand_in: StandIn, request: Any, address: Any, server: BaseServer) -> None:
        self.stand_in = stand_in
        super().__init__(request, address, server)

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.command, parts.path, parse_qsl(parts.query, keep_blank_values=True), headers, body)
        answer = self.stand_in.take(seen)
        self.stand_in.stopping.wait(answer.delay)
        with suppress(ConnectionError):
            self._write(answer)

    do_GET = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815  # names http.server looks for

    def _write(self, answer: Answer) -> None:
        if answer.cut:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
            return
        self.send_response(answer.status)
        for name, value in (("Content-Type", answer.content_type), *answer.headers):
            self.send_header(name, value)
        if answer.pieces is None:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        for piece in (answer.body,) if answer.pieces is None else answer.pieces:
            if isinstance(piece, bytes):
                self.wfile.write(piece)
            else:
                self.stand_in.stopping.wait(piece)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def scrubbed_environment() -> Generator[None]:
    """The environment without what concerns the product, put back as it was when the block ends."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("PRACTICUM_") or name.lower().endswith("_proxy")]:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def serving(encryption: ssl.SSLContext | None = None, stand_in: StandIn | None = None) -> Generator[StandIn]:
    """A stand-in, a new one unless one is given, on a free port until the block ends."""
    stand_in = stand_in or StandIn()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, stand_in))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    scheme = "http"
    if encryption is not None:
        # The handshake is left to each connection's own thread: a refused one must not end the server.
        server.socket = encryption.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        scheme = "https"
    stand_in.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    try:
        yield stand_in
    finally:
        stand_in.stopping.set()
        server.shutdown()
        thread.join()
        server.server_close()


def episode(
    id: str = "ep1",  # noqa: A002
    status: EpisodeStatus = EpisodeStatus.RUNNING,
    *,
    cause: Cause = Cause.POLICY,
    answer: str | None = "Done.",
    reason: str | None = None,
) -> Episode:
    """An episode that stands so."""
    result = EpisodeResult(status=status, cause=cause, answer=answer, reason=reason, steps=2) if status.ended else None
    return Episode(
        id=id,
        task="Refund order 1042",
        model="local",
        tools=("crm.*",),
        limits=Limits(),
        driver=Driver.TEMPORAL,
        mode=EpisodeMode.LIVE,
        status=status,
        principal="ada",
        created=NOW,
        ended=NOW if status.ended else None,
        result=result,
    )


def event(sequence: int, type: EventType, **data: Any) -> EpisodeEvent:  # noqa: A002
    """An event of episode `ep1`."""
    return EpisodeEvent(sequence=sequence, episode="ep1", at=NOW, type=type, step=0, data=data)


def sse(*events: EpisodeEvent) -> bytes:
    """Events as they travel."""
    return b"".join(
        f"id: {one.sequence}\nevent: {one.type}\ndata: {one.model_dump_json()}\n\n".encode() for one in events
    )


def stream(*pieces: bytes | float) -> Answer:
    """A stream of pieces, after which the server closes it."""
    return Answer(content_type="text/event-stream", pieces=pieces)
