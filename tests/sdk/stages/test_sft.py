"""Supervised fine-tuning: TRL's loop, our loss, adapters, refusals."""

import json
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from practicum.datasets import Dataset, Format, build
from practicum.errors import ConfigurationError, RequestError
from practicum.stages._trl import libraries
from practicum.stages.bundle import GGUF, Kind, read_bundle
from practicum.stages.policies import open_policy
from practicum.stages.progress import Progress
from practicum.stages.rows import check_rows, read_rows
from practicum.stages.settings import Lora
from practicum.stages.sft import train_sft
from tests.sdk.stages import school as schools
from tests.sdk.stages.house import SYSTEM
from tests.sdk.stages.school import School, load, policy

pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> School:
    return schools.school(tmp_path_factory.mktemp("school"), 1, repeats=1)


def losses(told: list[Progress]) -> list[float]:
    return [one.figures["loss"] for one in told]


def test_the_loss_is_trls_own(taught: School, tmp_path: Path) -> None:
    """The same steps by TRL's own loss, which knows nothing of shared beginnings."""
    trl, datasets = libraries.trl(), libraries.datasets()
    settings = schools.sft(epochs=1, rows_at_once=8, rows_per_step=32, warmup=0.0, falling=False)
    told: list[Progress] = []
    rows = read_rows(taught.dataset, load(taught.base).codec).rows
    train_sft(taught.dataset, taught.base, tmp_path / "ours", settings, listener=told.append)

    libraries.transformers().set_seed(1)
    loaded = load(taught.base)
    arguments = trl.SFTConfig(
        output_dir=str(tmp_path / "trl"),
        num_train_epochs=1,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=4,
        learning_rate=settings.rate,
        lr_scheduler_type="constant",
        max_grad_norm=settings.clip,
        seed=1,
        bf16=False,
        use_cpu=True,
        gradient_checkpointing=None,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        max_length=None,
        dataloader_pin_memory=False,
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    columns = {"input_ids": [list(row.input_ids) for row in rows], "labels": [list(row.labels) for row in rows]}
    trainer: Any = trl.SFTTrainer(
        model=loaded.model,
        args=arguments,
        train_dataset=datasets.Dataset.from_dict(columns),
        processing_class=loaded.tokenizer,
    )
    trainer.train()
    theirs = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    assert losses(told) == pytest.approx(theirs, rel=1e-4)
    ours = load(taught.base.model_copy(update={"path": str(tmp_path / "ours" / "weights")}))
    for mine, other in zip(ours.model.parameters(), loaded.model.parameters(), strict=True):
        # Where a gradient is next to nothing, Adam makes a whole step of its rounding.
        assert float((mine - other).detach().abs().mean()) < 1e-5


def test_the_parts_of_a_step_make_no_difference(taught: School, tmp_path: Path) -> None:
    found: list[list[float]] = []
    for at_once in (4, 32):
        told: list[Progress] = []
        settings = schools.sft(epochs=1, rows_at_once=at_once)
        train_sft(taught.dataset, taught.base, tmp_path / str(at_once), settings, listener=told.append)
        found.append(losses(told))
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_an_adapter_learns_and_the_base_stands_still(taught: School, tmp_path: Path) -> None:
    told: list[Progress] = []
    settings = schools.sft(epochs=6, rate=1e-2, lora=Lora(rank=8, alpha=16))
    bundle = train_sft(taught.dataset, taught.base, tmp_path / "out", settings, listener=told.append)
    assert losses(told)[-1] < losses(told)[0] / 2
    assert bundle.kind is Kind.ADAPTER
    assert bundle.base == taught.base
    assert {"weights/adapter_config.json", "weights/adapter_model.safetensors", GGUF} == set(bundle.files)
    assert bundle.stop_ids == (3,)
    assert bundle.settings["lora"]["rank"] == 8  # pyright: ignore[reportIndexIssue, reportCallIssue, reportArgumentType, reportOptionalSubscript]
    sampler = open_policy(tmp_path / "out", tmp_path, threads=1)
    assert sampler.version == f"sft-{bundle.digest[:12]}"
    loaded = load(taught.base)
    asked = taught.played[0].trajectory.model_calls[0].sampled
    assert asked is not None
    mine, bare = sampler.sample([asked.prompt_ids]), policy(loaded, temperature=0.0).sample([asked.prompt_ids])
    assert mine != bare


def test_llama_cpps_adapter_holds_the_same_numbers_in_its_own_order(taught: School, tmp_path: Path) -> None:
    train_sft(taught.dataset, taught.base, tmp_path / "out", schools.sft(epochs=1, lora=Lora(rank=4, alpha=16)))
    gguf, torch = libraries.gguf(), libraries.torch()
    reader = gguf.GGUFReader(tmp_path / "out" / GGUF)
    assert reader.fields["adapter.lora.alpha"].contents() == 16.0
    assert reader.fields["general.type"].contents() == "adapter"
    tensors = {tensor.name: torch.tensor(tensor.data.astype("float32")) for tensor in reader.tensors}
    assert len(tensors) == 3 * 7 * 2
    saved = load_adapter(tmp_path / "out")
    down = saved["base_model.model.model.layers.1.mlp.down_proj.lora_A.weight"]
    assert torch.allclose(tensors["blk.1.ffn_down.weight.lora_a"], down, atol=1e-3)
    query = saved["base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight"]
    # Four heads of 24: the halves of each head, one after the other, become neighbours.
    order = [head * 24 + half * 12 + place for head in range(4) for place in range(12) for half in (0, 1)]
    assert torch.allclose(tensors["blk.0.attn_q.weight.lora_b"], query[order], atol=1e-3)


def load_adapter(bundle: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = import_module("safetensors.torch").load_file(
        bundle / "weights" / "adapter_model.safetensors"
    )
    return loaded


def test_a_row_without_a_trainable_token_is_refused(taught: School) -> None:
    loaded = load(taught.base)
    rows = read_rows(taught.dataset, loaded.codec).rows
    mute = rows[1].model_copy(update={"labels": (-100,) * len(rows[1].labels)})
    with pytest.raises(RequestError, match="1 of 2 rows cannot be trained on: episode episode-1, step 0: it holds no"):
        check_rows([rows[0], mute], vocabulary=loaded.vocabulary, context=loaded.context, stops=loaded.stops)


def test_training_begins_with_no_such_row_in_its_dataset(taught: School, tmp_path: Path) -> None:
    """A manifest that fits its rows does not make them rows that can be learned from."""
    manifest = Dataset(taught.dataset).manifest
    lines = (taught.dataset / "tokens.jsonl").read_text().splitlines()
    mute = json.loads(lines[7])
    mute["labels"] = [-100] * len(mute["labels"])
    text = "\n".join([*lines[:7], json.dumps(mute), *lines[8:]]) + "\n"
    (file,) = manifest.files
    told = file.model_copy(update={"sha256": sha256(text.encode()).hexdigest()})
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tokens.jsonl").write_text(text)
    (tmp_path / "data" / "manifest.json").write_text(manifest.model_copy(update={"files": (told,)}).model_dump_json())
    steps: list[Progress] = []
    with pytest.raises(RequestError, match="1 of 60 rows cannot be trained on: episode episode-7, step 0: it holds no"):
        train_sft(tmp_path / "data", taught.base, tmp_path / "out", schools.sft(epochs=1), listener=steps.append)
    assert steps == []
    assert not (tmp_path / "out" / "bundle.json").exists()


def test_a_system_message_that_the_rows_do_not_have_is_refused(taught: School, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="do not begin with the system message"):
        train_sft(taught.dataset, taught.base, tmp_path / "out", schools.sft(system="Be rude."))


def test_a_model_is_served_with_the_system_message_of_its_rows(taught: School, tmp_path: Path) -> None:
    unnamed = schools.sft(epochs=1, system=None)
    assert train_sft(taught.dataset, taught.base, tmp_path / "out", unnamed).system == SYSTEM
    one, two = (taught.played[number].trajectory.model_copy(update={"rewards": ()}) for number in (0, 1))
    brief = two.messages[0].model_copy(update={"content": "Be quick."})
    records = [one, two.model_copy(update={"messages": (brief, *two.messages[1:])})]
    build("two", records, tmp_path / "two", format=Format.SFT)
    assert read_rows(tmp_path / "two", load(taught.base).codec).systems == ("Be quick.", SYSTEM)
    with pytest.raises(ConfigurationError, match="recorded with 2 system messages"):
        train_sft(tmp_path / "two", taught.base, tmp_path / "b", unnamed)
    assert train_sft(tmp_path / "two", taught.base, tmp_path / "b", schools.sft(epochs=1)).system == SYSTEM


def test_time_that_is_up_ends_training_and_keeps_what_was_learned(taught: School, tmp_path: Path) -> None:
    told: list[Progress] = []
    bundle = train_sft(
        taught.dataset, taught.base, tmp_path / "out", schools.sft(epochs=500, seconds=1), listener=told.append
    )
    assert 0 < bundle.steps == len(told) < told[0].steps
    assert read_bundle(tmp_path / "out") == bundle


def test_what_is_done_is_not_done_again(taught: School, tmp_path: Path) -> None:
    told: list[Progress] = []
    settings = schools.sft(epochs=1)
    first = train_sft(taught.dataset, taught.base, tmp_path / "out", settings, listener=told.append)
    steps = len(told)
    assert train_sft(taught.dataset, taught.base, tmp_path / "out", settings, listener=told.append) == first
    assert len(told) == steps
    assert not (tmp_path / "out" / "checkpoints").exists()


def test_adapters_for_projections_that_are_not_there_are_refused(taught: School, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not fit the model"):
        train_sft(taught.dataset, taught.base, tmp_path / "out", schools.sft(lora=Lora(targets=("wings",))))
