"""The folder of a path: what was done in it, and for what.

OUT/
  path.json             every finished work: the hash of its input, the hash of what came of it, where that lies
  references-HASH/      solved tasks of the train split
  STAGE/dataset-HASH/   rows of tokens, with manifest and card
  STAGE/train-HASH/     the run, which becomes the bundle
  STAGE/evaluation-HASH/
  STAGE/result.json     what the stage came to

HASH is the beginning of the input's hash. What was done for other settings stays, and is found again with them.
"""

import fcntl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from practicum.contracts.base import Value
from practicum.errors import ConfigurationError, ConflictError
from practicum.files import writable, write_whole

RECORD = "path.json"


class Done(Value):
    """A finished work.

    Attributes:
        work: its name.
        input: hash of everything that decided it.
        output: hash of what came of it.
        folder: where that lies, below the path's folder.
        seconds: wall seconds of work on it, those before an interruption included; only what a kill cut off is not.
        finished: when.
    """

    work: str
    input: str
    output: str
    folder: str
    seconds: float
    finished: datetime


class _Record(Value):
    """What `path.json` holds.

    Attributes:
        format: version of this form.
        done: finished works, oldest first.
        spent: wall seconds spent on works that were interrupted, by input.
    """

    format: Literal["practicum-path-record/1"] = "practicum-path-record/1"
    done: tuple[Done, ...] = ()
    spent: dict[str, float] = Field(default_factory=dict[str, float])


class PathRecord:
    """What was done in a path's folder; made by `path_folder` and `read_record`.

    Attributes:
        folder: the path's folder.
    """

    def __init__(self, folder: Path) -> None:
        """Read what is there.

        Raises:
            ConfigurationError: it is damaged.
        """
        self.folder = folder
        self._path = folder / RECORD
        record = self._read()
        # What somebody removed is due again.
        self._done = {done.input: done for done in record.done if (folder / done.folder).is_dir()}
        self._outputs = {done.input: done.output for done in self._done.values()}
        self._spent = dict(record.spent)

    @property
    def done(self) -> Mapping[str, Done]:
        """Finished works by input; it grows with `add`."""
        return self._done

    @property
    def outputs(self) -> Mapping[str, str]:
        """What came of finished works, by input; it grows with `add`."""
        return self._outputs

    def spent(self, key: str) -> float:
        """Wall seconds spent on a work that is not finished."""
        return self._spent.get(key, 0.0)

    def spend(self, key: str, seconds: float) -> None:
        """Keep what an interrupted work has cost so far.

        Raises:
            ConfigurationError: it cannot be written.
        """
        self._spent[key] = round(self.spent(key) + seconds, 1)
        self._write()

    def add(self, done: Done) -> None:
        """Keep a finished work; it is on disk when this returns.

        Raises:
            ConfigurationError: it cannot be written.
        """
        self._done[done.input] = done
        self._outputs[done.input] = done.output
        self._spent.pop(done.input, None)
        self._write()

    def _read(self) -> _Record:
        try:
            return _Record.model_validate_json(self._path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return _Record()
        except (OSError, ValidationError) as error:
            raise ConfigurationError(
                f"{self._path} is damaged, so what was done is not known.", mend="Put it back, or name another folder."
            ) from error

    def _write(self) -> None:
        record = _Record(done=tuple(self._done.values()), spent=self._spent)
        write_whole(self._path, record.model_dump_json(indent=2) + "\n")


@contextmanager
def path_folder(folder: Path) -> Generator[PathRecord]:
    """Open a path's folder, and keep others out while it is open.

    Args:
        folder: made when missing.

    Raises:
        ConflictError: another process walks the path in it.
        ConfigurationError: it cannot be written, or its record is damaged.
    """
    with writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConflictError(f"Another process is at work in {folder}.", mend="Wait for it to end.") from None
        yield PathRecord(folder)
