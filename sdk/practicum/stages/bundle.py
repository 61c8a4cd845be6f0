"""Bundles: trained weights with everything that must travel with them to be served as they were trained.

A model that is served with another template than it was trained with is another model. So a bundle names its base by
hash, and its codec by the hash of what it renders; whoever serves it compares both.
"""

import hashlib
import os
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from practicum.codecs.registry import codec_named
from practicum.contracts.base import JsonObject, Value
from practicum.errors import ConfigurationError
from practicum.files import write_whole

BUNDLE = "bundle.json"
WEIGHTS = "weights"
"""Folder of the weights within a bundle, as transformers or peft load them."""
GGUF = "adapter.gguf"
"""The adapter as llama.cpp loads it, where the base is of a kind that it serves."""


class Kind(StrEnum):
    """What the weights are."""

    ADAPTER = "adapter"
    """A LoRA adapter over the base."""
    FULL = "full"
    """A whole model."""


class Base(Value):
    """The model that training started from.

    Attributes:
        name: how it was asked for: a folder, or `smollm2`.
        path: folder it was loaded from.
        digest: SHA-256 over its weights.
    """

    name: str
    path: str
    digest: str


class Source(Value):
    """What was learned from.

    Attributes:
        kind: a dataset of recorded rows, or a suite that was practised.
        name: its folder or its name.
        digest: SHA-256 of the rows, or the suite's digest.
    """

    kind: Literal["dataset", "suite"]
    name: str
    digest: str


class Bundle(Value):
    """The manifest of a bundle.

    Attributes:
        format: version of this form.
        created: when training was done.
        stage: what made it: `sft` or `grpo`.
        kind: what its weights are.
        base: the model below it; of a full model, where training began.
        parent: digest of the bundle that it went on from.
        codec: the dialect it was trained in.
        template_hash: of that codec at the time; a server with another one must refuse the bundle.
        stop: the control token that usually ends a turn.
        stop_ids: ids of all that do, this one first.
        system: system message before the tasks; None where it is the gateway's own.
        sources: what was learned from, replayed rows included.
        settings: the settings of the stage, whole.
        steps: optimiser steps.
        seconds: wall seconds of training.
        figures: what the last step measured.
        software: versions of what trained it.
        files: SHA-256 of each file beside the manifest.
    """

    format: Literal["practicum-bundle/1"] = "practicum-bundle/1"
    created: datetime
    stage: Literal["sft", "grpo"]
    kind: Kind
    base: Base
    parent: str | None = None
    codec: str
    template_hash: str
    stop: str
    stop_ids: tuple[int, ...]
    system: str | None
    sources: tuple[Source, ...]
    settings: JsonObject
    steps: int
    seconds: float
    figures: dict[str, float] = Field(default_factory=dict)
    software: dict[str, str]
    files: dict[str, str]

    @property
    def digest(self) -> str:
        """SHA-256 of the weights and of what they mean: their identity, whatever folder they lie in."""
        parts = [self.codec, self.template_hash, self.base.digest, *(f"{k}={v}" for k, v in sorted(self.files.items()))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def write_bundle(folder: Path, bundle: Bundle) -> None:
    """Write the manifest, by which the folder becomes a bundle."""
    write_whole(folder / BUNDLE, bundle.model_dump_json(indent=2) + "\n")


def read_bundle(folder: Path, *, check: bool = True) -> Bundle:
    """Read a bundle's manifest.

    Args:
        folder: the bundle.
        check: whether to compare every file with the hash that the manifest gives it.

    Raises:
        ConfigurationError: there is no bundle, or a file is missing or was changed.
    """
    path = folder / BUNDLE
    try:
        bundle = Bundle.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(
            f"{folder} holds no bundle: {error.strerror}.", mend="Name the --out folder of a training run that is done."
        ) from error
    except ValidationError as error:
        raise ConfigurationError(
            f"{path} is damaged: {error.errors()[0]['msg']}.", mend="Train it again in a new folder."
        ) from error
    if check:
        found = hashes(folder, bundle.files)
        changed = sorted(name for name, digest in bundle.files.items() if found.get(name) != digest)
        if changed:
            raise ConfigurationError(
                f"The bundle {folder} was changed: {', '.join(changed)}.",
                mend="Copy it again, or train it again in a new folder.",
            )
    return bundle


def check_template(bundle: Bundle) -> None:
    """See that what this installation renders is what the bundle was trained with.

    Raises:
        ConfigurationError: it is not; the model would be asked in a dialect that it does not know.
    """
    codec = codec_named(bundle.codec)
    if codec.template_hash != bundle.template_hash:
        raise ConfigurationError(
            f"The bundle was trained with another template of '{bundle.codec}' "
            f"({bundle.template_hash[:12]}) than this installation has ({codec.template_hash[:12]}).",
            mend="Train it again with this version, or use the version that trained it.",
        )


def hashes(folder: Path, names: Mapping[str, str] | list[str]) -> dict[str, str]:
    """SHA-256 of files below a folder, those that are there."""
    return {name: digest_of(folder / name) for name in names if (folder / name).is_file()}


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_below(folder: Path, below: str) -> list[str]:
    """The files of a folder within a bundle, as the manifest names them."""
    root = folder / below
    return sorted(
        (Path(parent) / name).relative_to(folder).as_posix() for parent, _, names in os.walk(root) for name in names
    )
