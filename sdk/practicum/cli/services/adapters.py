"""The adapters that the local model server loads, each under a number of its own that never changes.

llama.cpp numbers adapters in the order in which it is given them, and requests name them by number. So they stand in a
list that only grows, kept with copies of the files in the installation's folder. With them stand the models that were
registered over these numbers, so that they are found again when the server listens elsewhere.

adapters/SHA-256.gguf    one file for each
adapters/adapters.json   their order, and the models
"""

import hashlib
import shutil
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from practicum.cli.services.state import StateDirectory
from practicum.contracts.base import Value
from practicum.contracts.models import ModelSpec
from practicum.errors import ConfigurationError
from practicum.files import writable, write_whole


class _Shelf(Value):
    """What `adapters.json` holds.

    Attributes:
        format: version of this form.
        digests: SHA-256 of each adapter, in the order of their numbers.
        models: the registrations that name them.
    """

    format: Literal["practicum-adapters/1"] = "practicum-adapters/1"
    digests: tuple[str, ...] = ()
    models: tuple[ModelSpec, ...] = ()


class Adapters:
    """The list of one installation; call what changes it under the state directory's lock."""

    def __init__(self, state: StateDirectory) -> None:
        """Name the installation; nothing is read or made yet."""
        self._folder = state.path / "adapters"
        self._list = self._folder / "adapters.json"

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, in the order of their numbers.

        Raises:
            ConfigurationError: the list is damaged.
        """
        return tuple(map(self._path, self._read().digests))

    @property
    def models(self) -> tuple[ModelSpec, ...]:
        """The registrations that name adapters, oldest first.

        Raises:
            ConfigurationError: the list is damaged.
        """
        return self._read().models

    def keep(self, source: Path) -> tuple[int, bool]:
        """Put a file on the list; its number, and whether it is new there.

        Args:
            source: a GGUF adapter; it is copied.

        Raises:
            ConfigurationError: it cannot be read or kept, or the list is damaged.
        """
        shelf = self._read()
        try:
            with source.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ConfigurationError(
                f"{source} cannot be read: {error.strerror}.", mend="Name a bundle that is whole."
            ) from error
        if digest in shelf.digests:
            return shelf.digests.index(digest), False
        self._copy(source, self._path(digest))
        self._write(shelf.model_copy(update={"digests": (*shelf.digests, digest)}))
        return len(shelf.digests), True

    def drop_last(self) -> None:
        """Take the newest off again; only while no model names it.

        Raises:
            ConfigurationError: the list cannot be written.
        """
        shelf = self._read()
        self._write(shelf.model_copy(update={"digests": shelf.digests[:-1]}))
        self._path(shelf.digests[-1]).unlink(missing_ok=True)

    def remember(self, spec: ModelSpec) -> None:
        """Keep a registration, in place of an older one of the same version.

        Raises:
            ConfigurationError: the list cannot be written.
        """
        shelf = self._read()
        others = [each for each in shelf.models if (each.alias, each.version) != (spec.alias, spec.version)]
        self._write(shelf.model_copy(update={"models": (*others, spec)}))

    def _path(self, digest: str) -> Path:
        return self._folder / f"{digest}.gguf"

    def _copy(self, source: Path, target: Path) -> None:
        draft = target.with_suffix(".partial")
        with writable(target):
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(source, draft)
            draft.replace(target)

    def _read(self) -> _Shelf:
        try:
            return _Shelf.model_validate_json(self._list.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return _Shelf()
        except (OSError, ValidationError) as error:
            raise ConfigurationError(
                f"{self._list} is damaged, so the numbers of the local adapters are not known.",
                mend="Put the file back, or delete the folder and register the bundles again.",
            ) from error

    def _write(self, shelf: _Shelf) -> None:
        with writable(self._list):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self._list, shelf.model_dump_json(indent=2, exclude_defaults=True) + "\n")
