"""Trains in a process of its own, which can be killed: `python -m tests.sdk.stages.apprentice FOLDER STAGE OUT LAST`.

Prints each finished step; after step LAST it kills itself as hard as can be.
"""

import os
import signal
import sys
from pathlib import Path

from practicum.stages.bases import find_base
from practicum.stages.grpo import train_grpo
from practicum.stages.progress import Listener, Progress
from practicum.stages.sft import train_sft
from tests.sdk.stages.house import LAMPS_SUITE
from tests.sdk.stages.school import grpo, sft

STEPS = 6


def train(folder: Path, stage: str, out: Path, listener: Listener) -> None:
    """Train, or go on."""
    if stage == "sft":
        settings = sft(epochs=3, rows_per_step=40, rows_at_once=20, save_every=2)
        train_sft(folder / "data", find_base(str(folder / "base"), folder), out, settings, listener=listener)
    else:
        lora = stage == "grpo-lora"
        settings = grpo(steps=STEPS, groups=3, group_size=4, rows_at_once=6, save_every=2, beta=0.05 if lora else 0.0)
        start = folder / ("adapter" if lora else "whole")
        train_grpo(LAMPS_SUITE, start, out, settings, cache=folder, listener=listener)


def main(folder: Path, stage: str, out: Path, last: int) -> None:
    """Train until the last step, and no further."""

    def listen(progress: Progress) -> None:
        print(progress.step, flush=True)  # noqa: T201  whoever waits reads it
        if progress.step == last:
            os.kill(os.getpid(), signal.SIGKILL)

    train(folder, stage, out, listen)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
