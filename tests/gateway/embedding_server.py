"""A server of vectors on loopback: a text's vector counts the words that a test names."""

import json
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class EmbeddingServer:
    """What it knows and what it was asked.

    Attributes:
        words: one axis for each word, and last one that every text has a little of.
        url: where it listens, without `/v1`.
        asked: the texts of each request.
        down: whether it answers 503.
    """

    words: Sequence[str]
    url: str = ""
    asked: list[list[str]] = field(default_factory=list[list[str]])
    down: bool = False

    def vector(self, text: str) -> list[float]:
        return [*(float(text.lower().count(word)) for word in self.words), 0.1]


@contextmanager
def embedding_server(*words: str) -> Generator[EmbeddingServer]:
    told = EmbeddingServer(words)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.asked.append(body["input"])
            data = [
                {"object": "embedding", "index": index, "embedding": told.vector(text)}
                for index, text in enumerate(body["input"])
            ]
            # Out of order, as the form allows.
            answer = {"object": "list", "model": body["model"], "data": data[::-1]}
            self._send(
                503 if told.down else 200, json.dumps(answer | {"usage": {"prompt_tokens": 1, "total_tokens": 1}})
            )

        def _send(self, status: int, text: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
