"""`practicum capture`: a program that knows nothing of us, run so that it is recorded."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from practicum.contracts.access import IssuedKey, KeyInfo, Role
from practicum.contracts.episodes import EpisodeStatus
from tests.sdk.cli.conftest import KEY, Types
from tests.sdk.stand_in import Answer, StandIn, episode, problem

EPISODE_KEY = "prk_episodeepisodeepisodeepi"
TELLS = "import json, os, sys; json.dump(dict(os.environ), open(sys.argv[1], 'w')); sys.exit(int(sys.argv[2]))"


@pytest.fixture
def begun(gateway: StandIn) -> StandIn:
    """A gateway that takes an episode."""
    info = KeyInfo(id="key1", prefix="prk_epis", principal="ada", role=Role.AGENT, episode="ep1")
    gateway.on("GET", "/v1/models", {"object": "list", "data": [{"id": "local"}]})
    gateway.on("POST", "/v1/episodes", Answer(201, episode().model_dump_json().encode()))
    gateway.on("POST", "/v1/episodes/ep1/keys", IssuedKey(key=EPISODE_KEY, info=info))
    gateway.on("POST", "/v1/episodes/ep1/close", episode(status=EpisodeStatus.COMPLETED))
    gateway.on("POST", "/v1/episodes/ep1/cancel", episode(status=EpisodeStatus.CANCELLED))
    return gateway


def sent(gateway: StandIn, target: str) -> list[Any]:
    return [
        json.loads(seen.body or b"null") for seen in gateway.seen if seen.target == target and seen.method == "POST"
    ]


def test_the_program_finds_its_model_and_its_tools_and_only_the_episodes_key(
    begun: StandIn, practicum: Types, tmp_path: Path
) -> None:
    os.environ["OPENAI_API_KEY"] = "sk-the-developers-own"
    file = tmp_path / "environment.json"
    shown = practicum(
        "capture", "Refund order 1042", "--tools", "crm.*", "--metadata", "suite=orders",
        "--", sys.executable, "-c", TELLS, str(file), "0",
    )  # fmt: skip
    assert shown.status == 0, shown.err
    assert "episode ep1" in shown.err
    (request,) = sent(begun, "/v1/episodes")
    assert (request["task"], request["model"], request["driver"]) == ("Refund order 1042", "local", "client")
    assert (request["tools"], request["metadata"]) == (["crm.*"], {"suite": "orders"})
    told = json.loads(file.read_text())
    assert told["OPENAI_BASE_URL"] == f"{begun.url}/v1"
    assert told["PRACTICUM_MCP_URL"] == f"{begun.url}/mcp"
    assert told["OPENAI_API_KEY"] == told["PRACTICUM_API_KEY"] == EPISODE_KEY
    assert (told["PRACTICUM_EPISODE"], told["PRACTICUM_MODEL"]) == ("ep1", "local")
    assert told["PRACTICUM_TASK"] == "Refund order 1042"
    assert KEY not in told.values()
    assert [closed["status"] for closed in sent(begun, "/v1/episodes/ep1/close")] == ["completed"]


def test_a_program_that_fails_leaves_a_failed_episode_and_its_own_status(
    begun: StandIn, practicum: Types, tmp_path: Path
) -> None:
    shown = practicum("capture", "t", "--", sys.executable, "-c", TELLS, str(tmp_path / "x"), "3")
    assert shown.status == 3
    (closed,) = sent(begun, "/v1/episodes/ep1/close")
    assert (closed["status"], closed["cause"]) == ("failed", "infrastructure")
    assert "status 3" in closed["reason"]


def test_a_program_that_is_not_there_leaves_no_open_episode(begun: StandIn, practicum: Types) -> None:
    shown = practicum("capture", "t", "--", "no-such-program-anywhere")
    assert shown.status == 127
    assert "no-such-program-anywhere is no program" in shown.err
    assert len(sent(begun, "/v1/episodes/ep1/close")) == 1


def test_no_key_no_run(begun: StandIn, practicum: Types, tmp_path: Path) -> None:
    begun.on("POST", "/v1/episodes/ep1/keys", problem(403, "forbidden", "Only developers may."))
    file = tmp_path / "environment.json"
    shown = practicum("capture", "t", "--", sys.executable, "-c", TELLS, str(file), "0")
    assert (shown.status, file.exists()) == (4, False)
    assert len(sent(begun, "/v1/episodes/ep1/cancel")) == 1


def test_that_the_episode_could_not_be_ended_is_told_beside_the_programs_status(
    begun: StandIn, practicum: Types, tmp_path: Path
) -> None:
    begun.on("POST", "/v1/episodes/ep1/close", problem(409, "conflict", "It has ended."))
    shown = practicum("capture", "t", "--", sys.executable, "-c", TELLS, str(tmp_path / "x"), "5")
    assert shown.status == 5
    assert "practicum episodes cancel ep1" in shown.err


def test_asked_to_end_it_passes_that_on_and_cancels(begun: StandIn, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    sleeps = f"import pathlib, time; pathlib.Path({str(ready)!r}).touch(); time.sleep(60)"
    command = [
        sys.executable,
        "-c",
        "from practicum.cli.main import main; main()",
        "capture",
        "t",
        "--",
        sys.executable,
        "-c",
        sleeps,
    ]
    running = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 30
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=30) == 128 + signal.SIGTERM
    finally:
        running.kill()
        running.communicate()
    assert (len(sent(begun, "/v1/episodes/ep1/cancel")), sent(begun, "/v1/episodes/ep1/close")) == (1, [])


@pytest.mark.parametrize(("given", "reward"), [("0.5", 0.5), ("none", None)])
def test_a_verdict_from_outside(gateway: StandIn, practicum: Types, given: str, reward: float | None) -> None:
    rewarded = episode(status=EpisodeStatus.COMPLETED).model_copy(update={"reward": reward})
    gateway.on("POST", "/v1/episodes/ep1/reward", rewarded)
    shown = practicum("episodes", "reward", "ep1", given, "--source", "their tests", "--reason", "all green")
    assert (shown.status, shown.out.strip()) == (0, f"The reward of ep1 is {given}.")
    assert sent(gateway, "/v1/episodes/ep1/reward") == [
        {"reward": reward, "source": "their tests", "reason": "all green"}
    ]


def test_a_verdict_that_is_no_number(gateway: StandIn, practicum: Types) -> None:
    shown = practicum("episodes", "reward", "ep1", "good", "--source", "me")
    assert (shown.status, gateway.seen) == (2, [])
    assert "'good' is no number" in shown.err
