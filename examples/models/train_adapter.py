"""Trains the LoRA adapter of the local model: `python -m examples.models.train_adapter --rows ROWS.jsonl --out DIR`.

Runs under the extra `train`. The rows come from `examples.models.rows`: token ids exactly as the server reads them, and
which of them the model itself has to say.

Three things make it fit a small machine. The gradient reaches the adapter alone. Episodes that share their opening (the
system message with the tools) are packed behind one copy of it: each sees the opening and itself. And the logits are
computed only where there is a loss.
"""

import argparse
import hashlib
import json
import logging
import os
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Threads that spin while they wait starve their neighbours on a small machine. OpenMP reads this when it loads.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import numpy as np

from examples.models.rows import Row, read_rows, read_source, shared_opening
from practicum_gateway.models.weights import shipped

_LOG = logging.getLogger("train_adapter")
_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
_GGUF_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        rank: of the adapter's matrices.
        alpha: the adapter's scale times its rank.
        rate: highest learning rate.
        focus: how much less a token counts that the model expects already: its weight is (1 - p) to this power.
        warmup: share of the steps in which the rate rises; afterwards it falls in a line to a tenth.
        passes: times that every row is seen.
        pack_tokens: most tokens of one step, the opening not counted.
        seed: of the adapter's first values and of the order of the rows.
        threads: of torch.
        seconds: wall seconds after which training ends, for a machine that is slower than planned.
        keep_every: steps after which the adapter as it is then is written too.
    """

    rank: int = 8
    alpha: int = 16
    rate: float = 1e-3
    focus: float = 0.0
    warmup: float = 0.06
    passes: float = 1.0
    pack_tokens: int = 1100
    seed: int = 1
    threads: int = 2
    seconds: float = 2400.0
    keep_every: int = 25


@dataclass(frozen=True)
class Pack:
    """Some episodes behind one copy of their opening.

    Attributes:
        ids: token ids, the opening first.
        positions: position of each token within its own episode.
        spans: where each episode begins and ends, after the opening.
        targets: indices of the tokens before those that have a loss.
        labels: the tokens that follow them.
    """

    ids: list[int]
    positions: list[int]
    spans: list[tuple[int, int]]
    targets: list[int]
    labels: list[int]


def packed(rows: list[Row], opening: tuple[int, ...]) -> Pack:
    """Put rows that begin with the same opening behind one copy of it."""
    start = len(opening)
    ids, positions = list(opening), list(range(start))
    spans, targets, labels = [], [], []
    for row in rows:
        begin = len(ids)
        rest = row.ids[start:]
        ids += rest
        positions += range(start, start + len(rest))
        spans.append((begin, len(ids)))
        for index, trained in enumerate(row.trained[start:]):
            if trained:
                # The token before the first of an episode is the last of the opening, wherever the episode lies.
                targets.append(begin + index - 1 if index else start - 1)
                labels.append(rest[index])
    return Pack(ids, positions, spans, targets, labels)


def packs(rows: list[Row], settings: Settings) -> list[Pack]:
    """All steps of a training run, in order."""
    opening = shared_opening(rows)
    draw = random.Random(settings.seed)
    found: list[Pack] = []
    waiting: list[Row] = []
    for row in _order(rows, settings.passes, draw):
        size = sum(len(other.ids) - len(opening) for other in waiting)
        if waiting and size + len(row.ids) - len(opening) > settings.pack_tokens:
            found.append(packed(waiting, opening))
            waiting = []
        waiting.append(row)
    return [*found, packed(waiting, opening)] if waiting else found


def _order(rows: list[Row], passes: float, draw: random.Random) -> Iterator[Row]:
    left = round(passes * len(rows))
    while left > 0:
        shuffled = draw.sample(rows, len(rows))[:left]
        left -= len(shuffled)
        yield from shuffled


def attention(layout: dict[str, Any]) -> Any:
    """Attention for packs, in the form that transformers calls: each span sees the opening and its own past.

    Args:
        layout: holds `opening` (a length) and `spans`, set before each step.
    """
    import torch

    masks: dict[tuple[int, int], Any] = {}

    def mask(before: int, length: int, like: Any) -> Any:
        if (before, length) not in masks:
            future = torch.full((length, length), float("-inf")).triu(1)
            masks[before, length] = torch.cat([torch.zeros(length, before), future], 1).to(like.dtype)
        return masks[before, length]

    def attend(query: Any, key: Any, value: Any, before: int) -> Any:
        groups, length, size = query.shape[0] // key.shape[0], query.shape[1], query.shape[2]
        grouped = query.reshape(key.shape[0], groups * length, size)
        scores = (grouped @ key.transpose(1, 2)).view(key.shape[0], groups, length, key.shape[1])
        weights = torch.softmax(scores + mask(before, length, scores), -1).view(key.shape[0], groups * length, -1)
        return (weights @ value).view(query.shape)

    def forward(_module: Any, query: Any, key: Any, value: Any, _mask: Any, *, scaling: float, **_: Any) -> Any:
        query, key, value = query[0] * scaling, key[0], value[0]
        start = layout["opening"]
        shared_key, shared_value = key[:, :start], value[:, :start]
        outputs = [attend(query[:, :start], shared_key, shared_value, 0)]
        for begin, end in layout["spans"]:
            keys = torch.cat([shared_key, key[:, begin:end]], 1)
            values = torch.cat([shared_value, value[:, begin:end]], 1)
            outputs.append(attend(query[:, begin:end], keys, values, start))
        return torch.cat(outputs, 1).transpose(0, 1)[None], None

    return forward


def share_of_rate(done: float, spent: float, warmup: float) -> float:
    """How much of the highest learning rate is due: it rises, then falls in a line to a tenth.

    Args:
        done: share of the steps behind us.
        spent: share of the time behind us; the further of the two decides, so that a run which time will end before
            its last step still ends gently.
        warmup: share of the steps in which the rate rises.
    """
    progress = max(done, spent)
    if done < warmup:
        return 0.1 + 0.9 * done / warmup
    return max(0.1, 1 - 0.9 * (progress - warmup) / (1 - warmup))


class Trainer:
    """A base model, its adapter and the optimiser."""

    def __init__(self, settings: Settings) -> None:
        """Load the base model's weights and put a fresh adapter on them."""
        import torch
        from peft import LoraConfig, get_peft_model
        from transformers import AttentionInterface, AutoModelForCausalLM

        torch.set_num_threads(settings.threads)
        torch.manual_seed(settings.seed)
        self._layout: dict[str, Any] = {}
        AttentionInterface.register("packed", attention(self._layout))
        weights = shipped()
        # Asked for in any other type, the weights would stay quantised and every product be computed in float32.
        base = AutoModelForCausalLM.from_pretrained(
            weights.parent, gguf_file=weights.name, dtype=torch.float32, attn_implementation="packed"
        ).to(torch.bfloat16)
        lora = LoraConfig(r=settings.rank, lora_alpha=settings.alpha, target_modules=list(_TARGETS), lora_dropout=0.0)
        self.model = get_peft_model(base, lora)
        self._inner = self.model.base_model.model
        config = self._inner.config
        self._heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
        self._parameters = parameters = [parameter for _, parameter in self._adapted()]
        self._rate, self._focus = settings.rate, settings.focus
        self._optimiser = torch.optim.AdamW(parameters, lr=settings.rate, betas=(0.9, 0.98), weight_decay=0.0)

    def step(self, pack: Pack, share: float) -> float:
        """Learn one pack.

        Args:
            pack: what to learn.
            share: of the learning rate.

        Returns:
            The mean loss of its trained tokens, before the step.
        """
        import torch

        self._layout.update(opening=pack.spans[0][0], spans=pack.spans)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hidden = self._inner.model(
                input_ids=torch.tensor([pack.ids]), position_ids=torch.tensor([pack.positions]), use_cache=False
            ).last_hidden_state
            logits = self._inner.lm_head(hidden[0, pack.targets])
        losses = torch.nn.functional.cross_entropy(logits.float(), torch.tensor(pack.labels), reduction="none")
        # What a turn decides (which tool, whether to go on) is a token or two of it; copying the rest is soon learnt.
        weights = (1 - torch.exp(-losses.detach())) ** self._focus
        ((weights * losses).sum() / weights.sum().clamp(min=1.0)).backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, 1.0)
        for group in self._optimiser.param_groups:
            group["lr"] = self._rate * share
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        return float(losses.detach().mean())

    def load(self, path: Path) -> None:
        """Go on from an adapter that `export` wrote.

        Raises:
            ValueError: it has other matrices than this one.
        """
        import gguf
        import torch

        found = {tensor.name: tensor.data for tensor in gguf.GGUFReader(path).tensors}
        for name, parameter in self._adapted():
            layer, target, side = _parts(name)
            values = np.asarray(found[f"blk.{layer}.{target}.weight.{side}"], dtype=np.float32)
            if side == "lora_b" and target in self._heads:
                values = halved(values, self._heads[target])
            if values.shape != tuple(parameter.shape):
                raise ValueError(f"{path} holds {values.shape} where {tuple(parameter.shape)} is trained")
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(values))

    def export(self, path: Path, settings: Settings) -> None:
        """Write the adapter as GGUF, in half precision, for llama.cpp."""
        import gguf

        writer = gguf.GGUFWriter(path, arch="llama")
        writer.add_type(gguf.GGUFType.ADAPTER)
        writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
        writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, float(settings.alpha))
        for name, parameter in self._adapted():
            layer, target, side = _parts(name)
            values = parameter.detach().float().numpy()
            if side == "lora_b" and target in self._heads:
                values = interleaved(values, self._heads[target])
            writer.add_tensor(f"blk.{layer}.{target}.weight.{side}", values.astype(np.float16))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def _adapted(self) -> list[tuple[str, Any]]:
        return [(name, parameter) for name, parameter in self.model.named_parameters() if parameter.requires_grad]


def _parts(name: str) -> tuple[int, str, str]:
    """Layer, GGUF name and side of a parameter such as `...layers.3.self_attn.q_proj.lora_A.default.weight`."""
    layer, block, projection, side = name.split(".layers.")[1].split(".")[:4]
    return int(layer), _GGUF_NAMES[f"{block}.{projection}"], side.lower()


def interleaved(values: Any, heads: int) -> Any:
    """Rows in llama.cpp's order: its rotary embedding pairs neighbours where transformers pairs halves."""
    rows, columns = values.shape
    return values.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def halved(values: Any, heads: int) -> Any:
    """The inverse of `interleaved`."""
    rows, columns = values.shape
    return values.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def main() -> None:
    """Read the command line, train, and write `adapter.gguf` and `training.json`."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    defaults = Settings()
    parser = argparse.ArgumentParser(prog="python -m examples.models.train_adapter")
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="an adapter to go on from")
    for name, value in asdict(defaults).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    options = vars(parser.parse_args())
    rows_path, out, start = options.pop("rows"), options.pop("out"), options.pop("start")
    settings = Settings(**options)
    rows = read_rows(rows_path)
    steps = packs(rows, settings)
    trained = sum(len(pack.labels) for pack in steps)
    tokens = sum(len(pack.ids) for pack in steps)
    _LOG.info("%d rows, %d steps, %d tokens of which %d are trained", len(rows), len(steps), tokens, trained)
    trainer = Trainer(settings)
    if start:
        trainer.load(start)
    out.mkdir(parents=True, exist_ok=True)
    began, losses = time.monotonic(), []
    for number, pack in enumerate(steps):
        spent = (time.monotonic() - began) / settings.seconds
        if spent >= 1.0:
            break
        losses.append(trainer.step(pack, share_of_rate(number / len(steps), spent, settings.warmup)))
        _LOG.info(
            "step %d/%d loss %.4f %.0f s, %.0f s of CPU",
            number + 1,
            len(steps),
            losses[-1],
            time.monotonic() - began,
            time.process_time(),
        )
        if (number + 1) % settings.keep_every == 0:
            trainer.export(out / f"adapter-{number + 1}.gguf", settings)
    trainer.export(out / "adapter.gguf", settings)
    record = {
        "data": read_source(rows_path),
        "start": hashlib.sha256(start.read_bytes()).hexdigest() if start else None,
        "settings": asdict(settings),
        "rows": len(rows),
        "steps": len(losses),
        "steps_planned": len(steps),
        "tokens": tokens,
        "trained_tokens": trained,
        "seconds": round(time.monotonic() - began, 1),
        "losses": [round(loss, 4) for loss in losses],
    }
    (out / "training.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
