"""The folder of a training run: it knows what is trained in it, how far it came, and when it is done.

OUT/
  run.json       what is trained here; another plan is refused
  steps.jsonl    every finished step and what was measured in it
  checkpoints/   what an interrupted run goes on from; gone when it is done
  bundle.json    the result, once there is one; see `practicum.stages.bundle`
"""

import fcntl
import hashlib
import json
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue, ValidationError

from practicum.contracts.base import JsonObject, Value
from practicum.errors import ConfigurationError, ConflictError
from practicum.files import writable, write_whole
from practicum.stages.balance import BalanceState
from practicum.stages.bundle import BUNDLE
from practicum.stages.progress import Progress

RUN = "run.json"
LOCK = ".lock"
STEPS = "steps.jsonl"
STATE = "practicum.json"
"""Written last into a checkpoint: one without it was being written when the run was stopped."""


class CheckpointState(Value):
    """What a trainer's own checkpoint does not hold.

    Attributes:
        step: steps finished.
        seconds: wall seconds spent on them.
        balance: where the drawing of tasks stands; None for a stage that draws none.
    """

    step: int
    seconds: float
    balance: BalanceState | None = None


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint."""

    folder: Path
    state: CheckpointState


class _Mark(Value):
    """What a folder is for."""

    plan: JsonObject
    fingerprint: str


class Run:
    """One run in its folder; made by `run_in`."""

    def __init__(self, folder: Path) -> None:
        """Take the folder, which is locked."""
        self.folder = folder
        self.checkpoints = folder / "checkpoints"

    @property
    def finished(self) -> bool:
        """Whether its bundle is there."""
        return (self.folder / BUNDLE).is_file()

    def latest(self) -> Checkpoint | None:
        """The whole checkpoint of the most steps, from which an interrupted run goes on."""
        found = [
            Checkpoint(state.parent, _read_state(state)) for state in self.checkpoints.glob(f"checkpoint-*/{STATE}")
        ]
        return max(found, key=lambda checkpoint: checkpoint.state.step, default=None)

    def rewind(self, step: int) -> None:
        """Forget what was measured after a step: it is done again."""
        path = self.folder / STEPS
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= step]
            write_whole(path, "".join(kept))

    def record(self, progress: Progress) -> None:
        """Write a finished step down.

        Raises:
            ConfigurationError: it cannot be written.
        """
        line = {"step": progress.step, "seconds": round(progress.seconds, 3), **progress.figures}
        path = self.folder / STEPS
        with writable(path), path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")

    def clear(self) -> None:
        """Remove the checkpoints of a run that is done."""
        shutil.rmtree(self.checkpoints, ignore_errors=True)


def write_state(checkpoint: Path, state: CheckpointState) -> None:
    """Mark a checkpoint as whole."""
    write_whole(checkpoint / STATE, state.model_dump_json())


@contextmanager
def run_in(folder: Path, plan: JsonObject) -> Generator[Run]:
    """Open a run's folder, a new one or one with the same plan, and keep others out while it is open.

    Args:
        folder: where to.
        plan: everything that decides what comes out.

    Raises:
        ConflictError: something else is in the folder, or another process trains in it.
        ConfigurationError: it cannot be written.
    """
    mark = _Mark(plan=plan, fingerprint=_fingerprint(plan))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("w")
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written: {error}", mend="Name another folder.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConflictError(f"Another process is training in {folder}.", mend="Wait for it to end.") from None
        _check(folder, mark)
        yield Run(folder)


def _check(folder: Path, mark: _Mark) -> None:
    path = folder / RUN
    if not path.is_file():
        # A draft of the mark is left by a process that was killed as it began.
        if any(entry.name != LOCK and not entry.name.startswith(f".{RUN}.") for entry in folder.iterdir()):
            raise ConflictError(f"{folder} holds something else than a training run.", mend="Name a new folder.")
        write_whole(path, mark.model_dump_json(indent=2) + "\n")
        return
    try:
        before = _Mark.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ConflictError(f"{path} is damaged.", mend="Name a new folder, or remove this one.") from error
    if before.fingerprint != mark.fingerprint:
        named = ", ".join(_differences(before.plan, mark.plan)) or "its plan"
        raise ConflictError(
            f"{folder} holds a run of another plan (different: {named}).",
            mend="Name a new folder, or give the same command again to go on with that run.",
        )


def _differences(before: JsonValue, after: JsonValue, path: str = "") -> list[str]:
    """Where two plans differ, as dotted names."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            found
            for name in sorted({*before, *after})
            for found in _differences(before.get(name), after.get(name), f"{path}.{name}" if path else name)
        ]
    return [] if before == after else [path]


def _fingerprint(plan: JsonObject) -> str:
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


def _read_state(path: Path) -> CheckpointState:
    try:
        return CheckpointState.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise ConfigurationError(f"{path} is damaged.", mend="Remove that checkpoint's folder.") from error
