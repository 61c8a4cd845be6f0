"""Bringing everything up and taking it down, from the command line."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest

from practicum.cli.services.installed import missing_of, temporal_program
from practicum.cli.services.process import is_alive
from practicum.cli.services.state import StateDirectory

PRACTICUM = Path(sys.executable).with_name("practicum")

pytestmark = [
    pytest.mark.journey,
    pytest.mark.timeout(600),
    pytest.mark.skipif(temporal_program() is None or bool(missing_of("gateway")), reason="needs gateway and local"),
]


def _run(*arguments: str, state: Path) -> tuple[int, str, str]:
    command = [PRACTICUM, *arguments, "--state-dir", str(state)]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    return ran.returncode, ran.stdout, ran.stderr


def _told(*arguments: str, state: Path) -> dict[str, Any]:
    code, out, complaint = _run(*arguments, "--json", state=state)
    assert code == 0, complaint
    told: dict[str, Any] = json.loads(out)
    return told


def _await(what: str, log: Path) -> None:
    deadline = time.monotonic() + 60
    while not (log.exists() and what in log.read_text(encoding="utf-8")):
        assert time.monotonic() < deadline, f"{log} never said {what!r}"
        time.sleep(0.05)


@pytest.fixture
def state(tmp_path: Path) -> Generator[Path]:
    """A state directory; whatever a failing test leaves running in it is ended."""
    yield tmp_path / "state"
    _run("down", state=tmp_path / "state")


def test_up_twice_and_down(state: Path) -> None:
    first = _told("up", "--model", "none", state=state)
    before = StateDirectory(state).services()
    second = _told("up", "--model", "none", state=state)

    assert first["started"] == ["temporal", "gateway", "worker"]
    assert second == {**first, "started": []}
    assert httpx.get(f"{first['urls']['Gateway']}/healthz", trust_env=False).json() == {"status": "ok"}
    assert httpx.get(first["urls"]["Gateway API"], trust_env=False).is_success
    assert httpx.get(first["urls"]["Temporal UI"], trust_env=False, follow_redirects=True).is_success

    assert _told("down", state=state) == {"ended": ["worker", "gateway", "temporal"]}
    assert not any(is_alive(service.process) for service in before)
    assert _told("down", state=state) == {"ended": []}


def test_a_port_in_use_is_one_clear_error_and_nothing_runs(state: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, out, complaint = _run("up", "--model", "none", "--port", str(port), state=state)

    assert code == 2
    assert out == ""
    assert complaint.startswith(f"error: Port {port}, asked for by 'gateway', is in use.")
    assert StateDirectory(state).services() == ()


def test_up_that_is_told_to_stop_leaves_nothing_half_up(state: Path) -> None:
    command = [PRACTICUM, "up", "--model", "none", "--state-dir", str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as starting:
        while len(StateDirectory(state).services()) < 2:
            assert starting.poll() is None
            time.sleep(0.02)
        begun = StateDirectory(state).services()
        starting.send_signal(signal.SIGTERM)
        starting.communicate(timeout=60)

    assert starting.returncode == 130
    assert not any(is_alive(service.process) for service in begun)
    assert StateDirectory(state).services() == ()


@pytest.mark.parametrize("end", ["signal", "death"])
def test_attached_it_stays_until_it_is_ended_or_a_service_dies(state: Path, tmp_path: Path, end: str) -> None:
    log = tmp_path / "log.txt"
    command = [PRACTICUM, "up", "--model", "none", "--no-detach", "--state-dir", str(state)]
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as attached:
        _await("Logs:", log)
        running = StateDirectory(state).services()
        if end == "signal":
            attached.send_signal(signal.SIGTERM)
        else:
            os.kill(next(each.process.pid for each in running if each.name == "worker"), signal.SIGKILL)
        attached.wait(60)

    assert attached.returncode == (0 if end == "signal" else 1)
    assert not any(is_alive(service.process) for service in running)
    assert ("worker died" in log.read_text(encoding="utf-8")) is (end == "death")
