"""A model server that does everything wrong, one thing at a time, as an OpenAI-compatible one and as llama.cpp's."""

import json
import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_HTML = b"<!doctype html><title>502</title><h1>Bad gateway</h1>"
_HALF = {
    "chat": {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    | {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Half an"}, "finish_reason": None}]},
    "llama": {"content": "Half an", "tokens": [1], "completion_probabilities": [{"logprob": -1}], "stop": False},
}
_EMPTY: dict[str, dict[str, Any]] = {
    "chat": {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": []},
    "llama": {},
}
WAYS = (
    "html",
    "html error",
    "plain text",
    "wrong type",
    "cut body",
    "empty",
    "nothing said",
    "garbled stream",
    "broken off",
    "silent",
    "trickle",
    "hang up",
)


class Broken(ThreadingHTTPServer):
    """Answers in the way that it is told to; `asked` counts the requests."""

    daemon_threads = True
    way = "html"
    asked = 0
    closing = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Broken  # pyright: ignore[reportIncompatibleVariableOverride]  # the one that made it

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/tokenize":
            self._send(200, json.dumps({"tokens": [7] * len(body["content"])}).encode(), "application/json")
            return
        self.server.asked += 1
        kind = "llama" if self.path == "/completion" else "chat"
        with suppress(ConnectionError):
            self._answer(kind, streamed=bool(body.get("stream")))

    def _answer(self, kind: str, *, streamed: bool) -> None:  # noqa: C901  # a list, however long
        event = b"data: " + json.dumps(_HALF[kind]).encode() + b"\n\n"
        match self.server.way:
            case "html":
                self._send(200, _HTML, "text/html")
            case "html error":
                self._send(502, _HTML, "text/html")
            case "plain text":
                self._send(200, b"model is warming up", "text/plain")
            case "wrong type":
                self._send(200, b"\x89PNG\r\n\x1a\n\x00\xff\xfe", "image/png")
            case "cut body":
                self._send(200, event if streamed else b'{"id": "1", "cho', "application/json", lacking=50)
            case "empty":
                empty = json.dumps(_EMPTY[kind]).encode()
                self._send(200, b"data: " + empty + b"\n\n" if streamed else empty, "application/json")
            case "nothing said":
                self._send(200, b"", "text/event-stream" if streamed else "application/json")
            case "garbled stream":
                self._send(200, b"data: {{{\n\ndata: \xff\xfe\n\n", "text/event-stream")
            case "broken off":
                self._send(200, event, "text/event-stream")
            case "busy":
                self._send(429, b'{"error": {"message": "slow down"}}', "application/json", wait="30")
            case "hang up":
                self.connection.shutdown(socket.SHUT_RDWR)
            case way:
                self._wait(trickling=way == "trickle")

    def _wait(self, *, trickling: bool) -> None:
        if trickling:
            self._head(200, "text/event-stream", 10_000)
        while not self.server.closing:
            time.sleep(0.1)
            if trickling:
                self.wfile.write(b":\n")

    def _send(self, status: int, body: bytes, kind: str, *, lacking: int = 0, wait: str = "") -> None:
        self._head(status, kind, len(body) + lacking, wait)
        self.wfile.write(body)

    def _head(self, status: int, kind: str, length: int, wait: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        if wait:
            self.send_header("Retry-After", wait)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name http.server gave it
        """Keep quiet."""


@contextmanager
def broken_server() -> Generator[Broken]:
    """One that serves until the end."""
    with Broken(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.closing = True
            server.shutdown()
            thread.join()
