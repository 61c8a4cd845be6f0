"""What commands are given: labels, JSON, documents, and secrets, which never stand on the command line themselves."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from pydantic import JsonValue, TypeAdapter, ValidationError

from practicum.cli.yaml_text import parse_yaml
from practicum.contracts.base import JsonObject
from practicum.contracts.secrets import SCHEME, reference_of
from practicum.errors import ConfigurationError
from practicum.halves import without_halves
from practicum.tasks import Suite, load_suite

_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)
_OVERLAY: TypeAdapter[JsonObject | tuple[JsonObject, ...]] = TypeAdapter(JsonObject | tuple[JsonObject, ...])


def labels_of(given: Sequence[str], example: str = "suite=orders") -> dict[str, str]:
    """Labels, or other values by name, from `name=value`.

    Args:
        given: what was said.
        example: what it looks like, for the error.

    Raises:
        typer.BadParameter: one has no `=`.
    """
    found: dict[str, str] = {}
    for label in given:
        name, equals, value = label.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"{label!r} is not NAME=VALUE; it looks like {example}.")
        found[name] = value
    return found


def text_of(source: str) -> str:
    """The text of a file, or of stdin for `-`.

    Raises:
        ConfigurationError: it cannot be read.
    """
    try:
        return sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f"{source} cannot be read: {why}.", mend="Name a file that exists.") from None


def json_of(text: str, what: str) -> JsonValue:
    """A JSON value from its text.

    Raises:
        ConfigurationError: it is no JSON.
    """
    try:
        value: JsonValue = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{what} is no JSON: {error}.", mend="Mend the text there.") from None
    except RecursionError:
        raise ConfigurationError(f"{what} nests too deep to be read.", mend="Flatten it.") from None
    return value


def object_of(text: str, what: str) -> JsonObject:
    """A JSON object from its text.

    Raises:
        ConfigurationError: it is no JSON object.
    """
    try:
        return _OBJECT.validate_python(json_of(text, what))
    except ValidationError:
        raise ConfigurationError(f"{what} is no JSON object.", mend='It looks like {"id": 1042}.') from None


def arguments_of(given: str | None) -> JsonObject:
    """The arguments of a call: JSON, `@FILE`, or `-` for stdin.

    Raises:
        ConfigurationError: they cannot be read or are no JSON object.
    """
    if given is None:
        return {}
    if given == "-":
        return object_of(text_of("-"), "Standard input")
    if given.startswith("@"):
        return object_of(text_of(given[1:]), given[1:])
    return object_of(given, "The arguments")


def document_of(source: str) -> JsonObject:
    """A document from a file: JSON, or YAML where the name or the text says so.

    Raises:
        ConfigurationError: it cannot be read or parsed.
        MissingExtraError: it is YAML, and no YAML parser is installed.
    """
    try:
        return _OBJECT.validate_python(_value_of(source))
    except ValidationError:
        raise ConfigurationError(f"{source} holds no object.", mend="An OpenAPI document is an object.") from None


def overlay_of(source: str | None) -> JsonObject | tuple[JsonObject, ...] | None:
    """What changes a document, from a file: an Overlay document, or a list of RFC 6902 operations.

    Raises:
        ConfigurationError: it cannot be read or parsed, or is neither.
        MissingExtraError: it is YAML, and no YAML parser is installed.
    """
    if source is None:
        return None
    try:
        return _OVERLAY.validate_python(_value_of(source))
    except ValidationError:
        raise ConfigurationError(
            f"{source} is no overlay.", mend="It is an Overlay document, or a list of JSON Patch operations."
        ) from None


def _value_of(source: str) -> object:
    text = text_of(source)
    if text.lstrip().startswith("<"):
        raise ConfigurationError(
            f"{source} is HTML or XML.", mend="Give the JSON or YAML itself, not the page that shows it."
        )
    if not source.endswith((".yaml", ".yml")) and text.lstrip()[:1] in ("{", "["):
        return json_of(without_halves(text.encode()).decode(), source)
    return parse_yaml(text, source)


def suite_of(path: str) -> Suite:
    """The suite at a dotted path, looked for in this folder first, as `python -m` does.

    Raises:
        ConfigurationError: none is there.
    """
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return load_suite(path)


def secret_of(place: str) -> str:
    """The secret that stands in `env:VARIABLE` or `file:PATH`.

    Raises:
        typer.BadParameter: it names no place.
        ConfigurationError: nothing is there.
    """
    kind, _, name = place.partition(":")
    if kind == "env" and name:
        secret = os.environ.get(name, "")
    elif kind == "file" and name:
        secret = text_of(name).strip()
    else:
        raise typer.BadParameter("A secret is given as env:VARIABLE or file:PATH, so that no other user can see it.")
    if not secret:
        raise ConfigurationError(f"There is no secret in {kind}:{name}.", mend=f"Set {name}, or name another place.")
    return secret


def secret_or_reference_of(place: str) -> str:
    """The same, or for `vault:PATH#FIELD` and `mounted:PATH` a reference to what the gateway reads there itself.

    Raises:
        typer.BadParameter: it names no place.
        ConfigurationError: nothing is there.
    """
    kind, _, name = place.partition(":")
    if kind not in {"vault", "mounted"}:
        return secret_of(place)
    try:
        return str(reference_of(f"{SCHEME}{kind}/{name}"))
    except ValueError as error:
        raise typer.BadParameter(f"This names no secret: {error}.") from None
