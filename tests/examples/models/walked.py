"""Paths that were walked: one whose stages make small bundles of no model, and one that trains a tiny model."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

from practicum.codecs.registry import codec_named
from practicum.contracts.base import utc_now
from practicum.contracts.evaluation import EvaluationReport
from practicum.files import write_whole
from practicum.stages.bundle import GGUF, Base, Bundle, Kind, Source, digest_of, read_bundle, write_bundle
from practicum.stages.path import Facts, PathSettings
from practicum.stages.path_record import path_folder
from practicum.stages.settings import GrpoSettings, SftSettings
from practicum.stages.walk import Candidate, Walk
from practicum.tasks import load_suite
from tests.sdk.evaluation.reports import report_of

CODEC = codec_named("chatml-compact")
BASE = Base(name="smollm2", path="/elsewhere/SmolLM2", digest="b" * 64)
SOLVED = {"prompt": 0, "rag": 2, "sft": 5, "grpo": 4}
"""How many of six tasks each stage solves."""
PATH = PathSettings.model_validate(
    {
        "suite": "tests.sdk.suites:NUMBERS",
        "system": "Write.",
        "model": {"sampling": {"temperature": 0.0, "max_tokens": 96}},
        "stages": [
            {"stage": "prompt"},
            {"stage": "rag"},
            {"stage": "sft"},
            {"stage": "grpo", "replay": {"rows": 2}, "constrained": False},
        ],
    }
)


@dataclass(frozen=True)
class Hands:
    """A maker and an examiner in one, whose bundles hold a few bytes.

    Attributes:
        base: what its bundles say of the model below them.
        template: what they say of the template.
    """

    base: Base = BASE
    template: str = CODEC.template_hash

    def references(self, folder: Path) -> str:
        return _noted(folder, "references")

    def dataset(self, references: Path, folder: Path) -> str:
        return _noted(folder, f"rows of {references.name}")

    def sft(self, dataset: Path, folder: Path, settings: SftSettings) -> str:
        source = Source(kind="dataset", name=str(dataset), digest="d" * 64)
        return self._bundle(folder, "sft", settings, (source,), None)

    def grpo(self, start: Path, folder: Path, settings: GrpoSettings) -> str:
        assert settings.replay is not None
        sources = (
            Source(kind="suite", name="numbers", digest="e" * 64),
            Source(kind="dataset", name=settings.replay.dataset, digest="d" * 64),
        )
        return self._bundle(folder, "grpo", settings, sources, read_bundle(start).digest)

    def evaluate(self, candidate: Candidate, folder: Path) -> EvaluationReport:
        solved = SOLVED[candidate.version.split("-")[0]]
        rewards = [[1.0]] * solved + [[0.0]] * (6 - solved)
        report = report_of(rewards, version=candidate.version)
        folder.mkdir(parents=True)
        write_whole(folder / "report.json", report.model_dump_json())
        return report

    def _bundle(
        self,
        folder: Path,
        stage: Literal["sft", "grpo"],
        settings: SftSettings | GrpoSettings,
        sources: tuple[Source, ...],
        parent: str | None,
    ) -> str:
        folder.mkdir(parents=True)
        (folder / GGUF).write_bytes(f"GGUF of {stage}".encode())
        bundle = Bundle(
            created=utc_now(),
            stage=stage,
            kind=Kind.ADAPTER,
            base=self.base,
            parent=parent,
            codec=CODEC.name,
            template_hash=self.template,
            stop=CODEC.stops[0],
            stop_ids=(2,),
            system=settings.system,
            sources=sources,
            settings=settings.model_dump(mode="json"),
            steps=7,
            seconds=1.5,
            software={"torch": "2.9"},
            files={GGUF: digest_of(folder / GGUF)},
        )
        write_bundle(folder, bundle)
        return bundle.digest


def walk(folder: Path, hands: Hands | None = None, path: PathSettings = PATH) -> Path:
    """Walk a path to its end; its settings, as a file beside the folder."""
    made = hands or Hands()
    facts = Facts(load_suite(path.suite).digest, made.template, made.base.digest)
    with path_folder(folder) as record:
        Walk(path, facts, record, made, made, lambda _: None).go()
    return settings_file(folder.with_suffix(".json"), path)


def settings_file(file: Path, path: PathSettings) -> Path:
    """Write a path's settings."""
    write_whole(file, path.model_dump_json())
    return file


def _noted(folder: Path, text: str) -> str:
    folder.mkdir(parents=True)
    write_whole(folder / "note.txt", text)
    return sha256(text.encode()).hexdigest()
