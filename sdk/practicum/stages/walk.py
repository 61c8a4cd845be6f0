"""Walks a path: does what is due, keeps what is done, and says at the end what each stage came to.

The doing itself stands behind two ports: one makes things of solved tasks and practice, one serves and evaluates.
"""

import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from practicum.contracts.base import utc_now
from practicum.contracts.evaluation import EvaluationReport
from practicum.errors import ConfigurationError
from practicum.evaluation import read_report
from practicum.files import write_whole
from practicum.stages.path import (
    REFERENCES,
    Facts,
    GrpoStage,
    PathSettings,
    RagStage,
    Rehearsal,
    Stage,
    Standing,
    WorkKind,
    name_of,
    rows_of,
    standings,
    start_of,
    works_of,
)
from practicum.stages.path_record import Done, PathRecord
from practicum.stages.path_report import PathReport, StageResult, result_of
from practicum.stages.settings import GrpoSettings, Replay, SftSettings

RESULT = "result.json"


class Maker(Protocol):
    """Makes trajectories, datasets and bundles; each call goes on with what an interrupted one left in its folder."""

    def references(self, folder: Path) -> str:
        """Perform reference solutions of the train split, and keep them in a folder; their digest."""
        ...

    def dataset(self, references: Path, folder: Path) -> str:
        """Make rows of tokens of the solved ones; the dataset's digest."""
        ...

    def sft(self, dataset: Path, folder: Path, settings: SftSettings) -> str:
        """Train on rows; the bundle's digest."""
        ...

    def grpo(self, start: Path, folder: Path, settings: GrpoSettings) -> str:
        """Practise from a bundle; the new bundle's digest."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is to be served and evaluated.

    Attributes:
        version: how records call it.
        constrained: whether decoding is held to well-formed calls.
        bundle: folder of its bundle; None for the model as it is.
        references: folder of solved tasks to show; None for none.
        shown: how many of them.
    """

    version: str
    constrained: bool
    bundle: Path | None = None
    references: Path | None = None
    shown: int = 0


class Examiner(Protocol):
    """Serves models and evaluates them."""

    def evaluate(self, candidate: Candidate, folder: Path) -> EvaluationReport:
        """Evaluate on the held-out tasks; an interrupted evaluation in the folder is gone on with."""
        ...


class Walk:
    """One walk along a path."""

    def __init__(
        self,
        path: PathSettings,
        facts: Facts,
        record: PathRecord,
        maker: Maker,
        examiner: Examiner,
        tell: Callable[[str], None],
    ) -> None:
        """Put together what it needs.

        Args:
            path: the settings.
            facts: what is known of the world it runs in.
            record: what was done before.
            maker: makes.
            examiner: evaluates.
            tell: is told what happens, a line at a time.
        """
        self._path, self._facts, self._record = path, facts, record
        self._maker, self._examiner, self._tell = maker, examiner, tell
        self._stages = {name_of(stage): stage for stage in path.stages}
        self._found: dict[str, Done] = {}

    def go(self) -> PathReport:
        """Do all that is due.

        Returns:
            What each stage came to.

        Raises:
            PracticumError: a work failed; what was done before it is kept.
            ConfigurationError: something that was done is gone or was changed.
        """
        for standing in self._standings():
            if standing.output is None:
                self._do(standing)
            else:
                self._tell(f"{standing.work.name}: done before")
            self._keep(standing)
        return PathReport(
            suite=self._path.suite,
            suite_digest=self._facts.suite_digest,
            stages=tuple(self._result(stage) for stage in self._path.stages),
        )

    def _standings(self):  # noqa: ANN202  private, its type is plain
        done = _Outputs(self._record)
        return standings(works_of(self._path, self._facts), done)
