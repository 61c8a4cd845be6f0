"""Killed without warning, training goes on where it was whole, and ends where it would have ended."""

import json
import resource
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from practicum.contracts.base import JsonObject
from practicum.errors import ConfigurationError
from practicum.stages._trl import libraries
from practicum.stages.bases import find_base
from practicum.stages.bundle import read_bundle
from practicum.stages.progress import Progress
from practicum.stages.settings import Lora
from practicum.stages.sft import train_sft
from tests.sdk.stages import school as schools
from tests.sdk.stages.apprentice import STEPS, train
from tests.sdk.stages.school import School

pytestmark = [pytest.mark.train, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[3]
CLOCKS = ("seconds", "step_time")


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> School:
    folder = tmp_path_factory.mktemp("school")
    taught = schools.school(folder, 1, repeats=1)
    train_sft(taught.dataset, taught.base, folder / "whole", schools.sft(epochs=30))
    shown = find_base(str(folder / "whole" / "weights"), folder)
    train_sft(taught.dataset, shown, folder / "adapter", schools.sft(epochs=1, lora=Lora(rank=4, alpha=8)))
    return taught


def killed(taught: School, stage: str, out: Path, last: int) -> list[int]:
    """The steps that a process finished before it was killed."""
    command = [sys.executable, "-m", "tests.sdk.stages.apprentice", str(taught.folder), stage, str(out), str(last)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return [int(line) for line in done.stdout.split()]


def trained(taught: School, stage: str, out: Path) -> list[int]:
    """The steps done here."""
    steps: list[int] = []
    train(taught.folder, stage, out, lambda progress: steps.append(progress.step))
    return steps


def measured(folder: Path) -> list[JsonObject]:
    """What was written down of each step, its clocks left out."""
    lines = (folder / "steps.jsonl").read_text().splitlines()
    return [{name: value for name, value in json.loads(line).items() if name not in CLOCKS} for line in lines]


@pytest.mark.parametrize("stage", ["sft", "grpo", "grpo-lora"])
def test_a_killed_run_ends_as_if_nothing_had_happened(taught: School, tmp_path: Path, stage: str) -> None:
    cut, whole = tmp_path / "cut", tmp_path / "whole"
    assert killed(taught, stage, cut, last=5) == [1, 2, 3, 4, 5]
    assert sorted(path.name for path in (cut / "checkpoints").iterdir()) == ["checkpoint-2", "checkpoint-4"]
    # Step 5 was in no checkpoint and is done again; those before are not.
    assert trained(taught, stage, cut) == [5, 6]
    assert trained(taught, stage, cut) == []  # what is done is not done again
    assert trained(taught, stage, whole) == list(range(1, STEPS + 1))

    assert [line["step"] for line in measured(cut)] == list(range(1, STEPS + 1))
    for mine, other in zip(measured(cut), measured(whole), strict=True):
        assert mine == pytest.approx(other, rel=1e-4, abs=1e-6)
    assert same_weights(cut, whole)


@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_room(taught: School, tmp_path: Path, stage: str) -> None:
    out, steps = tmp_path / "out", list[int]()

    def listen(progress: Progress) -> None:
        steps.append(progress.step)
        if progress.step == 3:
            bound(100_000)  # bytes of a file: less than the weights have

    try:
        with pytest.raises(ConfigurationError, match=r"cannot be written to .*out, where \d+ MiB are free") as caught:
            train(taught.folder, stage, out, listen)
    finally:
        bound(None)
    assert "the same command goes on" in str(caught.value)
    assert steps == [1, 2, 3, 4]
    assert trained(taught, stage, out) == [3, 4, 5, 6]  # the checkpoint of step 4 was not whole
    assert read_bundle(out).steps == STEPS


def test_the_weights_that_find_no_room_at_the_end_are_written_later(taught: School, tmp_path: Path) -> None:
    out, steps = tmp_path / "out", list[int]()

    def listen(progress: Progress) -> None:
        steps.append(progress.step)
        if progress.step == 2:
            bound(100_000)

    settings = schools.sft(epochs=1, rows_per_step=30, rows_at_once=30)  # no checkpoint before the end
    try:
        with pytest.raises(ConfigurationError, match="cannot be written"):
            train_sft(taught.dataset, taught.base, out, settings, listener=listen)
    finally:
        bound(None)
    assert not (out / "bundle.json").exists()
    assert train_sft(taught.dataset, taught.base, out, settings).steps == 2
    assert read_bundle(out).steps == 2


def bound(size: int | None) -> None:
    """Let no file of this process grow larger, as a disk that is full does; None for no bound."""
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (most if size is None else size, most))


def same_weights(one: Path, other: Path) -> bool:
    torch = libraries.torch()
    load = import_module("safetensors.torch").load_file
    pairs = [sorted((folder / "weights").glob("*.safetensors")) for folder in (one, other)]
    first, second = (load(path) for (path,) in pairs)
    return first.keys() == second.keys() and all(torch.allclose(first[k], second[k], atol=1e-5) for k in first)
