"""A document with the files that it refers to, as a registration carries them to the gateway.

Only what lies in the document's own folder or below it is taken: a document is often somebody else's, and must not be
able to name what else is on this machine.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

from pydantic import JsonValue

from practicum.cli.inputs import document_of
from practicum.contracts.base import JsonObject
from practicum.errors import ConfigurationError, MissingExtraError

MAX_FILES = 2_000
"""Files that one document may refer to, those that these refer to among them."""

MAX_BYTES = 64 * 1024 * 1024
"""All of them together; the gateway takes no more in one request."""

_BUNDLE = "Bundle it into one file first, or give the gateway a URL to fetch it from."


@dataclass(slots=True)
class Gathered:
    """A document and its company.

    Attributes:
        document: the document.
        files: those that it refers to, by the path from its folder.
        left_out: what it refers to, is there, and was not taken, with the reason.
    """

    document: JsonObject
    files: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    left_out: list[str] = field(default_factory=list[str])


def gathered(source: str) -> Gathered:
    """A document from a file, or from stdin for `-`, with all files that it refers to by relative paths.

    What is not there is left out without a word, since an example may hold what only looks like a reference; the
    report on the operations says what is missed.

    Raises:
        ConfigurationError: the document cannot be read or parsed, or refers to too much.
        MissingExtraError: something is YAML, and no YAML parser is installed.
    """
    found = Gathered(document_of(source))
    if source == "-":
        return found
    root = Path(source).resolve()
    seen: set[str] = set()
    weight = 0
    waiting: deque[tuple[str, JsonObject]] = deque([(root.name, found.document)])
    while waiting:
        holder, content = waiting.popleft()
        for name in _names_in(content, holder):
            if name in seen:
                continue
            seen.add(name)
            path = _path_of(name, root, found)
            if path is None:
                continue
            weight += path.stat().st_size
            if len(found.files) >= MAX_FILES:
                raise ConfigurationError(f"{source} refers to more than {MAX_FILES} files.", mend=_BUNDLE)
            if weight > MAX_BYTES:
                raise ConfigurationError(f"{source} refers to more than {MAX_BYTES} bytes.", mend=_BUNDLE)
            try:
                found.files[name] = document_of(str(path))
            except MissingExtraError:
                raise
            except ConfigurationError as error:
                found.left_out.append(error.detail)
                continue
            waiting.append((name, found.files[name]))
    return found


def _path_of(name: str, root: Path, found: Gathered) -> Path | None:
    """The file of a name, if it may be read; a link that leads out of the folder may not."""
    try:
        path = (root.parent / unquote(name)).resolve()
        if not path.is_file():
            return None
    except (OSError, ValueError):  # a text in an example, which no file system takes as a name
        return None
    if name.startswith(("/", "../")) or not path.is_relative_to(root.parent):
        found.left_out.append(
            f"{name} is outside the folder of {root.name}, above which nothing is read. Put it below, or bundle."
        )
        return None
    return path


def _names_in(content: JsonObject, holder: str) -> Iterator[str]:
    """The other files that a file refers to, each by its path from the folder of the document."""
    for reference in _references(content):
        try:
            parts = urlsplit(reference)
        except ValueError:
            continue
        if parts.path and not parts.netloc and parts.scheme in {"", "file"}:
            yield normpath(join(dirname(holder), parts.path))


def _references(content: JsonObject) -> Iterator[str]:
    """All values of `$ref`, and what a discriminator maps to where that is no bare name."""
    waiting: list[JsonValue] = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value)
        if not isinstance(value, dict):
            continue
        if isinstance(reference := value.get("$ref"), str):
            yield reference
        discriminator = value.get("discriminator")
        mapping = discriminator.get("mapping") if isinstance(discriminator, dict) else None
        for target in mapping.values() if isinstance(mapping, dict) else ():
            if isinstance(target, str) and ("/" in target or target.endswith((".json", ".yaml", ".yml"))):
                yield target
        waiting.extend(value.values())
