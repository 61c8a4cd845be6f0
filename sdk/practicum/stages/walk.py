"""Walks a path: does what is due, keeps what is done, and says at the end what each stage came to.

The doing itself stands behind two ports: one makes things of solved tasks and of practice, one serves and evaluates.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from practicum.contracts.base import utc_now
from practicum.contracts.evaluation import EvaluationReport
from practicum.evaluation import read_report
from practicum.files import write_whole
from practicum.stages.path import (
    REFERENCES,
    Facts,
    GrpoStage,
    PathSettings,
    RagStage,
    SftStage,
    Stage,
    Work,
    WorkKind,
    name_of,
    rows_of,
    standings,
    start_of,
    works_of,
)
from practicum.stages.path_record import Done, PathRecord
from practicum.stages.path_report import PathReport, StageResult, compared
from practicum.stages.settings import GrpoSettings, Replay, SftSettings

RESULT = "result.json"
_SHORT = 12
"""Digits of an input's hash in the names of folders and versions."""


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
        embedder: the registered embedding model that finds them; None for their words.
    """

    version: str
    constrained: bool
    bundle: Path | None = None
    references: Path | None = None
    shown: int = 0
    embedder: str | None = None


class Examiner(Protocol):
    """Serves models and evaluates them."""

    def evaluate(self, candidate: Candidate, folder: Path) -> EvaluationReport:
        """Evaluate on the held-out tasks; an interrupted evaluation in the folder is gone on with."""
        ...


@dataclass
class Walk:
    """One walk along a path.

    Attributes:
        path: the settings.
        facts: what is known of the world it runs in.
        record: what was done before.
        maker: makes.
        examiner: serves and evaluates.
        tell: is told what happens, a line at a time.
    """

    path: PathSettings
    facts: Facts
    record: PathRecord
    maker: Maker
    examiner: Examiner
    tell: Callable[[str], None]
    _reached: dict[str, Done] = field(default_factory=dict[str, Done], init=False)

    def go(self) -> PathReport:
        """Do all that is due.

        Returns:
            What each stage came to.

        Raises:
            PracticumError: a work failed; what was done before it is kept.
        """
        stages = {name_of(stage): stage for stage in self.path.stages}
        results: list[StageResult] = []
        reports: list[EvaluationReport] = []
        for standing in standings(works_of(self.path, self.facts), self.record.outputs):
            work = standing.work
            self._reached[work.name] = self._done(work, standing.input or "", due=standing.output is None)
            if work.kind is WorkKind.EVALUATION:
                reports.append(self._report(work.name))
                results.append(self._concluded(stages[work.stage], reports))
        shared = self._reached.get(REFERENCES)
        return PathReport(
            suite=self.path.suite,
            suite_digest=self.facts.suite_digest,
            references_seconds=0.0 if shared is None else shared.seconds,
            stages=tuple(results),
        )

    def _done(self, work: Work, key: str, *, due: bool) -> Done:
        if not due:
            self.tell(f"{work.name}: done before")
            return self.record.done[key]
        place = f"{work.name}-{key[:_SHORT]}"
        self.tell(f"{work.name}: in {self.record.folder / place}")
        began = time.monotonic()
        try:
            output = self._make(work, key, self.record.folder / place)
        except BaseException:  # a kill that leaves time for it too
            self.record.spend(key, time.monotonic() - began)
            raise
        seconds = round(self.record.spent(key) + time.monotonic() - began, 1)
        done = Done(work=work.name, input=key, output=output, folder=place, seconds=seconds, finished=utc_now())
        self.record.add(done)
        self.tell(f"{work.name}: done in {seconds:.0f} s")
        return done

    def _make(self, work: Work, key: str, folder: Path) -> str:
        stage = next((stage for stage in self.path.stages if name_of(stage) == work.stage), None)
        match work.kind:
            case WorkKind.REFERENCES:
                return self.maker.references(folder)
            case WorkKind.DATASET:
                return self.maker.dataset(self._place(REFERENCES), folder)
            case WorkKind.SFT if isinstance(stage, SftStage):
                settings = stage.settings.model_copy(update={"system": self.path.system})
                return self.maker.sft(self._place(f"{work.stage}/dataset"), folder, settings)
            case WorkKind.GRPO if isinstance(stage, GrpoStage):
                start = self._place(f"{name_of(start_of(self.path, stage))}/train")
                return self.maker.grpo(start, folder, self._practice(stage))
            case WorkKind.EVALUATION if stage is not None:
                report = self.examiner.evaluate(self._candidate(stage, key), folder)
                return hashlib.sha256(report.model_dump_json().encode()).hexdigest()
            case _:
                raise RuntimeError(f"{work.name} belongs to no stage.")

    def _practice(self, stage: GrpoStage) -> GrpoSettings:
        update: dict[str, object] = {"system": self.path.system}
        if stage.replay is not None:
            rows = self._place(f"{name_of(rows_of(self.path, stage))}/dataset")
            update["replay"] = Replay(dataset=str(rows), rows=stage.replay.rows, weight=stage.replay.weight)
        return stage.settings.model_copy(update=update)

    def _candidate(self, stage: Stage, key: str) -> Candidate:
        name = name_of(stage)
        version, constrained = f"{name}-{key[:_SHORT]}", stage.constrained
        if isinstance(stage, RagStage):
            shown = self._place(REFERENCES)
            return Candidate(version, constrained, references=shown, shown=stage.shown, embedder=stage.embedder)
        if isinstance(stage, SftStage | GrpoStage):
            return Candidate(version, constrained, bundle=self._place(f"{name}/train"))
        return Candidate(version, constrained)

    def _concluded(self, stage: Stage, reports: Sequence[EvaluationReport]) -> StageResult:
        """What a stage came to, kept in its folder."""
        name = name_of(stage)
        trained = self._reached.get(f"{name}/train")
        data = self._reached.get(f"{name}/dataset")
        evaluated = self._reached[f"{name}/evaluation"]
        report = reports[-1]
        result = StageResult(
            stage=name,
            kind=stage.stage,
            version=report.version,
            tasks=len(report.results),
            k=report.k,
            success=report.success,
            pass_hat_k=report.pass_hat_k,
            unscored=report.unscored,
            against=name_of(self.path.stages[len(reports) - 2]) if len(reports) > 1 else None,
            comparison=compared(reports[-2], report) if len(reports) > 1 else None,
            training_seconds=sum(done.seconds for done in (data, trained) if done is not None),
            evaluation_seconds=evaluated.seconds,
            usage=report.usage,
            evaluation=evaluated.folder,
            dataset=None if data is None else data.output,
            bundle=None if trained is None else trained.output,
            bundle_folder=None if trained is None else trained.folder,
        )
        write_whole(self.record.folder / name / RESULT, result.model_dump_json(indent=2) + "\n")
        return result

    def _report(self, work: str) -> EvaluationReport:
        return read_report(self._place(work))

    def _place(self, work: str) -> Path:
        return self.record.folder / self._reached[work].folder
