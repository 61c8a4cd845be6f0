"""`practicum eval`, `compare` and `datasets`."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from practicum.contracts.episodes import EpisodeRequest
from practicum.contracts.trajectory import Reward
from practicum.datasets import Dataset
from practicum.evaluation import read_report
from tests.sdk.cli.conftest import KEY, Types
from tests.sdk.evaluation.practising import DOWN, RIGHT, WRONG, Behaviour, PractisingGateway, practising
from tests.sdk.stand_in import StandIn
from tests.sdk.trajectories.conftest import Recorded
from tests.sdk.trajectories.conftest import recorded as recorded  # noqa: PLC0414  # a fixture of theirs, used here too

SUITE = "tests.sdk.suites:NUMBERS"
ROOT = Path(__file__).parents[3]


@contextmanager
def gateway_that(behaviour: Behaviour) -> Generator[PractisingGateway]:
    with practising(behaviour) as gateway:
        os.environ["PRACTICUM_URL"] = gateway.url
        os.environ["PRACTICUM_API_KEY"] = KEY
        yield gateway


def always_right(_: EpisodeRequest) -> str:
    return RIGHT


def test_an_evaluation_for_people(practicum: Types, tmp_path: Path) -> None:
    with gateway_that(lambda request: RIGHT if request.metadata["family"] == "even" else WRONG):
        shown = practicum("eval", SUITE, "--model", "local", "-k", "2", "--limit", "4", "--out", str(tmp_path / "a"))
    assert shown.status == 0
    assert shown.out.splitlines()[0] == "local (smol@1) on 4 tasks of numbers, held_out"
    assert "success   50.0% (15.0% to 85.0%, n=8)" in shown.out
    assert "pass^2    50.0%" in shown.out
    told = shown.err.splitlines()
    assert len(told) == 8
    assert told[-1].startswith("8/8 numbers.held_out.")
    assert any(line.endswith("0 different: book/lines/1: number is 0, not 101") for line in told)


def test_an_evaluation_for_programs_and_its_options(practicum: Types, tmp_path: Path) -> None:
    with gateway_that(lambda _: RIGHT) as gateway:
        options = ("--split", "train", "--steps", "5", "--temperature", "0.5", "--max-tokens", "64", "--seed", "3")
        shown = practicum("eval", SUITE, "--model", "local", "--out", str(tmp_path / "a"), *options, "--json")
    assert (shown.status, shown.err) == (0, "")
    assert shown.json == read_report(tmp_path / "a").model_dump(mode="json")
    assert (shown.json["split"], shown.json["k"], len(shown.json["results"])) == ("train", 1, 6)
    request = gateway.run_of("numbers.train.0").request
    assert (request.limits.steps, request.sampling.temperature, request.sampling.max_tokens) == (5, 0.5, 64)
    assert request.sampling.seed is not None


def test_a_suite_of_this_folder_is_found(practicum: Types, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "suite_of_this_folder.py").write_text("from tests.sdk.suites import Numbers\nOURS = Numbers(2)\n")
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    try:
        with gateway_that(lambda _: RIGHT):
            shown = practicum("eval", "suite_of_this_folder:OURS", "--model", "local", "--out", "a", "--json")
    finally:
        sys.path[:] = path
    assert (shown.status, shown.json["success"]["n"]) == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("nothing", "--model", "local"), 2, "names no suite"),
        (("no.such:SUITE", "--model", "local"), 2, "cannot be loaded"),
        ((SUITE, "--model", "nobody"), 5, "no model nobody"),
        ((SUITE, "--model", "local", "-k", "0"), 2, "Invalid value for '--attempts'"),
    ],
)
def test_what_cannot_be_evaluated(
    practicum: Types, tmp_path: Path, arguments: tuple[str, ...], status: int, told: str
) -> None:
    with gateway_that(lambda _: RIGHT):
        shown = practicum("eval", *arguments, "--out", str(tmp_path / "a"))
    assert (shown.status, told in shown.err) == (status, True), shown.err


# What a shell starts in the background ignores Ctrl-C, and so does all that it starts.
AT_A_TERMINAL = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_says_how_to_go_on_and_does(practicum: Types, tmp_path: Path, number: signal.Signals) -> None:
    """The first attempt succeeds, then the model is gone, and a person or a scheduler loses patience."""
    out = tmp_path / "a"
    code = f"{AT_A_TERMINAL}from practicum.cli.main import main; main()"
    command = [sys.executable, "-c", code, "eval", SUITE, "--model", "local", "--out", str(out)]
    with gateway_that(lambda request: RIGHT if request.metadata["task"].endswith(".0") else DOWN) as gateway:
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as running:
            try:
                while not (out / "attempts.jsonl").exists():
                    assert running.poll() is None
                    time.sleep(0.05)
                running.send_signal(number)
                _, told = running.communicate()
            finally:
                running.kill()
        assert running.returncode == 130
        assert "give the same command again to go on" in told
        assert "Traceback" not in told
        gateway.behaviour = always_right
        for begun in list(gateway.runs.values()):  # those too that were begun in the last moment, and never heard of
            begun.behaviour = RIGHT
        shown = practicum("eval", SUITE, "--model", "local", "--out", str(out), "--json")
    assert (shown.status, shown.json["success"]["n"], shown.json["success"]["value"]) == (0, 6, 1.0)
    first = [run for run in gateway.runs.values() if run.request.metadata["task"] == "numbers.held_out.0"]
    assert len(first) == 1


def evaluated(practicum: Types, folder: Path, behaviour: Behaviour, *options: str) -> str:
    with gateway_that(behaviour):
        assert practicum("eval", SUITE, "--model", "local", "--out", str(folder), *options).status == 0
    return str(folder)


def test_comparing(practicum: Types, tmp_path: Path) -> None:
    bad = evaluated(practicum, tmp_path / "bad", lambda _: WRONG)
    good = evaluated(practicum, tmp_path / "good", lambda _: RIGHT)
    shown = practicum("compare", bad, f"{good}/report.json")
    assert shown.status == 0
    assert shown.out.splitlines()[-1] == "The candidate is better: the whole 95% interval is above zero."
    assert "6 improved, 0 worsened, n=6" in shown.out
    machine = practicum("compare", good, bad, "--json").json
    assert (machine["better"], machine["difference"], machine["n"]) == (False, -1.0, 6)
    train = evaluated(practicum, tmp_path / "train", lambda _: RIGHT, "--split", "train")
    assert practicum("compare", bad, train).status == 5
    assert "differ in their split" in practicum("compare", bad, train).err
    missing = practicum("compare", bad, str(tmp_path / "nothing"))
    assert (missing.status, "cannot be read" in missing.err) == (2, True)


def labelled(recorded: Recorded, number: int, reward: float, split: str = "train") -> Any:
    labels = {"suite": "orders", "split": split, "task": f"t{number}", "family": "refund"}
    return recorded(episode=f"ep{number}", metadata=labels, rewards=(Reward(reward=reward, source="suite:orders"),))


def test_building_a_dataset(gateway: StandIn, practicum: Types, recorded: Recorded, tmp_path: Path) -> None:
    gateway.on("GET", "/v1/trajectories", [labelled(recorded, 1, 1.0), labelled(recorded, 2, 0.0)])
    where = "suite=orders split=train reward>=1"
    shown = practicum("datasets", "build", "orders-1", "--where", where, "--format", "sft")
    folder = tmp_path / "state" / "datasets" / "orders-1"
    assert shown.status == 0, shown.err
    assert gateway.seen[-1].query == [("limit", "50"), ("metadata", "suite:orders"), ("metadata", "split:train")]
    assert shown.out.splitlines()[0] == f"{folder}/tokens.jsonl: 1 rows of 1 episodes, 3 of 8 tokens trainable"
    assert shown.out.splitlines()[1].startswith("2 episodes seen, 1 not chosen, 0 left out of a file;")
    assert Dataset(folder).manifest.files[0].episodes == ("ep1",)
    again = practicum("datasets", "build", "orders-1", "--where", where, "--format", "sft")
    assert (again.status, "holds an export already" in again.err) == (5, True)
    elsewhere = ("--format", "grpo", "--out", str(tmp_path / "b"), "--json")
    machine = practicum("datasets", "build", "orders-2", *elsewhere).json
    assert machine["folder"] == str(tmp_path / "b")
    assert (machine["manifest"]["name"], machine["manifest"]["files"][0]["rows"]) == ("orders-2", 2)
    chat = practicum("datasets", "build", "orders-1", "--format", "chat", "--overwrite", "--json").json
    assert chat["manifest"]["files"][0]["name"] == "messages.jsonl"


def test_a_choice_that_cannot_be_read_and_one_that_spoils(
    gateway: StandIn, practicum: Types, recorded: Recorded
) -> None:
    gateway.on("GET", "/v1/trajectories", [labelled(recorded, 1, 1.0, "held_out")])
    wrong = practicum("datasets", "build", "a", "--format", "sft", "--where", "suite=orders colour=red", "--json")
    assert wrong.status == 5
    assert json.loads(wrong.err)["errors"] == [{"where": "column 14", "what": "there is no field 'colour'"}]
    assert not gateway.seen
    spoiling = ("datasets", "build", "a", "--format", "chat", "--where", "split=held_out")
    assert "can no longer be measured" in practicum(*spoiling).err
    assert practicum(*spoiling, "--held-out").status == 0
