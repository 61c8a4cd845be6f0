"""An evaluation's folder: its plan, its attempts as they come, at the end its report.

evaluation.json   the plan, written first
attempts.jsonl    one line for each attempt that is over, on disk before the next begins
report.json       whole or not there
"""

import fcntl
import os
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from practicum.contracts.base import Value
from practicum.contracts.evaluation import AttemptResult, EvaluationPlan, EvaluationReport
from practicum.errors import ConfigurationError, ConflictError
from practicum.files import writable, write_whole

PLAN, ATTEMPTS, REPORT = "evaluation.json", "attempts.jsonl", "report.json"

_OWN = {"id", "created"}
"""What a plan says of its own and no wish for the same evaluation has in common with it."""

V = TypeVar("V", bound=Value)


class EvaluationLog:
    """What is known of an evaluation, in its folder.

    Attributes:
        plan: what is evaluated.
        attempts: what came of each attempt so far, by task and number; of several results the last.
        made: how often each attempt was made.
    """

    def __init__(self, folder: Path, plan: EvaluationPlan, attempts: tuple[AttemptResult, ...]) -> None:
        """Take what was read; `open` reads it."""
        self.plan = plan
        self.attempts = {(attempt.task, attempt.attempt): attempt for attempt in attempts}
        self.made = Counter((attempt.task, attempt.attempt) for attempt in attempts)
        self._folder = folder

    @classmethod
    @contextmanager
    def open(cls, folder: Path, wish: EvaluationPlan) -> Generator["EvaluationLog"]:
        """Go on with the evaluation in a folder, or begin it there; meanwhile nobody else does.

        Args:
            folder: made when missing.
            wish: what is to be evaluated.

        Raises:
            ConflictError: another evaluation is in the folder, or another process is at work on it.
            ConfigurationError: the folder cannot be written, or what is in it cannot be read.
        """
        with _alone(folder):
            path = folder / PLAN
            if not path.exists():
                write_whole(path, wish.model_dump_json(indent=2) + "\n")
                yield cls(folder, wish, ())
                return
            plan = _read(EvaluationPlan, path)
            other = [name for name in EvaluationPlan.model_fields if getattr(plan, name) != getattr(wish, name)]
            if different := [name for name in other if name not in _OWN]:
                raise ConflictError(
                    f"{folder} holds an evaluation with another {', '.join(different)}.",
                    mend="Name another folder, or ask for the same evaluation again.",
                )
            yield cls(folder, plan, _read_attempts(folder / ATTEMPTS))

    def append(self, attempt: AttemptResult) -> None:
        """Keep what came of an attempt; it is on disk when this returns.

        Raises:
            ConfigurationError: it cannot be written.
        """
        path = self._folder / ATTEMPTS
        with writable(path), path.open("ab") as out:
            out.write(attempt.model_dump_json().encode() + b"\n")
            out.flush()
            os.fsync(out.fileno())
        self.attempts[attempt.task, attempt.attempt] = attempt
        self.made[attempt.task, attempt.attempt] += 1

    def finish(self, report: EvaluationReport) -> None:
        """Write the report.

        Raises:
            ConfigurationError: it cannot be written.
        """
        write_whole(self._folder / REPORT, report.model_dump_json(indent=2) + "\n")


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Keep others out of a folder, which is made when missing; the system lets go of it should this process die."""
    with writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        holder = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(holder)
        raise ConflictError(
            f"Another process evaluates into {folder}.", mend="Wait for it to end, or name another folder."
        ) from None
    try:
        yield
    finally:
        os.close(holder)


def read_report(place: Path) -> EvaluationReport:
    """The report in an evaluation's folder, or in a file.

    Raises:
        ConfigurationError: there is none, or it cannot be read.
    """
    if not place.is_dir():
        return _read(EvaluationReport, place)
    if (place / PLAN).exists() and not (place / REPORT).exists():
        raise ConfigurationError(
            f"The evaluation in {place} is not finished.", mend="Give its command again: it goes on where it stopped."
        )
    return _read(EvaluationReport, place / REPORT)


def _read(form: type[V], path: Path) -> V:
    try:
        return form.model_validate_json(path.read_bytes())
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigurationError(f"{path} cannot be read: {why}.", mend="Name the folder of an evaluation.") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise ConfigurationError(
            f"{path} is no record of an evaluation: {where}: {first['msg']}.", mend="Name the folder of an evaluation."
        ) from error


def _read_attempts(path: Path) -> tuple[AttemptResult, ...]:
    """The attempts that were kept; what was cut off while it was written is forgotten."""
    if not path.exists():
        return ()
    with writable(path):
        raw = path.read_bytes()
        torn = len(raw) - (raw.rfind(b"\n") + 1)
        if torn:
            os.truncate(path, len(raw) - torn)
    return tuple(_attempt(path, number, line) for number, line in enumerate(raw.split(b"\n")[:-1], 1))


def _attempt(path: Path, number: int, line: bytes) -> AttemptResult:
    try:
        return AttemptResult.model_validate_json(line)
    except ValidationError as error:
        raise ConfigurationError(
            f"{path}, line {number}, is damaged.", mend="Remove the line: its attempt is made again."
        ) from error
