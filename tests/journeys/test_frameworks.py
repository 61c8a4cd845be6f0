"""Agents of three frameworks through real processes: many at a time, and the examples as a user runs them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.frameworks import Done, faults_of, gateway_of, services, soak
from benchmarks.nonces import TURNS, task, turn
from benchmarks.runners import PYTHONS, ROOT
from benchmarks.services import Service

pytestmark = [pytest.mark.journey, pytest.mark.timeout(600)]

PRACTICUM = [sys.executable, "-c", "from practicum.cli.main import main; main()"]
ASKS = """
import os, pathlib, sys, time
import openai
client = openai.OpenAI(max_retries=0)
said = [{"role": "user", "content": os.environ["PRACTICUM_TASK"]}]
ask = lambda: client.chat.completions.create(model=os.environ["PRACTICUM_MODEL"], messages=said)
ask()
"""
"""An agent that asks its model once, before it does what a test adds."""


async def test_of_twelve_at_a_time_no_record_is_lost_crossed_or_truncated() -> None:
    assert [fault async for fault in soak(12, 4)] == []


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Path, str]]:
    """A gateway, its folder, and its administrator's key."""
    folder = tmp_path_factory.mktemp("gateway")
    with services(folder) as (_, gateway, key):
        yield gateway, folder, key


def capturing(house: tuple[Service, Path, str], about: str, *program: str) -> "subprocess.Popen[str]":
    """`practicum capture`, begun in a session of its own, as a terminal begins it."""
    gateway, _, key = house
    environment = {**os.environ, "PRACTICUM_URL": gateway.url, "PRACTICUM_API_KEY": key}
    command = [*PRACTICUM, "capture", about, "--tools", "orders.*", "--", *program]
    return subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=ROOT,
    )


def ended(running: "subprocess.Popen[str]") -> tuple[int, str, str, str]:
    """How a capture ended, what was said on both streams, and the episode's id."""
    try:
        out, err = running.communicate(timeout=120)
    finally:
        running.kill()
    return running.returncode, out, err, err.split("episode ", 1)[1].split()[0]


def record(house: tuple[Service, Path, str], episode: str) -> dict[str, Any]:
    gateway, _, key = house
    return json.loads(gateway.ask("GET", f"/v1/trajectories/{episode}", None, {"Authorization": f"Bearer {key}"})[0])


def events(house: tuple[Service, Path, str], episode: str) -> Counter[str]:
    gateway, _, key = house
    told = gateway.ask("GET", f"/v1/episodes/{episode}/events", None, {"Authorization": f"Bearer {key}"})[0]
    return Counter(json.loads(line[5:])["type"] for line in told.splitlines() if line.startswith("data:"))


def test_the_examples_run_as_they_are_and_leave_whole_records(house: tuple[Service, Path, str]) -> None:
    nonces = {framework: f"n{number:06d}x{os.urandom(6).hex()}" for number, framework in enumerate(PYTHONS)}
    begun = {
        framework: capturing(house, task(nonce), str(PYTHONS[framework]), f"examples/agents/{framework}_agent.py")
        for framework, nonce in nonces.items()
    }
    for framework, nonce in nonces.items():
        status, out, err, episode = ended(begun[framework])
        assert (status, out) == (0, turn(nonce, TURNS - 1).text + "\n"), err
        done = Done(episode, nonce, framework, out[:-1])
        assert list(faults_of(done, record(house, episode), events(house, episode))) == [], framework
        result = record(house, episode)["result"]
        assert (result["status"], result["answer"]) == ("completed", out[:-1])


ENDS: Sequence[tuple[str, int]] = [
    ("sys.exit(3)", 3),
    ("raise RuntimeError('it broke')", 1),
    ("os.kill(os.getpid(), 9)", 128 + signal.SIGKILL),
]


def test_an_agent_that_fails_leaves_what_it_did_and_is_no_example(house: tuple[Service, Path, str]) -> None:
    begun = [capturing(house, task("n000001x000000000000"), sys.executable, "-c", ASKS + last) for last, _ in ENDS]
    for running, (_, wanted) in zip(begun, ENDS, strict=True):
        status, _, _, episode = ended(running)
        assert status == wanted
        left = record(house, episode)
        assert len(left["model_calls"]) == 1
        assert (left["result"]["status"], left["result"]["cause"]) == ("failed", "infrastructure")
        assert f"status {wanted}" in left["result"]["reason"]
        assert all("infrastructure ended it" in use["reasons"] for use in left["uses"])


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert file.exists()


def test_an_interrupted_agent_leaves_a_cancelled_episode(house: tuple[Service, Path, str], tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    waits = f"pathlib.Path({str(ready)!r}).touch(); time.sleep(60)"
    running = capturing(house, task("n000002x000000000000"), sys.executable, "-c", ASKS + waits)
    wait_for(ready)
    os.killpg(running.pid, signal.SIGINT)  # as Ctrl-C in a terminal: all of its processes get it
    status, _, _, episode = ended(running)
    assert status == 128 + signal.SIGINT
    left = record(house, episode)
    assert (left["result"]["status"], len(left["model_calls"])) == ("cancelled", 1)


def test_of_a_gateway_that_goes_away_in_between_the_record_stays_and_the_episode_can_be_ended(tmp_path: Path) -> None:
    ready, gone = tmp_path / "ready", tmp_path / "gone"
    goes_on = (
        f"pathlib.Path({str(ready)!r}).touch()\nwhile not pathlib.Path({str(gone)!r}).exists(): time.sleep(0.02)\nask()"
    )
    with services(folder := tmp_path / "gateway") as (_, gateway, key):
        house = gateway, folder, key
        running = capturing(house, task("n000003x000000000000"), sys.executable, "-c", ASKS + goes_on)
        wait_for(ready)
        gateway.process.kill()
        gateway.process.wait()
        gone.touch()
        status, _, err, episode = ended(running)
        assert status == 1
        assert "APIConnectionError" in err
        assert f"practicum episodes cancel {episode}" in err
        with gateway_of(folder, gateway.port) as again:
            bearer = {"Authorization": f"Bearer {key}"}
            again.ask("POST", f"/v1/episodes/{episode}/cancel", {}, bearer)
            left = record((again, folder, key), episode)
    assert (left["result"]["status"], len(left["model_calls"])) == ("cancelled", 1)
    assert left["model_calls"][0]["response"]["content"] == turn("n000003x000000000000", 0).text
