"""The end of a training run: weights are saved, and a manifest makes them a bundle."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from practicum.contracts.base import utc_now
from practicum.stages._trl import adapter_gguf
from practicum.stages._trl.checkpoints import Course
from practicum.stages._trl.models import Loaded
from practicum.stages._trl.saving import saving
from practicum.stages.bundle import GGUF, WEIGHTS, Base, Bundle, Kind, Source, files_below, hashes, write_bundle
from practicum.stages.runs import Run
from practicum.stages.settings import Training

_SOFTWARE = ("practicum", "torch", "transformers", "peft", "trl")


def finish(
    run: Run,
    loaded: Loaded,
    course: Course,
    settings: Training,
    *,
    stage: Literal["sft", "grpo"],
    base: Base,
    parent: str | None,
    system: str | None,
    sources: tuple[Source, ...],
    steps: int,
) -> Bundle:
    """Make the run's folder a bundle; from here on it is done and will not be trained again.

    Raises:
        ConfigurationError: it cannot be written.
    """
    with saving(run.folder):
        loaded.save(run.folder)
        names = files_below(run.folder, WEIGHTS)
        if loaded.kind is Kind.ADAPTER and adapter_gguf.servable(loaded):
            adapter_gguf.write(loaded, run.folder / GGUF)
            names.append(GGUF)
    bundle = Bundle(
        created=utc_now(),
        stage=stage,
        kind=loaded.kind,
        base=base,
        parent=parent,
        codec=loaded.codec.name,
        template_hash=loaded.codec.template_hash,
        stop=loaded.codec.stops[0],
        stop_ids=loaded.stops,
        system=system,
        sources=sources,
        settings=settings.model_dump(mode="json"),
        steps=steps,
        seconds=round(course.seconds, 1),
        figures={name: round(value, 6) for name, value in course.latest.items()},
        software={name: found for name in _SOFTWARE if (found := _version(name))},
        files=hashes(run.folder, names),
    )
    write_bundle(run.folder, bundle)
    run.clear()
    return bundle


def weights_of(folder: Path, bundle: Bundle, base: Base) -> tuple[Path, Path | None]:
    """The folder of a bundle's model, and that of its adapter if it is one."""
    weights = folder / WEIGHTS
    return (Path(base.path), weights) if bundle.kind is Kind.ADAPTER else (weights, None)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
