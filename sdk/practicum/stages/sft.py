"""Supervised fine-tuning: a model learns to draw the tokens that were recorded."""

from pathlib import Path

from practicum.codecs.registry import codec_named
from practicum.contracts.base import JsonObject
from practicum.errors import ConfigurationError
from practicum.stages._trl import sft as trainer
from practicum.stages._trl.checkpoints import course_of
from practicum.stages._trl.models import Loaded, load_base, settle
from practicum.stages.bundle import Base, Bundle, Source, read_bundle
from practicum.stages.extra import require
from practicum.stages.finishing import finish
from practicum.stages.progress import Listener, silent
from practicum.stages.rows import Rows, check_rows, read_rows
from practicum.stages.runs import run_in
from practicum.stages.settings import SftSettings

CODEC = "chatml-compact"
"""The dialect of models that are trained here, unless told otherwise."""


def train_sft(
    dataset: Path,
    base: Base,
    out: Path,
    settings: SftSettings | None = None,
    *,
    codec: str = CODEC,
    listener: Listener = silent,
) -> Bundle:
    """Train a model on recorded rows.

    The same call again goes on with a run that was interrupted, and returns the bundle of one that is done.

    Args:
        dataset: folder of a dataset for `sft`.
        base: the model to train; see `practicum.stages.bases.find_base`.
        out: folder of the run, which becomes the bundle.
        settings: how; the defaults train an adapter.
        codec: in which the rows were recorded and the model will be served.
        listener: is told of every step.

    Raises:
        MissingExtraError: the extra `train` is not installed.
        RequestError: a row cannot be trained on.
        ConfigurationError: dataset, model and codec do not fit each other.
        ConflictError: the folder holds something else.
    """
    require()
    settings = settings or SftSettings()
    dialect = codec_named(codec)
    rows = read_rows(dataset, dialect)
    system = _system(rows, settings)
    with run_in(out, _plan(rows, base, settings, codec)) as run:
        if run.finished:
            return read_bundle(out)
        settle(settings.seed, settings.threads)
        loaded = load_base(Path(base.path), dialect, settings.precision, lora=settings.lora)
        _check(rows, loaded, settings)
        latest = run.latest()
        course = course_of("sft", run, settings, listener, latest)
        steps = trainer.train(loaded, rows.rows, settings, course, latest)
        return finish(
            run,
            loaded,
            course,
            settings,
            stage="sft",
            base=base,
            parent=None,
            system=system,
            sources=(source_of(rows),),
            steps=steps,
        )


def _system(rows: Rows, settings: SftSettings) -> str | None:
    """The system message that the model will be served with: the one that its rows begin with."""
    if settings.system is None and len(rows.systems) > 1:
        raise ConfigurationError(
            f"The rows were recorded with {len(rows.systems)} system messages, and a model is served with one.",
            mend="Name one of them, or build a dataset of episodes that have theirs in common.",
        )
    return next(iter(rows.systems), None) if settings.system is None else settings.system


def source_of(rows: Rows) -> Source:
    """Rows as a bundle names them."""
    return Source(kind="dataset", name=str(rows.folder), digest=rows.digest)


def _plan(rows: Rows, base: Base, settings: SftSettings, codec: str) -> JsonObject:
    return {
        "stage": "sft",
        "dataset": rows.digest,
        "base": base.digest,
        "codec": codec,
        "settings": settings.model_dump(mode="json"),
    }


def _check(rows: Rows, loaded: Loaded, settings: SftSettings) -> None:
    check_rows(rows.rows, vocabulary=loaded.vocabulary, context=loaded.context, stops=loaded.stops)
    if settings.system is None:
        return
    first = rows.rows[0].input_ids
    text: str = loaded.tokenizer.decode(list(first), skip_special_tokens=True)
    if settings.system not in text:
        raise ConfigurationError(
            "The rows do not begin with the system message that the settings name.",
            mend="Give the system message with which the episodes were recorded.",
        )
