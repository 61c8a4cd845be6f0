"""A server of text completions on loopback, whose tokens are the letters and the control tokens."""

import json
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CONTROLS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
_FIRST = 2_000_000
_NAMES = re.compile("|".join(map(re.escape, CONTROLS)))


def ids_of(text: str) -> list[int]:
    """As tokenisers of this kind do: whoever writes the name of a control token gets the control token."""
    ids: list[int] = []
    position = 0
    for found in _NAMES.finditer(text):
        ids += [*map(ord, text[position : found.start()]), _FIRST + CONTROLS.index(found[0])]
        position = found.end()
    return [*ids, *map(ord, text[position:])]


@dataclass
class TextServer:
    """What it answers, and what it was asked.

    Attributes:
        url: its base URL.
        tokenises: whether it tokenises for whoever asks, and speaks in tokens.
        says: the text of its next turns, and why each ended.
        asked: the bodies of the completions it was asked for.
        tokenised: the texts that it tokenised.
        status: the status that it answers completions with.
        cut: whether its streams end before their end.
    """

    url: str = ""
    tokenises: bool = True
    says: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    tokenised: list[str] = field(default_factory=list[str])
    status: int = 200
    cut: bool = False
    read: int | None = None

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, bytes]:
        if path == "/tokenize":
            if not self.tokenises:
                return 404, b'{"detail": "Not Found"}'
            self.tokenised.append(body["prompt"])
            assert body["add_special_tokens"] is False
            return 200, json.dumps({"count": 1, "max_model_len": 4096, "tokens": ids_of(body["prompt"])}).encode()
        if path != "/v1/completions" or self.status != 200:
            return (404 if self.status == 200 else self.status), b'{"error": {"message": "no such thing"}}'
        self.asked.append(body)
        text, ending = self.says.pop(0)
        prompt = body["prompt"]
        drawn = ids_of(text) + ([_FIRST + 1] if ending == "stop" else [])
        if not body.get("stream"):
            choice = self.choice(text, drawn, ending, prompt)
            usage = {"prompt_tokens": len(prompt), "completion_tokens": len(drawn)}
            return 200, json.dumps({"choices": [choice], "usage": usage}).encode()
        chunks = [self.choice(text[i : i + 1], drawn[i : i + 1], None, prompt) for i in range(len(text))]
        chunks += [] if self.cut else [self.choice("", drawn[len(text) :], ending, prompt)]
        events = [{"choices": [chunk]} for chunk in chunks]
        return 200, b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events) + b"data: [DONE]\n\n"

    def choice(self, text: str, drawn: list[int], ending: str | None, prompt: Any) -> dict[str, Any]:
        told = {"text": text, "finish_reason": ending}
        if isinstance(prompt, str):
            return told
        read = prompt if self.read is None else prompt[: self.read]
        return {
            **told,
            "token_ids": drawn,
            "prompt_token_ids": read,
            "logprobs": {"token_logprobs": [-0.5] * len(drawn)},
        }


@contextmanager
def text_server() -> Generator[TextServer]:
    told = TextServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = told.answer(self.path, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
