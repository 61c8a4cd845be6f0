"""Secrets that are shown once and written to a file of their owner's: never shown, and nothing is overwritten."""

import os
from pathlib import Path

from practicum.errors import ConfigurationError

_PRIVATE = 0o600


def free_path(place: str, what: str) -> Path:
    """The path of `file:PATH`, seen to be free, so that what will be shown once can be written there.

    Args:
        place: the place, on the whole machine.
        what: what will be written there, in words.

    Raises:
        ConfigurationError: something is there already, or nothing can be written there.
    """
    path = Path(place.partition(":")[2])
    if path.exists() or not os.access(path.parent, os.W_OK):
        raise ConfigurationError(
            f"{what} cannot be written to {path}.",
            mend="Make its folder, and move away what is there: it is not overwritten.",
        )
    return path


def kept(path: Path, text: str) -> bool:
    """Write a text where only this user can read it; whether that was possible."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "w") as file:
            file.write(f"{text}\n")
    except OSError:
        return False
    return True
