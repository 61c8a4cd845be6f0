"""What systems answer in bytes: an observation says how to fetch it, and `practicum tools artifact` does."""

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.output import plain, remark, say
from practicum.contracts.tools import Artifact
from practicum.errors import ConfigurationError

_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def tell_of(artifact: Artifact) -> None:
    """What an artifact is and the command that fetches it, beside the result."""
    name = f", {artifact.name}" if artifact.name else ""
    complete = "" if artifact.complete else ", cut off"
    remark(
        f"artifact {artifact.id}: {artifact.media_type}, {artifact.bytes} bytes{name}{complete}\n"
        f"  -> practicum tools artifact {artifact.id} --output {_file_name(artifact)}"
    )


def artifact(
    id: Annotated[str, typer.Argument(help="Id of the artifact, from an observation.")],  # noqa: A002
    episode: Annotated[str | None, typer.Option(help="The episode in which it was answered, if in one.")] = None,
    output: Annotated[Path | None, typer.Option(help="File to write it to; stdout when left out.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Fetch what a system answered in bytes; it is kept for seven days."""
    if output is not None and not force and output.exists():
        raise _taken(output)
    with connect() as client:
        content = client.tools.artifact(id, episode)
    if output is None:
        _print(content, id)
        return
    try:
        with output.open("wb" if force else "xb") as file:
            file.write(content)
    except FileExistsError:  # since it was looked for
        raise _taken(output) from None
    except OSError as error:
        raise ConfigurationError(
            f"{output} cannot be written: {error.strerror}.", mend="Name a file in a folder that is there."
        ) from None
    say(f"Wrote {len(content)} bytes to {output}.")


def _print(content: bytes, id: str) -> None:  # noqa: A002
    """Bytes on stdout as they are, but on a terminal only text, without control characters."""
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ConfigurationError(
            f"Artifact {id} is no text, which a terminal cannot show.", mend="Give --output FILE, or a pipe."
        )
    say(plain(text))


def _taken(output: Path) -> ConfigurationError:
    return ConfigurationError(f"{output} is there already.", mend="Name another file, or give --force.")


def _file_name(artifact: Artifact) -> str:
    """The system's own name for it where that can stand in a command and leads nowhere else; else its id."""
    name = artifact.name or ""
    return name if _SAFE_NAME.fullmatch(name) else artifact.id
