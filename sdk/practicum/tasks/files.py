"""Tasks in files: JSON lines, the same bytes for the same tasks."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from practicum.contracts.tasks import Split, Task
from practicum.errors import ConfigurationError


def write_tasks(path: Path, tasks: Iterable[Task]) -> None:
    """Write tasks, one JSON object a line, with parent folders made when missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_lines(tasks))


def read_tasks(path: Path) -> tuple[Task, ...]:
    """Read tasks that `write_tasks` wrote.

    Raises:
        ConfigurationError: the file cannot be read, or a line is no task.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The suite {path} cannot be read: {error}", mend="Name a file of tasks.") from error
    return tuple(_task(path, number, line) for number, line in enumerate(lines, 1) if line.strip())


def select(
    tasks: Iterable[Task], *, split: Split | None = None, families: Iterable[str] | None = None
) -> tuple[Task, ...]:
    """The tasks of one split, of some families, or both; in their order."""
    wanted = None if families is None else frozenset(families)
    return tuple(
        task for task in tasks if (split is None or task.split is split) and (wanted is None or task.family in wanted)
    )


def digest(tasks: Iterable[Task]) -> str:
    """SHA-256 of the tasks as they would be written."""
    return hashlib.sha256(_lines(tasks)).hexdigest()


def _lines(tasks: Iterable[Task]) -> bytes:
    return b"".join(task.model_dump_json().encode() + b"\n" for task in tasks)


def _task(path: Path, number: int, line: str) -> Task:
    try:
        return Task.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigurationError(
            f"{path}, line {number}, is no task: {where or 'line'}: {first['msg']}",
            mend="Make the suite again with its generator.",
        ) from error
