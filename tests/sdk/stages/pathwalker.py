"""Walks a path with a tiny model that really trains: `python -m tests.sdk.stages.pathwalker FOLDER [LINE]`.

Prints what happens; the process kills itself as hard as can be when a line that begins so was told.
"""

import os
import signal
import sys
from pathlib import Path

from practicum.contracts.evaluation import EvaluationReport
from practicum.files import write_whole
from practicum.stages.bases import find_base
from practicum.stages.maker import SuiteMaker
from practicum.stages.measure import measure
from practicum.stages.path import Facts, PathSettings
from practicum.stages.path_record import path_folder
from practicum.stages.path_report import PathReport
from practicum.stages.policies import open_policy
from practicum.stages.walk import Candidate, Walk
from tests.sdk.stages import school
from tests.sdk.stages.house import LAMPS_SUITE, SYSTEM

PATH = PathSettings.model_validate(
    {
        "suite": "tests.sdk.stages.house:LAMPS_SUITE",
        "system": SYSTEM,
        "stages": [
            {
                "stage": "sft",
                "settings": school.sft(epochs=4, rows_per_step=20, rows_at_once=20, save_every=2, system=None),
            },
            {
                "stage": "grpo",
                "settings": school.grpo(steps=4, groups=3, group_size=4, rows_at_once=6, save_every=2),
                "replay": {"rows": 2},
            },
        ],
    }
)


class Measurer:
    """Evaluates in this process what it is given; a `practicum.stages.walk.Examiner`."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def evaluate(self, candidate: Candidate, folder: Path) -> EvaluationReport:
        assert candidate.bundle is not None
        policy = open_policy(candidate.bundle, self._cache, turn_tokens=24, threads=1)
        report = measure(LAMPS_SUITE, policy, limits=school.LIMITS, system=SYSTEM)
        folder.mkdir(parents=True)
        write_whole(folder / "report.json", report.model_dump_json())
        return report


def walk(folder: Path, dies_at: str = "") -> PathReport:
    """Walk to the end, or to the line at which it dies."""

    def tell(line: str) -> None:
        print(line, flush=True)  # noqa: T201  whoever waits reads it
        if dies_at and line.startswith(dies_at):
            os.kill(os.getpid(), signal.SIGKILL)

    base = find_base(str(folder / "base"), folder)
    facts = Facts(LAMPS_SUITE.digest, school.ChatMLCompact().template_hash, base.digest)
    maker = SuiteMaker(LAMPS_SUITE, base, PATH.model.codec, system=SYSTEM, tasks=None, cache=folder, tell=tell)
    with path_folder(folder / "path") as record:
        return Walk(PATH, facts, record, maker, Measurer(folder), tell).go()


if __name__ == "__main__":
    walk(Path(sys.argv[1]), sys.argv[2])
