"""The libraries of training tell nothing by themselves: whoever trains is told of steps, and of nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from practicum.stages.bundle import read_bundle

pytestmark = [pytest.mark.train, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[3]


def test_no_bar_and_no_chatter_on_the_terminal(tmp_path: Path) -> None:
    """In a process of its own, since what was loaded before decides what draws bars."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TQDM_"))}
    done = subprocess.run(
        [sys.executable, "-m", "tests.sdk.stages.quietly", str(tmp_path)],
        cwd=ROOT,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "converted" / "model.safetensors").is_file()
    assert read_bundle(tmp_path / "grpo").parent == read_bundle(tmp_path / "sft").digest
