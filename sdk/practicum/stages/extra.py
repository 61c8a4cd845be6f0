"""Whether training can be done here at all."""

from importlib.util import find_spec

from practicum.errors import MissingExtraError

EXTRA = "train"
_NEEDED = ("torch", "transformers", "peft", "trl", "datasets", "gguf")


def require() -> None:
    """See that what training needs is installed, before anything is begun.

    Raises:
        MissingExtraError: something is not.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise MissingExtraError(EXTRA, f"Training (not installed: {', '.join(missing)})")
