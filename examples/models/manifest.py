"""The manifest beside a shipped adapter: what it was made of, and what every stage of its path was measured at."""

from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from practicum.contracts.base import JsonObject, Value
from practicum.contracts.evaluation import Estimate
from practicum.contracts.tasks import Split
from practicum.errors import ConfigurationError
from practicum.stages.bundle import Source

MANIFEST = "manifest.json"


class Below(Value):
    """The model below an adapter.

    Attributes:
        name: how it is asked for.
        sha256: over its weights, as training loaded them.
    """

    name: str
    sha256: str


class Tasks(Value):
    """What was learned from and measured on.

    Attributes:
        suite: dotted path of the suite.
        sha256: of all its tasks.
        held_out: SHA-256 of those that are only measured on.
    """

    suite: str
    sha256: str
    held_out: str


class File(Value):
    """A file beside the manifest."""

    file: str
    bytes: int
    sha256: str


class Dialect(Value):
    """The codec that the adapter was trained in, and the hash of what it rendered then."""

    name: str
    template_hash: str


class Training(Value):
    """One stage of training.

    Attributes:
        stage: its name in the path.
        bundle: digest of what it made.
        parent: digest of the bundle that it went on from.
        sources: what was learned from; of a dataset the digest is that of its rows.
        steps: optimiser steps.
        seconds: wall seconds of training.
        software: versions of what trained it.
    """

    stage: str
    bundle: str
    parent: str | None
    sources: tuple[Source, ...]
    steps: int
    seconds: float
    software: dict[str, str]


class Measured(Value):
    """What a stage was measured at.

    Attributes:
        kind: what the stage does.
        split: which side of the line the tasks are on.
        tasks: how many of them were tried.
        attempts: how often each.
        successes: scored attempts that earned the whole reward.
        success: their share of all scored attempts, with its 95% interval.
        unscored: attempts without a verdict, which are in no share.
        families: that share for each kind of task.
    """

    kind: str
    split: Split
    tasks: int
    attempts: int
    successes: int
    success: Estimate
    unscored: int
    families: dict[str, Estimate]


class Manifest(Value):
    """What is shipped, what of, and how good it is.

    Attributes:
        format: version of this form.
        stage: the stage of the path whose adapter this is.
        base: the model below the adapter.
        adapter: the adapter's file.
        codec: how it is spoken to.
        tasks: what it learned from and was measured on.
        path: the settings of the path, whole.
        training: the stages that made the adapter, the first first.
        measured: every stage of the path by its name, in the path's order.
    """

    format: Literal["practicum-adapter/2"] = "practicum-adapter/2"
    stage: str
    base: Below
    adapter: File
    codec: Dialect
    tasks: Tasks
    path: JsonObject
    training: tuple[Training, ...]
    measured: dict[str, Measured]


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises:
        ConfigurationError: it is missing or damaged.
    """
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ConfigurationError(f"{path} does not say what was measured.", mend="Check the file out again.") from error
