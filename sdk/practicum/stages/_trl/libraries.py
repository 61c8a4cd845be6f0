# The lint environment need not hold the extra `train`, and these libraries leave most of their types open anyway. So
# they enter the house here alone, as Any, and pyright stays strict everywhere else.
# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownVariableType=false
"""The libraries of the extra `train`, imported when they are first needed."""

import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from practicum.errors import MissingExtraError
from practicum.stages.extra import EXTRA


@contextmanager
def _extra(purpose: str) -> Generator[None]:
    # OpenMP reads these when it is loaded. Threads that spin while they wait for each other starve whoever shares the
    # machine with them, themselves included: on two busy cores a step took ten times as long.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    # Models and datasets are folders here: nothing is fetched from a hub, and no hub is told that they are used.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    # Steps are told by a listener. What draws bars of its own reads this as it is loaded, and some of it nothing else.
    os.environ.setdefault("TQDM_DISABLE", "1")
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(EXTRA, purpose) from error


@contextmanager
def quiet() -> Generator[None]:
    """These libraries on good terms with each other: what one deprecates and another still uses is not told here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def torch() -> Any:
    """PyTorch.

    Raises:
        MissingExtraError: it is not installed.
    """
    with _extra("Training"):
        import torch as library

    return library


def transformers() -> Any:
    """Transformers, which tells of errors alone and draws no bars.

    Raises:
        MissingExtraError: it is not installed.
    """
    with _extra("Training"):
        import transformers as library

    library.utils.logging.set_verbosity_error()
    library.utils.logging.disable_progress_bar()
    return library


def peft() -> Any:
    """PEFT, for adapters.

    Raises:
        MissingExtraError: it is not installed.
    """
    with _extra("Training an adapter"):
        import peft as library

    return library


def trl() -> Any:
    """TRL.

    Raises:
        MissingExtraError: it is not installed.
    """
    with _extra("Training"):
        import trl as library

    return library


def datasets() -> Any:
    """Datasets, which comes with TRL.

    Raises:
        MissingExtraError: it is not installed.
    """
    with _extra("Training"):
        import datasets as library  # noqa: PLC0415  as heavy as the others

    return library


def gguf() -> Any:
    """The writer and reader of GGUF, for llama.cpp.

    Raises:
        MissingExtraError: it is not installed.
    """
    with _extra("Writing a GGUF file"):
        import gguf as library

    return library


def safetensors() -> Any:
    """The files in which weights lie, which come with Transformers.

    Raises:
        MissingExtraError: they are not installed.
    """
    with _extra("Training"):
        library: Any = import_module("safetensors")

    return library
