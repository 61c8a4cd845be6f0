"""An adapter as llama.cpp loads it."""

from pathlib import Path
from typing import Any

from practicum.stages._trl import libraries
from practicum.stages._trl.models import Loaded

_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def servable(loaded: Loaded) -> bool:
    """Whether llama.cpp can put the adapter onto its own copy of the base: known here for models of Llama's kind."""
    adapted = set(loaded.model.peft_config["default"].target_modules)
    known = {name.split(".")[1] for name in _NAMES}
    return loaded.plain.config.model_type == "llama" and adapted <= known


def write(loaded: Loaded, path: Path) -> None:
    """Write the adapter in half precision.

    Args:
        loaded: a model with an adapter that is `servable`.
        path: where to.

    Raises:
        MissingExtraError: `gguf` is not installed.
    """
    gguf = libraries.gguf()
    config = loaded.plain.config
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    writer = gguf.GGUFWriter(path, arch="llama")
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, float(loaded.model.peft_config["default"].lora_alpha))
    for name, parameter in loaded.model.named_parameters():
        if ".default." not in name:
            continue
        layer, target, side = _parts(name)
        values = parameter.detach().float().cpu().numpy()
        if side == "lora_b" and target in heads:
            values = _interleaved(values, heads[target])
        writer.add_tensor(f"blk.{layer}.{target}.weight.{side}", values.astype("float16"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _parts(name: str) -> tuple[int, str, str]:
    """Layer, GGUF name and side of a parameter such as `...layers.3.self_attn.q_proj.lora_A.default.weight`."""
    layer, block, projection, side = name.split(".layers.")[1].split(".")[:4]
    return int(layer), _NAMES[f"{block}.{projection}"], side.lower()


def _interleaved(values: Any, heads: int) -> Any:
    """Rows in llama.cpp's order: its rotary embedding pairs neighbours where transformers pairs halves."""
    rows, columns = values.shape
    return values.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)
