"""Small real services to supervise."""

import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from practicum.cli.services.probes import HttpProbe, Probe, TcpProbe
from practicum.cli.services.supervisor import Service

NEVER = TcpProbe(1)

SERVER = """
import http.server, os, pathlib, sys
port, journal, name = int(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = os.environ.get("ANSWER", name).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
class Server(http.server.HTTPServer):
    allow_reuse_address = True
    def server_bind(self):
        super().server_bind()
        with journal.open("a") as file: file.write(f"start {name}\\n")
import signal
def end(*_):
    with journal.open("a") as file: file.write(f"end {name}\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
Server(("127.0.0.1", port), Handler).serve_forever()
"""


def python(code: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-u", "-c", code, *arguments)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Dummies:
    """Makes descriptions of small services that live in one folder."""

    folder: Path

    @property
    def journal(self) -> Path:
        """Where the servers write down when they started and ended."""
        return self.folder / "journal.txt"

    def lines(self) -> list[str]:
        return self.journal.read_text(encoding="utf-8").splitlines() if self.journal.exists() else []

    def server(self, name: str, *, port: int | None = None) -> Service:
        """An HTTP service that answers with its name, or with ANSWER from its environment."""
        chosen = port or free_port()
        return Service(
            name=name,
            command=python(SERVER, str(chosen), str(self.journal), name),
            directory=self.folder,
            probe=HttpProbe(chosen, "/"),
            environment=dict(os.environ),
            ports={"http": chosen},
            urls={name: f"http://127.0.0.1:{chosen}"},
            timeout=15,
        )

    def script(
        self, name: str, code: str, *, probe: Probe = NEVER, timeout: float = 15.0, grace: float = 5.0
    ) -> Service:
        """A service that runs a script; it never counts as ready unless a probe says so."""
        return Service(
            name=name,
            command=python(code),
            directory=self.folder,
            probe=probe,
            environment=dict(os.environ),
            timeout=timeout,
            grace=grace,
        )
