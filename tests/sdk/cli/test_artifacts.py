"""`practicum tools artifact`, and how an observation tells of artifacts."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from practicum.contracts.tools import Artifact, CallStatus, Observation
from tests.sdk.cli.conftest import Types
from tests.sdk.stand_in import Answer, StandIn, problem

PICTURE = b"\x89PNG\r\n\x1a\n\x00\xff"


@pytest.fixture(autouse=True)
def routes(gateway: StandIn) -> None:
    gateway.on("GET", "/v1/artifacts/a1", Answer(200, PICTURE, "image/png"))
    gateway.on("GET", "/v1/artifacts/a2", Answer(200, b"id,total\n1,9\x1b[31m\n", "text/csv"))
    gateway.on("GET", "/v1/artifacts/a3", problem(404, "not_found", "There is no artifact 'a3'."))


def test_a_call_tells_how_to_fetch_what_it_kept(gateway: StandIn, practicum: Types) -> None:
    kept = (
        Artifact(id="a1", media_type="image/png", bytes=10, name="logo.png"),
        Artifact(id="a2", media_type="text/csv", bytes=14, name="../.bashrc; rm\x1b", complete=False),
        Artifact(id="a4", media_type="text/plain", bytes=1, name="-f"),
    )
    gateway.on("POST", "/v1/tools/t/call", Observation(status=CallStatus.OK, content="{}", artifacts=kept))
    shown = practicum("tools", "call", "t")
    assert shown.out == "{}\n"
    assert "artifact a1: image/png, 10 bytes, logo.png\n" in shown.err
    assert "practicum tools artifact a1 --output logo.png\n" in shown.err
    assert "cut off\n" in shown.err
    assert "practicum tools artifact a2 --output a2\n" in shown.err
    assert "practicum tools artifact a4 --output a4\n" in shown.err
    assert "\x1b" not in shown.err


def test_it_is_written_to_a_file_and_over_none(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    file = tmp_path / "logo.png"
    given = ("tools", "artifact", "a1", "--output", str(file))
    shown = practicum(*given, "--episode", "ep 1")
    assert (shown.status, file.read_bytes()) == (0, PICTURE)
    assert gateway.seen[0].query == [("episode", "ep 1")]
    assert f"Wrote {len(PICTURE)} bytes" in shown.out
    file.write_bytes(b"mine")
    refused = practicum(*given)
    assert (refused.status, file.read_bytes()) == (2, b"mine")
    assert "--force" in refused.err
    assert len(gateway.seen) == 1
    assert practicum(*given, "--force").status == 0
    assert file.read_bytes() == PICTURE


def test_what_cannot_be_had_or_written_leaves_no_file(practicum: Types, tmp_path: Path) -> None:
    missing = practicum("tools", "artifact", "a3", "--output", str(tmp_path / "x"))
    assert (missing.status, "There is no artifact" in missing.err) == (5, True)
    nowhere = practicum("tools", "artifact", "a1", "--output", str(tmp_path / "no" / "x"))
    assert (nowhere.status, "a folder that is there" in nowhere.err) == (2, True)
    assert not (tmp_path / "x").exists()


def _typed(*arguments: str, stdout: int) -> subprocess.Popen[bytes]:
    program = "from practicum.cli.main import main; main()"
    command = [sys.executable, "-c", program, "tools", "artifact", *arguments]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, env=dict(os.environ))


def test_a_pipe_gets_the_bytes_as_they_are(gateway: StandIn) -> None:
    del gateway  # the environment points to it
    process = _typed("a1", stdout=subprocess.PIPE)
    assert process.communicate(timeout=60) == (PICTURE, b"")


def test_a_terminal_gets_text_only(gateway: StandIn) -> None:
    del gateway
    main, terminal = pty.openpty()
    binary = _typed("a1", stdout=terminal)
    _, told = binary.communicate(timeout=60)
    assert binary.returncode == 2
    assert b"--output FILE" in told
    text = _typed("a2", stdout=terminal)
    text.communicate(timeout=60)
    os.close(terminal)
    shown = os.read(main, 1000)
    os.close(main)
    assert text.returncode == 0
    assert b"1,9\\u001b[31m" in shown
