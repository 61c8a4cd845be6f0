"""What goes wrong when weights are written, as one error that says where and what to do."""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from practicum.errors import ConfigurationError
from practicum.stages._trl import libraries

_MIB = 1 << 20


@contextmanager
def saving(folder: Path) -> Generator[None]:
    """Names the place in whatever the system, PyTorch or safetensors raise while they write there.

    Args:
        folder: where the run's files go.

    Raises:
        ConfigurationError: something could not be written.
    """
    try:
        yield
    except (OSError, RuntimeError, libraries.safetensors().SafetensorError) as error:  # each has a kind of its own
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        free = shutil.disk_usage(folder).free / _MIB
        raise ConfigurationError(
            f"What was learned cannot be written to {folder}, where {free:.0f} MiB are free: {why}.",
            mend="Make room there; the same command goes on from the last whole checkpoint.",
        ) from error
