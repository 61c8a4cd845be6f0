"""One gateway at a time on a SQLite file: what holds it. On PostgreSQL there may be several, see `replicas`."""

import contextlib
import fcntl
from collections.abc import Generator

from practicum.errors import ConfigurationError


@contextlib.contextmanager
def held_file(path: str) -> Generator[None]:
    """Hold a SQLite file by a lock on a file beside it, which the system lets go of with the process.

    Raises:
        ConfigurationError: another gateway holds it.
    """
    with open(f"{path}.lock", "w") as lock:  # noqa: PTH123  # at once, as is everything about it
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigurationError(
                f"Another gateway works on {path}, and a SQLite file is one gateway's at a time.",
                mend="Stop it, or give both a PostgreSQL database with PRACTICUM_DATABASE_URL.",
            ) from None
        yield
