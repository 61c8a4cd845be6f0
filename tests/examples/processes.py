"""Systems started as a user starts them."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextmanager
def started(name: str, log: Path, port: int, *more: str, secrets: Mapping[str, str]) -> Generator[Path]:
    """Start a system as a user does, wait until it answers, and end exactly it; gives the file of its output."""
    command = [sys.executable, "-m", f"examples.systems.{name}", "--port", str(port), *more]
    environment = {"PATH": os.environ["PATH"], **secrets}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 60
        while not answers(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, "the system does not start"
            time.sleep(0.05)
        yield log
    finally:
        process.terminate()
        process.wait(30)


def answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz").is_success
    except httpx.TransportError:
        return False
