"""The shipped adapter is what its manifest says it is."""

import hashlib
import json
from pathlib import Path

import pytest

from examples.models.evaluate import read_examples
from examples.models.local import SYSTEM
from examples.tasks.generate import generate
from practicum.codecs.registry import codec_named
from practicum.contracts.base import JsonObject
from practicum.contracts.models import ModelSpec
from practicum.contracts.tasks import Split
from practicum.evaluation.estimators import wilson
from practicum.stages.retrieval import nearest
from practicum.tasks import digest

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "models" / "smollm2-orders"
_MOST_BYTES = 8_000_000


@pytest.fixture(scope="module")
def manifest() -> JsonObject:
    return json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))


def test_the_adapter_is_the_one_that_was_measured_and_small_enough(manifest: JsonObject) -> None:
    content = (FOLDER / "adapter.gguf").read_bytes()
    assert manifest["adapter"] == {
        "file": "adapter.gguf",
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    assert len(content) <= _MOST_BYTES


def test_it_is_served_in_the_dialect_that_it_was_trained_in(manifest: JsonObject) -> None:
    spec = ModelSpec.model_validate_json((FOLDER / "model.json").read_bytes())
    assert spec.codec is not None
    assert manifest["codec"] == {"name": spec.codec, "template_hash": codec_named(spec.codec).template_hash}
    assert spec.system == SYSTEM
    assert spec.constrained
    assert spec.adapter == {0: 1.0}


def test_it_was_trained_on_the_train_split_as_it_still_is(manifest: JsonObject) -> None:
    phases = manifest["training"]
    assert isinstance(phases, list)
    for phase in phases:
        assert isinstance(phase, dict)
        data = phase["data"]
        assert isinstance(data, dict)
        assert data["split"] == "train"
        tasks = generate(Split.TRAIN, int(str(data["tasks"])), int(str(data["seed"])))
        assert digest(tasks) == data["sha256"]


def test_its_success_is_told_with_count_and_interval(manifest: JsonObject) -> None:
    stages = manifest["measured"]
    assert isinstance(stages, dict)
    assert set(stages) == {"zero_shot", "retrieval", "adapter"}
    for stage in stages.values():
        assert isinstance(stage, dict)
        assert stage["split"] == "held_out"
        whole = stage["all"]
        assert isinstance(whole, dict)
        n, value = float(str(whole["n"])), float(str(whole["value"]))
        assert n >= 96
        low, high = wilson(value, n)
        assert float(str(whole["low"])) == pytest.approx(low, abs=1e-3)
        assert float(str(whole["high"])) == pytest.approx(high, abs=1e-3)
    adapter = stages["adapter"]
    assert isinstance(adapter, dict)
    assert isinstance(adapter["all"], dict)
    assert float(str(adapter["all"]["low"])) > 0.5


def test_no_solved_example_is_a_held_out_task() -> None:
    examples = read_examples(FOLDER / "examples.jsonl", 1)
    shown = {episode[0].content for episode in examples.episodes}
    assert len(shown) == len(examples.episodes)
    assert shown <= {task.prompt for task in generate(Split.TRAIN)}
    (found,) = nearest("Cancel order 1042.", examples)
    assert found[1].tool_calls[0].name == "erp_cancel_order"
