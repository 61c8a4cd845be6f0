"""`practicum backup`: a copy of the embedded store, also while the gateway works on it."""

import contextlib
import os
import sqlite3
import tarfile
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from practicum.cli.output import remark, say
from practicum.cli.services.commands import DEFAULT_STATE, StateOption
from practicum.errors import ConfigurationError, NotFoundError

_STORE = "gateway.sqlite3"
_SQLITE = "sqlite"


def backup(
    file: Annotated[Path, typer.Argument(help="The archive to make (.tar.gz); it must not be there yet.")],
    state_dir: StateOption = DEFAULT_STATE,
    database_url: Annotated[
        str | None, typer.Option(envvar="PRACTICUM_DATABASE_URL", help="The gateway's store, where it was told one.")
    ] = None,
) -> None:
    """Copy the gateway's store and those of its tenants, each as it is at one moment.

    The gateway goes on meanwhile. The master key is not in the copy: keep it elsewhere, for without it no credential
    in the copy can be opened.
    """
    stores = _stores(state_dir, database_url)
    with _new_file(file) as unfinished, tempfile.TemporaryDirectory(dir=file.parent) as folder:
        with tarfile.open(unfinished, "w:gz") as archive:
            for name, path in stores.items():
                copied = Path(folder) / "copy"
                _copy(path, copied)
                archive.add(copied, arcname=name)
                copied.unlink()
        size = unfinished.stat().st_size
    say(f"Wrote {', '.join(stores)} to {file} ({size} bytes).")
    remark("The master key is not in it. To restore: docs/configuration.md, Backup.")


def _stores(folder: Path, url: str | None) -> dict[str, Path]:
    """The files to copy, by their name in the archive, which is their place in a data folder."""
    if url is not None and not url.startswith(_SQLITE):
        raise ConfigurationError(
            "The store is no SQLite file.", mend="PostgreSQL is copied with pg_dump: docs/configuration.md, Backup."
        )
    main = folder / _STORE if url is None else Path(url.partition(":///")[2])
    if not main.is_file():
        raise NotFoundError(f"There is no store at {main}.", mend="Name the gateway's data folder with --state-dir.")
    tenants = sorted((folder / "tenants").glob(f"*/{_STORE}"))
    return {_STORE: main} | {str(path.relative_to(folder)): path for path in tenants}


@contextlib.contextmanager
def _new_file(path: Path) -> Generator[Path]:
    """A file beside the one wanted, which takes its place when all of it is there; for its owner's eyes only."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        if path.exists():
            raise ConfigurationError(f"{path} is there already.", mend="Name another file.")
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written: {error.strerror}.", mend="Name a file in a folder that is there."
        ) from None
    try:
        yield unfinished
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _copy(store: Path, copied: Path) -> None:
    """Copy a database as it is at one moment; who writes to it does not wait."""
    try:
        with (
            contextlib.closing(sqlite3.connect(f"file:{quote(str(store))}?mode=ro", uri=True)) as source,
            contextlib.closing(sqlite3.connect(copied)) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, without others beside it
            (found,) = target.execute("PRAGMA integrity_check").fetchone()
    except sqlite3.Error as error:
        raise ConfigurationError(f"{store} cannot be copied: {error}.") from None
    if found != "ok":
        raise ConfigurationError(f"{store} is damaged: {found}", mend="Restore the last backup that is whole.")
