"""Does in a process of its own all that a library could tell of by itself: `python -m tests.sdk.stages.quietly FOLDER`.

Weights are converted, loaded, trained, saved, practised with and loaded again; nobody listens.
"""

import sys
from pathlib import Path

from practicum.stages._trl import libraries
from practicum.stages._trl.smollm2 import convert
from practicum.stages.grpo import train_grpo
from practicum.stages.policies import open_policy
from practicum.stages.settings import Lora
from practicum.stages.sft import train_sft
from tests.sdk.stages.house import LAMPS_SUITE
from tests.sdk.stages.school import grpo, school, sft

WIDTH, LAYERS, CHARACTERS = 32, 2, 94


def write_gguf(path: Path) -> None:
    """A model of Llama's kind as llama.cpp keeps it, a few kilobytes of ones."""
    gguf, torch = libraries.gguf(), libraries.torch()
    tokens = ["<|im_start|>", "<|im_end|>", *(chr(33 + number) for number in range(CHARACTERS)), "ab"]
    writer = gguf.GGUFWriter(path, arch="llama")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, *[1] * (len(tokens) - 2)])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    square = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (len(tokens), WIDTH), "output_norm": (WIDTH,)}
    for layer in range(LAYERS):
        shapes |= {f"blk.{layer}.{name}": (WIDTH, WIDTH) for name in square}
        shapes |= {f"blk.{layer}.{name}": (WIDTH,) for name in ("attn_norm", "ffn_norm")}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", torch.ones(shape).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(folder: Path) -> None:
    """Everything once."""
    write_gguf(folder / "tiny.gguf")
    convert(folder / "tiny.gguf", folder / "converted")
    taught = school(folder, 1, repeats=1)
    train_sft(taught.dataset, taught.base, folder / "sft", sft(epochs=1, save_every=1, lora=Lora(rank=4, alpha=8)))
    practice = grpo(steps=1, groups=2, group_size=2, rows_at_once=4, save_every=1, beta=0.1)
    train_grpo(LAMPS_SUITE, folder / "sft", folder / "grpo", practice, cache=folder)
    open_policy(folder / "grpo", folder, threads=1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
