"""`practicum apply --show`: writes down what a gateway is, as a declaration that changes nothing when it is applied."""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from practicum.cli.connection import connect_to
from practicum.cli.output import say, show_json, show_table
from practicum.contracts.base import JsonObject, Value
from practicum.contracts.tenants import MAIN
from practicum.declaration import exported
from practicum.errors import ConfigurationError, MissingExtraError

_WIDTH = 120


class Written(Value):
    """What was written.

    Attributes:
        file: the declaration.
        documents: files beside it.
        places: environment variables that it names, each with what has to stand there.
    """

    file: str
    documents: tuple[str, ...]
    places: dict[str, str]


def write_down(file: str, *, as_json: bool) -> None:
    """Write the main tenant down, its documents beside the file, and say which variables have to hold what.

    Raises:
        ConfigurationError: something is there already, or cannot be written.
        MissingExtraError: PyYAML is not installed.
    """
    path = Path(file)
    with connect_to(MAIN, None) as client:
        found = exported(
            MAIN,
            connectors=[client.connectors.declared(each.name) for each in client.connectors.list()],
            rules=client.rules.get(),
            issuers=client.issuers.list(),
            models=[client.models.declared(alias) for alias in client.models.list()],
            webhooks=client.webhooks.list(),
        )
    texts = {path.parent / name: json.dumps(each, indent=1) for name, each in found.documents.items()}
    _write({path: _yaml(found.declaration), **texts})
    if as_json:
        show_json(Written(file=str(path), documents=tuple(map(str, texts)), places=found.places))
        return
    say(f"{path} says how the tenant '{MAIN}' is{f', with {len(texts)} documents beside it' if texts else ''}.")
    if found.places:
        say("Credentials are not given out. Before you apply it, let these variables hold them:")
        show_table(("variable", "what"), found.places.items(), empty="")


def _yaml(value: JsonObject) -> str:
    try:
        yaml: Any = import_module("yaml")
    except ImportError:
        raise MissingExtraError("connectors", "Writing YAML") from None
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text


def _write(texts: Mapping[Path, str]) -> None:
    for path in texts:
        if path.exists():
            raise ConfigurationError(
                f"{path} is there already, and is not overwritten.", mend="Name a file in a new folder."
            )
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text.rstrip()}\n", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"It cannot be written: {error.strerror}.", mend="Name a file in a folder that you may write to."
        ) from None
