"""Rows that train: token ids of whole episodes, and which of them the model said itself."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One episode in tokens.

    Attributes:
        task: id of the task.
        family: kind of task.
        ids: token ids from the system message to the end of the final answer.
        trained: for each of them, whether the model said it.
    """

    task: str
    family: str
    ids: list[int]
    trained: list[bool]


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows, one JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows), encoding="utf-8")


def write_source(path: Path, source: dict[str, str | int]) -> None:
    """Say beside a file of rows what they were made of."""
    _source(path).write_text(json.dumps(source) + "\n", encoding="utf-8")


def read_source(path: Path) -> dict[str, str | int]:
    """What a file of rows was made of."""
    return json.loads(_source(path).read_text(encoding="utf-8"))


def read_rows(path: Path) -> list[Row]:
    """Read rows that `write_rows` wrote.

    Raises:
        ValueError: a row has no trained token, or marks that do not fit its tokens.
    """
    rows = [Row(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        if len(row.ids) != len(row.trained) or not any(row.trained):
            raise ValueError(f"the row of {row.task} cannot be trained on")
    return rows


def _source(path: Path) -> Path:
    return path.with_suffix(".source.json")


def shared_opening(rows: list[Row]) -> tuple[int, ...]:
    """The tokens that all rows begin with, up to the first that is trained in any of them."""
    first, *others = rows
    length = min(row.trained.index(True) for row in rows)
    for row in others:
        while first.ids[:length] != row.ids[:length]:
            length -= 1
    return tuple(first.ids[:length])
