"""Files and folders that appear whole or not at all, and errors that say which could not be written."""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO

from practicum.errors import ConfigurationError


@contextmanager
def writable(place: Path) -> Generator[None]:
    """Turns the operating system's errors into one that names the place.

    Raises:
        ConfigurationError: something in the block could not be written.
    """
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"{place} cannot be written: {error.strerror or error}.", mend="Name a place that can be written."
        ) from error


@contextmanager
def whole_file(path: Path) -> Generator[BinaryIO]:
    """A draft that takes the file's place when the block ends, and is gone when the block fails.

    At every moment the file is the old one or the new one, also when the process is killed.

    Raises:
        ConfigurationError: it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with writable(path):
        try:
            with draft.open("wb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole; see `whole_file`.

    Raises:
        ConfigurationError: it cannot be written.
    """
    with whole_file(path) as out:
        out.write(text.encode())


@contextmanager
def whole_folder(folder: Path) -> Generator[Path]:
    """A draft that takes the folder's place when the block ends, and is gone when the block fails.

    A folder that is there is replaced, and goes only once the new one has its place.

    Raises:
        ConfigurationError: it cannot be written.
    """
    with writable(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        with writable(folder):
            yield draft
            _put_in_place(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put_in_place(draft: Path, folder: Path) -> None:
    former = draft.with_name(f"{draft.name}.former")
    replaces = folder.exists()
    if replaces:
        folder.rename(former)
    draft.rename(folder)
    if replaces:
        shutil.rmtree(former)
