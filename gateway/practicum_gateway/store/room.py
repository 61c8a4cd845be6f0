"""A full disk, in words."""

import contextlib
from collections.abc import Generator

from sqlalchemy.exc import DBAPIError

from practicum.errors import ConfigurationError

_NO_ROOM = frozenset({"SQLITE_FULL", "53100"})
"""How SQLite and PostgreSQL say that a disk is full."""


@contextlib.contextmanager
def room_in_words() -> Generator[None]:
    """Say that the disk is full, where that is why nothing can be written."""
    try:
        yield
    except DBAPIError as error:
        codes = {getattr(error.orig, "sqlite_errorname", None), getattr(error.orig, "sqlstate", None)}
        if codes.isdisjoint(_NO_ROOM):
            raise
        raise ConfigurationError(
            "The store has no room left: its disk is full. Nothing was written.",
            mend="Free space where the store lies (PRACTICUM_DATA_DIR, or the database server), and do it again.",
        ) from None
