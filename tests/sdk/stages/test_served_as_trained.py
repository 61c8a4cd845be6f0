"""What llama.cpp says with a trained adapter is what the trainer's own model says: the very file that is served."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from practicum.stages._trl import libraries
from practicum.stages._trl.models import Loaded
from practicum.stages.bundle import GGUF, read_bundle
from practicum.stages.policies import load_bundle
from practicum.stages.settings import Lora, Precision
from practicum.stages.sft import train_sft
from tests.sdk.stages import school as schools
from tests.sdk.stages.school import School, load

pytestmark = [
    pytest.mark.train,
    pytest.mark.timeout(600),
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs llama.cpp: pip install 'practicum[local]'"),
]

_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def neighbours(values: Any, heads: int) -> Any:
    """Rows of a projection in llama.cpp's order, where what is turned together stands side by side."""
    size = values.shape[0] // heads
    order = [
        head * size + half * size // 2 + place for head in range(heads) for place in range(size // 2) for half in (0, 1)
    ]
    return values[order]


def write_base(loaded: Loaded, path: Path) -> None:
    """The tiny model as llama.cpp loads it; its words have no meaning there, since it is asked in ids."""
    gguf, config = libraries.gguf(), loaded.plain.config
    weights = {name: value.float().numpy() for name, value in loaded.plain.state_dict().items()}
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    writer = gguf.GGUFWriter(path, arch="llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"w{number}" for number in range(config.vocab_size)])
    writer.add_token_types([1] * config.vocab_size)
    writer.add_token_merges(["w 0"])
    writer.add_eos_token_id(loaded.stops[0])
    writer.add_tensor("token_embd.weight", weights["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", weights["model.norm.weight"])
    for layer in range(config.num_hidden_layers):
        for name, source in _BLOCK.items():
            values = weights[f"model.layers.{layer}.{source}.weight"]
            values = neighbours(values, heads[name]) if name in heads else values
            writer.add_tensor(f"blk.{layer}.{name}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@contextmanager
def llama(model: Path, adapter: Path) -> Generator[str]:
    """A llama.cpp server with a model and an adapter at number 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = [
        sys.executable,
        "-m",
        "practicum_gateway.models.llama_server",
        "--model",
        str(model),
        "--lora",
        str(adapter),
    ]
    with subprocess.Popen(
        [*program, "--port", str(port), "--context", "256"], stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            while not healthy(url):
                assert server.poll() is None, server.stderr and server.stderr.read()
                time.sleep(0.1)
            yield url
        finally:
            server.send_signal(signal.SIGTERM)


def healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", trust_env=False).is_success
    except httpx.TransportError:
        return False


def drawn(url: str, prompt: Sequence[int], scale: float) -> tuple[list[int], list[float]]:
    """What the server draws greedily, and how likely it finds it."""
    body = {
        "prompt": list(prompt),
        "n_predict": 6,
        "temperature": 0.0,
        "n_probs": 1,
        "return_tokens": True,
        "ignore_eos": True,
        "lora": [{"id": 0, "scale": scale}],
    }
    answer = httpx.post(f"{url}/completion", json=body, timeout=60, trust_env=False).json()
    return answer["tokens"], [entry["logprob"] for entry in answer["completion_probabilities"]]


def likelihood(loaded: Loaded, prompt: Sequence[int], tokens: Sequence[int]) -> list[float]:
    """How likely the trainer's own model finds tokens after a prompt."""
    torch = libraries.torch()
    ids = torch.tensor([[*prompt, *tokens]])
    with torch.no_grad():
        logprobs = torch.log_softmax(loaded.model(input_ids=ids).logits[0].float(), -1)
    places = range(len(prompt) - 1, len(prompt) - 1 + len(tokens))
    return [float(logprobs[place, token]) for place, token in zip(places, tokens, strict=True)]


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> School:
    """An adapter that learned: with other numbers on both sides, so that nothing in it is zero."""
    taught = schools.school(tmp_path_factory.mktemp("school"), 1, repeats=1)
    settings = schools.sft(epochs=4, rate=1e-2, lora=Lora(rank=8, alpha=24))
    train_sft(taught.dataset, taught.base, taught.folder / "sft", settings)
    return taught


def test_llama_cpp_says_what_was_trained(taught: School) -> None:
    bare = load(taught.base)
    write_base(bare, taught.folder / "base.gguf")
    tuned = load_bundle(taught.folder / "sft", read_bundle(taught.folder / "sft"), taught.folder, Precision.FLOAT32)
    prompts = {
        call.sampled.prompt_ids for one in taught.played[:8] for call in one.trajectory.model_calls if call.sampled
    }
    with llama(taught.folder / "base.gguf", taught.folder / "sft" / GGUF) as url:
        for prompt in prompts:
            for scale, model, other in ((1.0, tuned, bare), (0.0, bare, tuned)):
                tokens, served = drawn(url, prompt, scale)
                assert served == pytest.approx(likelihood(model, prompt, tokens), abs=0.02)
                assert served != pytest.approx(likelihood(other, prompt, tokens), abs=0.2)
