"""Ships what a path made: `python -m examples.models.ship --path FOLDER --stage NAME --out FOLDER`.

adapter.gguf    the adapter of that stage
model.json      the model as a gateway registers it, its server's address left out
manifest.json   what it was made of, and what every stage of the path was measured at

The folder is replaced as a whole, or stays as it is.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from examples.models.manifest import MANIFEST, Below, Dialect, File, Manifest, Measured, Tasks, Training
from practicum.cli.inputs import document_of
from practicum.cli.services.local_model import ALIAS, WEIGHTS
from practicum.codecs.registry import codec_named
from practicum.contracts.evaluation import EvaluationReport
from practicum.contracts.tasks import Split
from practicum.errors import ConfigurationError, PracticumError
from practicum.evaluation import read_report
from practicum.evaluation.summary import counts_of
from practicum.files import whole_folder
from practicum.stages.bundle import GGUF, Bundle, Source, digest_of, read_bundle
from practicum.stages.path import Facts, GrpoStage, PathSettings, SftStage, name_of, standings, start_of, works_of
from practicum.stages.path_record import Done, PathRecord
from practicum.stages.serving import adapter_file, registration
from practicum.tasks import Suite, digest, load_suite

MODEL = "model.json"
_SETTINGS = Path("examples/path.yaml")


@dataclass(frozen=True, slots=True)
class Walked:
    """A path of which everything is done.

    Attributes:
        settings: what it was to do.
        suite: its tasks.
        folder: where it was walked.
        done: every work by its name.
    """

    settings: PathSettings
    suite: Suite
    folder: Path
    done: Mapping[str, Done]

    def place(self, work: str) -> Path:
        """The folder of a work."""
        return self.folder / self.done[work].folder


def ship(walked: Walked, name: str, out: Path) -> Manifest:
    """Put the adapter of a stage into a folder, with what has to be known of it.

    Args:
        walked: the path.
        name: the stage.
        out: the folder; what is there is replaced.

    Returns:
        What the folder says of itself.

    Raises:
        ConfigurationError: the stage made no adapter that the local model server can serve, its bundle or an evaluation
            was changed, or the folder cannot be written.
    """
    stage = _training_stage(walked.settings, name)
    place = walked.place(f"{name}/train")
    bundle = read_bundle(place)
    adapter = adapter_file(place, bundle)
    if bundle.base.name != WEIGHTS:
        raise ConfigurationError(
            f"{place} is an adapter over '{bundle.base.name}', and the local model server serves '{WEIGHTS}'.",
            mend=f"Name a path whose model is '{WEIGHTS}'.",
        )
    spec = registration(ALIAS, bundle, target=WEIGHTS, base_url="", adapter=0).model_copy(
        update={"base_url": None, "sampling": walked.settings.model.sampling, "constrained": stage.constrained}
    )
    with whole_folder(out) as draft:
        shutil.copyfile(adapter, draft / GGUF)
        manifest = _manifest(walked, stage, bundle, draft / GGUF)
        _write(draft / MODEL, spec.model_dump_json(indent=2, exclude_defaults=True))
        _write(draft / MANIFEST, manifest.model_dump_json(indent=2))
    return manifest


def read_walked(settings: Path, folder: Path) -> Walked:
    """A path that was walked to its end.

    Args:
        settings: its file.
        folder: where it was walked; nothing is written there.

    Raises:
        ConfigurationError: the file holds no path, or something of it is not done in the folder.
        MissingExtraError: the file is YAML, and no YAML parser is installed.
    """
    path = _read_settings(settings)
    suite, record = load_suite(path.suite), PathRecord(folder)
    facts = Facts(suite.digest, codec_named(path.model.codec).template_hash, _base_digest(record))
    found = list(standings(works_of(path, facts), record.outputs))
    if due := [standing.work.name for standing in found if standing.output is None]:
        raise ConfigurationError(
            f"Not everything that {settings} asks for is done in {folder}: {', '.join(due)}.",
            mend=f"Do it with: practicum path run {settings} --out {folder}",
        )
    done = {standing.work.name: record.done[standing.input] for standing in found if standing.input is not None}
    return Walked(path, suite, folder, done)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and ship.

    Args:
        arguments: of the command line; those of this process when None.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m examples.models.ship", description="Ship what a path made.")
    parser.add_argument("--path", type=Path, required=True, help="folder in which the path was walked")
    parser.add_argument("--settings", type=Path, default=_SETTINGS, help="the path's file (default: %(default)s)")
    parser.add_argument("--stage", required=True, help="stage whose adapter is shipped")
    parser.add_argument("--out", type=Path, required=True, help="folder to ship, which is replaced")
    options = parser.parse_args(arguments)
    try:
        manifest = ship(read_walked(options.settings, options.path), options.stage, options.out)
    except PracticumError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{options.out}: {manifest.stage}, {manifest.adapter.bytes} bytes\n")
    return 0


def _read_settings(file: Path) -> PathSettings:
    try:
        return PathSettings.model_validate(document_of(str(file)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise ConfigurationError(
            f"{file} is no path: {where}: {first['msg']}.", mend="examples/path.yaml shows one."
        ) from error


def _base_digest(record: PathRecord) -> str:
    """Of the weights that the latest training in a folder began with; empty where nothing was trained."""
    trained = [done.folder for done in record.done.values() if done.work.endswith("/train")]
    return read_bundle(record.folder / trained[-1], check=False).base.digest if trained else ""


def _training_stage(settings: PathSettings, name: str) -> SftStage | GrpoStage:
    training = {name_of(stage): stage for stage in settings.stages if isinstance(stage, SftStage | GrpoStage)}
    if name not in training:
        raise ConfigurationError(
            f"The path has no stage '{name}' that trains.", mend=f"Name one of these: {', '.join(training)}"
        )
    return training[name]


def _manifest(walked: Walked, stage: SftStage | GrpoStage, bundle: Bundle, adapter: Path) -> Manifest:
    return Manifest(
        stage=name_of(stage),
        base=Below(name=bundle.base.name, sha256=bundle.base.digest),
        adapter=File(file=adapter.name, bytes=adapter.stat().st_size, sha256=digest_of(adapter)),
        codec=Dialect(name=bundle.codec, template_hash=bundle.template_hash),
        tasks=Tasks(
            suite=walked.settings.suite,
            sha256=walked.suite.digest,
            held_out=digest(walked.suite.tasks(Split.HELD_OUT)),
        ),
        path=walked.settings.model_dump(mode="json"),
        training=tuple(_trainings(walked, stage)),
        measured={
            name_of(each): _measured(each.stage, read_report(walked.place(f"{name_of(each)}/evaluation")))
            for each in walked.settings.stages
        },
    )


def _trainings(walked: Walked, stage: SftStage | GrpoStage) -> Iterator[Training]:
    """The stages that lead to one, and itself."""
    if isinstance(stage, GrpoStage):
        yield from _trainings(walked, start_of(walked.settings, stage))
    bundle = read_bundle(walked.place(f"{name_of(stage)}/train"), check=False)
    yield Training(
        stage=name_of(stage),
        bundle=bundle.digest,
        parent=bundle.parent,
        sources=tuple(map(_told, bundle.sources)),
        steps=bundle.steps,
        seconds=bundle.seconds,
        software=bundle.software,
    )


def _told(source: Source) -> Source:
    """A source without the place where it lay on the machine that trained."""
    return source.model_copy(update={"name": Path(source.name).name})


def _measured(kind: str, report: EvaluationReport) -> Measured:
    return Measured(
        kind=kind,
        split=report.split,
        tasks=len(report.results),
        attempts=report.k,
        successes=sum(counts_of(result)[0] for result in report.results),
        success=report.success,
        unscored=report.unscored,
        families=report.families,
    )


def _write(path: Path, text: str) -> None:
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
