"""Reads a dataset that `build` wrote, and notices when it was changed since."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from practicum.contracts.base import JsonObject, Value
from practicum.errors import ConfigurationError, RequestError
from practicum.trajectories import ExportedFile, Form, Manifest, TaskRow, TokenRow
from practicum.trajectories.manifest import MANIFEST

T = TypeVar("T")
V = TypeVar("V", bound=Value)

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


class Dataset:
    """A dataset on disk.

    Attributes:
        folder: where it lies.
        manifest: what it says of itself.
    """

    def __init__(self, folder: Path) -> None:
        """Open a dataset and prove that its rows are those that were written.

        Args:
            folder: where it lies.

        Raises:
            ConfigurationError: there is none, or its rows were changed since it was built.
        """
        self.folder = folder
        self.manifest = _manifest(folder)
        for file in self.manifest.files:
            if sha256(_bytes(folder / file.name)).hexdigest() != file.sha256:
                raise ConfigurationError(
                    f"{folder / file.name} was changed since the dataset was built.",
                    mend="Build it again: a dataset is what its manifest says, so that a model can be traced to it.",
                )

    @property
    def digest(self) -> str:
        """SHA-256 over the rows of all its files: what a model that is trained on it names."""
        return sha256("".join(file.sha256 for file in self.manifest.files).encode()).hexdigest()

    def token_rows(self) -> Iterator[TokenRow]:
        """The rows of a dataset for SFT.

        Raises:
            RequestError: it is for something else.
            ConfigurationError: a line is no row; raised when it is come to.
        """
        return self._values(Form.TOKENS, TokenRow)

    def task_rows(self) -> Iterator[TaskRow]:
        """The rows of a dataset for GRPO.

        Raises:
            RequestError: it is for something else.
            ConfigurationError: a line is no row; raised when it is come to.
        """
        return self._values(Form.TASKS, TaskRow)

    def message_rows(self) -> Iterator[JsonObject]:
        """The rows of a dataset of conversations, as they are on disk: `tools` is JSON text.

        Raises:
            RequestError: it is for something else.
            ConfigurationError: a line is no row; raised when it is come to.
        """
        return self._read(Form.MESSAGES, _OBJECT)

    def _values(self, form: Form, row: type[V]) -> Iterator[V]:
        return self._read(form, TypeAdapter(row))

    def _read(self, form: Form, kind: TypeAdapter[T]) -> Iterator[T]:
        path = self.folder / self._file(form).name
        return (_row(path, number, line, kind) for number, line in enumerate(_bytes(path).splitlines(), 1))

    def _file(self, form: Form) -> ExportedFile:
        for file in self.manifest.files:
            if file.form is form:
                return file
        has = ", ".join(file.form for file in self.manifest.files)
        raise RequestError(
            f"{self.folder} holds {has}, no {form}.", mend="Build the dataset in the form that is needed."
        )


def _row(path: Path, number: int, line: bytes, kind: TypeAdapter[T]) -> T:
    """A row; that the file is the one that was written does not say by whom."""
    try:
        return kind.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise ConfigurationError(
            f"{path}, line {number}, is no row: {where}: {first['msg']}.", mend="Build the dataset again."
        ) from error


def _manifest(folder: Path) -> Manifest:
    try:
        return Manifest.model_validate_json(_bytes(folder / MANIFEST))
    except ValidationError as error:
        raise ConfigurationError(
            f"{folder / MANIFEST} is no manifest of a dataset.", mend="Build the dataset again."
        ) from error


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror or error}.", mend="Name the folder of a dataset."
        ) from error
