"""`practicum path`: from a prompt to practice, every stage measured on the same held-out tasks."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue, ValidationError

from practicum.cli.examiner import LocalExaminer
from practicum.cli.exits import INTERRUPTED
from practicum.cli.inputs import document_of, suite_of
from practicum.cli.output import JsonOption, remark, say, show_json, show_table
from practicum.cli.services.commands import DEFAULT_STATE, StateOption
from practicum.cli.services.signals import interruptible
from practicum.cli.services.state import StateDirectory
from practicum.codecs.registry import codec_named
from practicum.contracts.problems import FieldProblem
from practicum.errors import ConfigurationError
from practicum.stages.bases import find_base
from practicum.stages.bundle import Base
from practicum.stages.extra import require
from practicum.stages.maker import SuiteMaker
from practicum.stages.path import Facts, PathSettings, Standing, WorkKind, standings, works_of
from practicum.stages.path_record import PathRecord, path_folder
from practicum.stages.path_report import COLUMNS, PathReport, footing, rows_of_report
from practicum.stages.walk import Walk
from practicum.tasks import Suite

app = typer.Typer(help="Walk from a prompt to practice, every stage measured on the same tasks.", no_args_is_help=True)

_CACHE = Path.home() / ".cache" / "practicum"
_NEEDS_TRAIN = (WorkKind.DATASET, WorkKind.SFT, WorkKind.GRPO)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The path: YAML or JSON.")]
OutOption = Annotated[
    Path | None, typer.Option(help="Folder of what is done; without it, paths/NAME in this installation's.")
]


@app.command(
    epilog="It evaluates in the installation that `practicum up` started, which must know the suite's systems with "
    "their practice copies. Training needs the extra `train`.\n\n"
    "**Example:** `practicum path run examples/path.yaml`"
)
def run(
    file: FileArgument,
    out: OutOption = None,
    state_dir: StateOption = DEFAULT_STATE,
    as_json: JsonOption = False,
) -> None:
    """Do what is due of a path, and show what each stage came to.

    Interrupted or killed, it goes on where it stopped when the same command is given again: no finished work is
    repeated. After a change of its settings only those works are due that the change decides.
    """
    scene = _Scene(file, state_dir)
    folder = out or scene.default_folder
    try:
        with interruptible(), path_folder(folder) as record:
            report = scene.walk(record, remark).go()
    except KeyboardInterrupt:
        remark(f"\nInterrupted; what is done is kept in {folder}.\n  -> give the same command again to go on")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        show_json(report)
    else:
        _show(report)


@app.command()
def show(
    file: FileArgument,
    out: OutOption = None,
    state_dir: StateOption = DEFAULT_STATE,
    as_json: JsonOption = False,
) -> None:
    """Show which works of a path are done, and which are due."""
    scene = _Scene(file, state_dir)
    record = PathRecord(out or scene.default_folder)
    found = list(scene.standings(record))
    if as_json:
        show_json([_told(standing, record) for standing in found])
        return
    show_table(
        ("work", "stands", "seconds", "output", "folder"),
        (tuple(_told(standing, record).values()) for standing in found),
        empty="",
    )


class _Scene:
    """A path with the world that it runs in."""

    def __init__(self, file: Path, state_dir: Path) -> None:
        self.path = _read(file)
        self._state = StateDirectory(state_dir)
        self._cache = _CACHE
        self._suite: Suite = suite_of(self.path.suite)
        self._base: Base | None = find_base(self.path.model.target, self._cache) if self.path.trains else None
        self._facts = Facts(
            suite_digest=self._suite.digest,
            template_hash=codec_named(self.path.model.codec).template_hash,
            base_digest="" if self._base is None else self._base.digest,
        )
        self.default_folder = self._state.path / "paths" / file.stem

    def standings(self, record: PathRecord) -> Sequence[Standing]:
        """How the works stand."""
        return list(standings(works_of(self.path, self._facts), record.outputs))

    def walk(self, record: PathRecord, tell: Callable[[str], None]) -> Walk:
        """A walk along it.

        Raises:
            MissingExtraError: training is due and cannot be done here.
        """
        if any(each.output is None and each.work.kind in _NEEDS_TRAIN for each in self.standings(record)):
            require()
        maker = SuiteMaker(
            self._suite,
            self._base,
            self.path.model.codec,
            system=self.path.system,
            tasks=self.path.references,
            cache=self._cache,
            tell=tell,
        )
        examiner = LocalExaminer(self._state, self._suite, self.path, tell)
        return Walk(self.path, self._facts, record, maker, examiner, tell)


def _read(file: Path) -> PathSettings:
    """The settings in a file.

    Raises:
        ConfigurationError: it cannot be read, or a setting does not fit.
        MissingExtraError: it is YAML, and no YAML parser is installed.
    """
    try:
        return PathSettings.model_validate(document_of(str(file)))
    except ValidationError as error:
        faults = tuple(
            FieldProblem(where=".".join(map(str, each["loc"])) or "the whole", what=each["msg"])
            for each in error.errors(include_url=False)
        )
        raise ConfigurationError(f"{file} is no path.", errors=faults, mend="examples/path.yaml shows one.") from error


def _told(standing: Standing, record: PathRecord) -> dict[str, JsonValue]:
    done = record.done.get(standing.input or "")
    return {
        "work": standing.work.name,
        "stands": "due" if done is None else "done",
        "seconds": None if done is None else done.seconds,
        "output": None if done is None else done.output,
        "folder": None if done is None else str(record.folder / done.folder),
    }


def _show(report: PathReport) -> None:
    show_table(COLUMNS, rows_of_report(report), empty="")
    say(footing(report))
