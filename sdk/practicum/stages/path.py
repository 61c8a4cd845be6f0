"""A path: ways of making one agent better, one after the other, each measured on the same held-out tasks. Pure.

What a path wants becomes works that need each other. Every work has an input, a hash of all that decides what comes of
it: its own settings and the outputs of the works it needs. What was done for an input need not be done again, so an
interrupted path goes on where it stopped, and a changed setting leads to the works that it decides and no others.

    references ─┬──────────────────────────────────────> rag/evaluation
                └─> sft/dataset ──> sft/train ─┬───────> sft/evaluation
                                               └─> grpo/train ──> grpo/evaluation
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from practicum.contracts.base import JsonObject, Name, Value
from practicum.contracts.episodes import Limits
from practicum.contracts.models import Provider, Sampling
from practicum.contracts.tasks import Split
from practicum.stages.settings import GrpoSettings, SftSettings

REFERENCES = "references"


class ServedModel(Value):
    """What answers before anything is trained; training starts from it too.

    Attributes:
        target: what its server calls it; for the local model server, and as the base to train, `smollm2`.
        provider: who answers.
        base_url: where its server listens; None for the local model server of the installation.
        codec: how tools are rendered and calls parsed.
        sampling: how every stage is asked.
    """

    target: str = "smollm2"
    provider: Provider = Provider.LLAMA_CPP
    base_url: str | None = None
    codec: str = "chatml-compact"
    sampling: Sampling = Sampling(temperature=0.0, max_tokens=160)


class Measuring(Value):
    """How every stage is evaluated.

    Attributes:
        limit: how many of the held-out tasks, from the first; None for all.
        attempts: at each task.
        limits: what an episode may spend.
        seed: from it each attempt gets a seed of its own; None leaves it to the provider.
        concurrency: attempts under way at once; decides nothing but how long it takes.
    """

    limit: int | None = Field(default=None, ge=1)
    attempts: int = Field(default=1, ge=1, le=100)
    limits: Limits = Limits()
    seed: int | None = None
    concurrency: int = Field(default=4, ge=1)


class _Stage(Value):
    """What all stages are told.

    Attributes:
        name: by which the stage is told from others; its kind when empty.
        constrained: whether decoding is held to well-formed calls of the offered tools.
    """

    name: str = Field(default="", pattern=r"^([a-z][a-z0-9_-]{0,30})?$")
    constrained: bool = True


class PromptStage(_Stage):
    """The model as it is, told what to do."""

    stage: Literal["prompt"]


class RagStage(_Stage):
    """The model as it is, shown the solved tasks that are most like the one before it.

    Attributes:
        shown: how many of the nearest.
        embedder: the registered embedding model by whose vectors they are found; their words find them when None.
    """

    stage: Literal["rag"]
    shown: int = Field(default=1, ge=1, le=8)
    embedder: str | None = Field(default=None, min_length=1)


class SftStage(_Stage):
    """The model after supervised fine-tuning on solved tasks.

    Attributes:
        settings: how it is trained; the path's own system message is used.
    """

    stage: Literal["sft"]
    settings: SftSettings = SftSettings()


class Rehearsal(Value):
    """Rows of the SFT stage that are mixed into practice; see `practicum.stages.settings.Replay`.

    Attributes:
        rows: how many join each step.
        weight: of their loss beside that of the practice.
    """

    rows: int = Field(default=8, ge=1)
    weight: float = Field(default=0.5, gt=0)


class GrpoStage(_Stage):
    """The model after practice.

    Attributes:
        start: name of the stage that it goes on from; the last before it that trains when None.
        settings: how it practises; the path's own system message is used.
        replay: rows to rehearse from the SFT stage below it; None for none.
    """

    stage: Literal["grpo"]
    start: str | None = None
    settings: GrpoSettings = GrpoSettings()
    replay: Rehearsal | None = None


Stage: TypeAlias = Annotated[PromptStage | RagStage | SftStage | GrpoStage, Field(discriminator="stage")]


class PathSettings(Value):
    """A whole path, as a file holds it.

    Attributes:
        suite: dotted path of the suite, `module:attribute`.
        alias: under which the gateway knows its models, a version for each stage.
        system: system message before every task; None for the gateway's own.
        model: what it begins with.
        references: how many tasks of the train split are solved by their reference solutions, to show and to learn
            from; None for all.
        evaluation: how every stage is measured.
        stages: in this order.
    """

    suite: str
    alias: Name = "path"
    system: str | None = None
    model: ServedModel = ServedModel()
    references: int | None = Field(default=None, ge=1)
    evaluation: Measuring = Measuring()
    stages: tuple[Stage, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        names = [name_of(stage) for stage in self.stages]
        if twice := sorted({name for name in names if names.count(name) > 1 or name == REFERENCES}):
            raise ValueError(f"stages need names of their own, and these are taken: {', '.join(twice)}")
        for stage in self.stages:
            if isinstance(stage, SftStage | GrpoStage) and stage.settings.system is not None:
                raise ValueError(f"{name_of(stage)}: the system message stands once, at the top of the path")
            if isinstance(stage, GrpoStage):
                if stage.settings.replay is not None:
                    raise ValueError(f"{name_of(stage)}: replay stands beside settings, and names no dataset here")
                start_of(self, stage)
        return self

    @property
    def trains(self) -> bool:
        """Whether any of its stages trains."""
        return any(isinstance(stage, SftStage | GrpoStage) for stage in self.stages)


def name_of(stage: Stage) -> str:
    """By what a stage is told from others."""
    return stage.name or stage.stage


def start_of(path: PathSettings, stage: GrpoStage) -> SftStage | GrpoStage:
    """The stage that practice goes on from.

    Raises:
        ValueError: there is none before it.
    """
    before = path.stages[: path.stages.index(stage)]
    found = [each for each in before if isinstance(each, SftStage | GrpoStage) and stage.start in (None, name_of(each))]
    if not found:
        wanted = "that trains" if stage.start is None else f"'{stage.start}' that trains"
        raise ValueError(f"{name_of(stage)}: no stage {wanted} stands before it")
    return found[-1]


def rows_of(path: PathSettings, stage: SftStage | GrpoStage) -> SftStage:
    """The SFT stage that a stage is built on, or itself."""
    return stage if isinstance(stage, SftStage) else rows_of(path, start_of(path, stage))


class WorkKind(StrEnum):
    """What there is to do."""

    REFERENCES = "references"
    """Perform reference solutions and keep them as trajectories."""
    DATASET = "dataset"
    """Make rows of tokens of the solved ones."""
    SFT = "sft"
    GRPO = "grpo"
    EVALUATION = "evaluation"
    """Serve what the stage made and evaluate it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the world that a path runs in.

    Attributes:
        suite_digest: of the suite.
        template_hash: of the codec.
        base_digest: of the model's weights; empty where nothing is trained.
    """

    suite_digest: str
    template_hash: str
    base_digest: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """One work of a path.

    Attributes:
        name: `STAGE/WORK`, or `references`.
        stage: name of the stage; `references` for what several of them share.
        kind: what is to be done.
        decides: everything but its needs that decides what comes of it.
        needs: names of the works whose outputs it takes, all of them before it.
    """

    name: str
    stage: str
    kind: WorkKind
    decides: JsonObject
    needs: tuple[str, ...] = ()


def works_of(path: PathSettings, facts: Facts) -> tuple[Work, ...]:
    """The works of a path, in an order in which they can be done."""
    found = [_references(path, facts)] if any(isinstance(stage, RagStage | SftStage) for stage in path.stages) else []
    for stage in path.stages:
        found += _training(path, stage, facts)
        found.append(_evaluation(path, stage, facts))
    return tuple(found)


def input_of(work: Work, outputs: Mapping[str, str]) -> str:
    """The hash of everything that decides what comes of a work.

    Args:
        work: the work.
        outputs: of the works it needs, by name.
    """
    whole = {
        "format": "practicum-path/1",
        "work": work.kind,
        "decides": work.decides,
        "needs": [outputs[name] for name in work.needs],
    }
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Standing:
    """How a work stands.

    Attributes:
        work: the work.
        input: hash of what decides it; None while something it needs is due.
        output: of what was done for that input; None while it is due.
    """

    work: Work
    input: str | None
    output: str | None


def standings(works: Sequence[Work], done: Mapping[str, str]) -> Iterator[Standing]:
    """How works stand.

    Args:
        works: in an order in which they can be done.
        done: outputs by input; what is added while this is read counts.
    """
    outputs: dict[str, str] = {}
    for work in works:
        known = all(name in outputs for name in work.needs)
        key = input_of(work, outputs) if known else None
        yield Standing(work, key, None if key is None else done.get(key))
        if key is not None and key in done:
            outputs[work.name] = done[key]


def _references(path: PathSettings, facts: Facts) -> Work:
    decides: JsonObject = {"suite": facts.suite_digest, "tasks": path.references, "system": path.system}
    return Work(REFERENCES, REFERENCES, WorkKind.REFERENCES, decides)


def _training(path: PathSettings, stage: Stage, facts: Facts) -> list[Work]:
    name = name_of(stage)
    if isinstance(stage, SftStage):
        spelling: JsonObject = {"base": facts.base_digest, "template": facts.template_hash}
        decides: JsonObject = {**spelling, "settings": stage.settings.model_dump(mode="json")}
        return [
            Work(f"{name}/dataset", name, WorkKind.DATASET, spelling, (REFERENCES,)),
            Work(f"{name}/train", name, WorkKind.SFT, decides, (f"{name}/dataset",)),
        ]
    if isinstance(stage, GrpoStage):
        return [_practice(path, stage, facts)]
    return []


def _practice(path: PathSettings, stage: GrpoStage, facts: Facts) -> Work:
    name, replay = name_of(stage), stage.replay
    decides: JsonObject = {
        "suite": facts.suite_digest,
        "settings": stage.settings.model_dump(mode="json"),
        "replay": None if replay is None else replay.model_dump(mode="json"),
    }
    rows = () if replay is None else (f"{name_of(rows_of(path, stage))}/dataset",)
    return Work(f"{name}/train", name, WorkKind.GRPO, decides, (f"{name_of(start_of(path, stage))}/train", *rows))


def _evaluation(path: PathSettings, stage: Stage, facts: Facts) -> Work:
    name = name_of(stage)
    decides: JsonObject = {
        "suite": facts.suite_digest,
        "split": Split.HELD_OUT,
        "template": facts.template_hash,
        "model": path.model.model_dump(mode="json", exclude={"base_url"}),
        "system": path.system,
        "constrained": stage.constrained,
        "evaluation": path.evaluation.model_dump(mode="json", exclude={"concurrency"}),
    }
    needs: tuple[str, ...] = ()
    if isinstance(stage, RagStage):
        decides["shown"], needs = stage.shown, (REFERENCES,)
    elif isinstance(stage, SftStage | GrpoStage):
        needs = (f"{name}/train",)
    return Work(f"{name}/evaluation", name, WorkKind.EVALUATION, decides, needs)
