"""Walks a path with makers that make nothing much: `python -m tests.sdk.stages.walker SETTINGS FOLDER [WORK]`.

Every work writes a line to `begun.txt`; the process kills itself as hard as can be in the work that is named.
"""

import os
import signal
import sys
from hashlib import sha256
from pathlib import Path

from practicum.contracts.evaluation import EvaluationReport
from practicum.errors import UpstreamError
from practicum.files import write_whole
from practicum.stages.path import Facts, PathSettings
from practicum.stages.path_record import path_folder
from practicum.stages.path_report import PathReport
from practicum.stages.settings import GrpoSettings, SftSettings
from practicum.stages.walk import Candidate, Walk
from tests.sdk.evaluation.reports import report_of

FACTS = Facts(suite_digest="suite", template_hash="template", base_digest="base")
SOLVED = {"prompt": 0, "rag": 2, "sft": 5, "grpo": 6}
"""How many of six tasks each stage solves."""


class Hands:
    """A maker and an examiner in one; what they make is a note of what it was made of."""

    def __init__(self, folder: Path, *, dies_in: str = "", fails_in: str = "") -> None:
        self._folder = folder
        self._dies_in, self._fails_in = dies_in, fails_in

    def references(self, folder: Path) -> str:
        return self._make(folder, "references")

    def dataset(self, references: Path, folder: Path) -> str:
        return self._make(folder, _note(references))

    def sft(self, dataset: Path, folder: Path, settings: SftSettings) -> str:
        return self._make(folder, f"{_note(dataset)} sft {settings.epochs} {settings.system}")

    def grpo(self, start: Path, folder: Path, settings: GrpoSettings) -> str:
        replay = "" if settings.replay is None else f" replay {_note(Path(settings.replay.dataset))}"
        return self._make(folder, f"{_note(start)} grpo {settings.steps}{replay}")

    def evaluate(self, candidate: Candidate, folder: Path) -> EvaluationReport:
        self._begin(folder)
        solved = SOLVED[candidate.version.split("-")[0]]
        report = report_of([[1.0]] * solved + [[0.0]] * (6 - solved), version=candidate.version)
        folder.mkdir(parents=True)
        write_whole(folder / "report.json", report.model_dump_json())
        shown = _note(candidate.bundle or candidate.references) if candidate.bundle or candidate.references else "bare"
        write_whole(folder / "note.txt", f"{shown} shown {candidate.shown}")
        return report

    def _make(self, folder: Path, text: str) -> str:
        self._begin(folder)
        folder.mkdir(parents=True)
        write_whole(folder / "note.txt", text)
        return sha256(text.encode()).hexdigest()

    def _begin(self, folder: Path) -> None:
        work = folder.relative_to(self._folder).as_posix().rsplit("-", 1)[0]
        with (self._folder / "begun.txt").open("a") as out:
            out.write(f"{work}\n")
        if work == self._dies_in:
            os.kill(os.getpid(), signal.SIGKILL)
        if work == self._fails_in:
            raise UpstreamError("The systems are gone.")


def _note(folder: Path | None) -> str:
    return "" if folder is None else (folder / "note.txt").read_text()


def walk(settings: PathSettings, folder: Path, *, dies_in: str = "", fails_in: str = "") -> PathReport:
    """Walk a path in a folder, to its end or to where it breaks off."""
    with path_folder(folder) as record:
        hands = Hands(folder, dies_in=dies_in, fails_in=fails_in)
        return Walk(settings, FACTS, record, hands, hands, lambda _: None).go()


if __name__ == "__main__":
    walk(PathSettings.model_validate_json(sys.argv[1]), Path(sys.argv[2]), dies_in=sys.argv[3])
