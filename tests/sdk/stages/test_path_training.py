"""Killed during SFT and during GRPO, a path goes on and repeats no finished work; with a model that really trains."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from practicum.codecs.chatml import ChatMLCompact
from practicum.stages.bundle import read_bundle
from practicum.stages.rows import read_rows
from tests.sdk.stages.tiny import make_tiny

pytestmark = [pytest.mark.train, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[3]


def walked(folder: Path, dies_at: str = "") -> list[str]:
    """What a process told until it ended, or was killed."""
    command = [sys.executable, "-m", "tests.sdk.stages.pathwalker", str(folder), dies_at]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == (-signal.SIGKILL if dies_at else 0), done.stderr
    return done.stdout.splitlines()


def test_killed_in_sft_and_in_grpo(tmp_path: Path) -> None:
    make_tiny(tmp_path / "base", seed=1)
    first = walked(tmp_path, "sft step 3/")
    assert [line for line in first if line.endswith("accepted by the verifier")] == [
        "60 of 60 reference solutions are accepted by the verifier"
    ]

    second = walked(tmp_path, "grpo step 3/")
    assert second[:2] == ["references: done before", "sft/dataset: done before"]
    steps = [line.split()[2] for line in second if line.startswith("sft step")]
    assert steps[0] == "3/12"  # the checkpoint of step 2 was whole
    assert steps[-1] == "12/12"

    third = walked(tmp_path)
    assert [line.removesuffix(": done before") for line in third if line.endswith("done before")] == [
        "references",
        "sft/dataset",
        "sft/train",
        "sft/evaluation",
    ]
    assert [line.split()[2] for line in third if line.startswith("grpo step")] == ["3/4", "4/4"]

    fourth = walked(tmp_path)
    assert len(fourth) == 6
    assert all(line.endswith("done before") for line in fourth)

    folder = tmp_path / "path"
    (sft,), (grpo,), (rows,) = (list(folder.glob(name)) for name in ("sft/train-*", "grpo/train-*", "sft/dataset-*"))
    assert read_bundle(grpo).parent == read_bundle(sft).digest
    assert [source.kind for source in read_bundle(grpo).sources] == ["suite", "dataset"]
    assert len(read_rows(rows, ChatMLCompact()).rows) == 60
