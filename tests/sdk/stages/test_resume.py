"""Killed without warning, training goes on where it was whole, and ends where it would have ended."""

import json
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from practicum.contracts.base import JsonObject
from practicum.stages._trl import libraries
from practicum.stages.bases import find_base
from practicum.stages.settings import Lora
from practicum.stages.sft import train_sft
from tests.sdk.stages import school as schools
from tests.sdk.stages.apprentice import STEPS, train
from tests.sdk.stages.school import School

pytestmark = [pytest.mark.train, pytest.mark.timeout(240)]
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


def same_weights(one: Path, other: Path) -> bool:
    torch = libraries.torch()
    load = import_module("safetensors.torch").load_file
    pairs = [sorted((folder / "weights").glob("*.safetensors")) for folder in (one, other)]
    first, second = (load(path) for (path,) in pairs)
    return first.keys() == second.keys() and all(torch.allclose(first[k], second[k], atol=1e-5) for k in first)
