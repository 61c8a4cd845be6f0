"""Reads a declaration and what it names: documents, overlays, rules and credentials; paths begin at its folder."""

from pathlib import Path

from practicum.cli.inputs import secret_of, text_of
from practicum.cli.registration import document_with_files
from practicum.cli.yaml_text import parse_yaml_with_lines
from practicum.contracts.base import JsonObject
from practicum.declaration import Source, WantedTenant, wanted_of


class Folder:
    """The folder of a declaration."""

    def __init__(self, folder: Path) -> None:
        """Read from a folder.

        Args:
            folder: where relative paths begin.
        """
        self._folder = folder

    def document(self, path: str) -> tuple[JsonObject, dict[str, JsonObject]]:
        """An OpenAPI document, and the files that it refers to.

        Raises:
            ConfigurationError: it cannot be read or used.
        """
        found = document_with_files(str(self._folder / path))
        return found.document, found.files

    def source(self, path: str) -> Source:
        """A file of JSON or YAML.

        Raises:
            ConfigurationError: it cannot be read or parsed.
        """
        return source_of(str(self._folder / path))

    def secret(self, place: str) -> str:
        """What stands at `env:VARIABLE` or `file:PATH`.

        Raises:
            ConfigurationError: nothing is there.
        """
        return secret_of(self.place(place))

    def place(self, place: str) -> str:
        """A place as the whole machine knows it: a file's path begins at the folder."""
        kind, _, name = place.partition(":")
        return place if kind != "file" else f"file:{self._folder / name}"


def source_of(path: str) -> Source:
    """A file of JSON or YAML, with the lines in which things stand.

    Raises:
        ConfigurationError: it cannot be read or parsed, or gives a key twice.
        MissingExtraError: no YAML parser is installed.
    """
    value, line_of = parse_yaml_with_lines(text_of(path), path)
    return Source(path, value, line_of)


def declared_in(path: str) -> tuple[Folder, tuple[WantedTenant, ...]]:
    """The tenants that a declaration speaks of, and its folder.

    Raises:
        ConfigurationError: something in it cannot be used; every fault is told, with its line.
    """
    folder = Folder(Path() if path == "-" else Path(path).parent)
    return folder, wanted_of(source_of(path), folder)
