"""The shipped adapter is what its manifest says it is."""

from pathlib import Path

import pytest

from examples.models.manifest import MANIFEST, Manifest, read_manifest
from examples.models.ship import MODEL
from examples.tasks import SUITE
from practicum.cli.yaml_text import parse_yaml
from practicum.codecs.registry import codec_named
from practicum.contracts.models import ModelSpec
from practicum.contracts.tasks import Split
from practicum.evaluation import wilson
from practicum.stages.bundle import GGUF, digest_of
from practicum.stages.path import PathSettings
from practicum.tasks import digest
from practicum_gateway.models.versions import template_fault

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
FOLDER = EXAMPLES / "models" / "smollm2-orders"
_MOST_BYTES = 8_000_000


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return read_manifest(FOLDER / MANIFEST)


@pytest.fixture(scope="module")
def spec() -> ModelSpec:
    return ModelSpec.model_validate_json((FOLDER / MODEL).read_bytes())


def test_the_folder_holds_what_is_served_and_nothing_else() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {GGUF, MODEL, MANIFEST}


def test_the_adapter_is_the_one_that_was_measured_and_small_enough(manifest: Manifest) -> None:
    adapter = FOLDER / manifest.adapter.file
    assert manifest.adapter.sha256 == digest_of(adapter)
    assert manifest.adapter.bytes == adapter.stat().st_size <= _MOST_BYTES


def test_the_model_is_registered_as_what_was_trained(manifest: Manifest, spec: ModelSpec) -> None:
    facts = spec.bundle
    assert facts is not None
    assert facts.digest == manifest.training[-1].bundle
    assert facts.weights_hash == manifest.adapter.sha256
    assert facts.base_hash == manifest.base.sha256
    assert spec.version == f"{facts.stage}-{facts.digest[:12]}"
    assert (spec.alias, spec.target, spec.base_url, spec.adapter) == ("local", manifest.base.name, None, {0: 1.0})


def test_it_is_served_in_the_dialect_that_it_was_trained_in(manifest: Manifest, spec: ModelSpec) -> None:
    path = PathSettings.model_validate(parse_yaml((EXAMPLES / "path.yaml").read_text(), "path.yaml"))
    assert template_fault(spec) is None
    assert spec.bundle is not None
    assert (manifest.codec.name, manifest.codec.template_hash) == (spec.codec, spec.bundle.template_hash)
    assert manifest.codec.template_hash == codec_named(path.model.codec).template_hash
    assert (spec.system, spec.sampling) == (path.system, path.model.sampling)
    assert spec.constrained


def test_each_training_goes_on_from_the_one_before_it(manifest: Manifest) -> None:
    made = [training.bundle for training in manifest.training]
    assert [training.parent for training in manifest.training] == [None, *made[:-1]]
    assert manifest.training[-1].stage == manifest.stage
    assert all(training.sources and training.steps and training.seconds for training in manifest.training)


def test_it_was_measured_on_the_held_out_tasks_as_they_still_are(manifest: Manifest) -> None:
    assert manifest.tasks.suite == "examples.tasks:SUITE"
    assert manifest.tasks.held_out == digest(SUITE.tasks(Split.HELD_OUT))


def test_every_stage_is_told_with_count_and_interval(manifest: Manifest) -> None:
    for stage in manifest.measured.values():
        assert (stage.split, stage.attempts) == (Split.HELD_OUT, 1)
        assert stage.success.n == stage.tasks - stage.unscored >= 96
        share = stage.successes / stage.success.n
        assert (stage.success.value, stage.success.low, stage.success.high) == pytest.approx(
            (share, *wilson(share, stage.success.n))
        )
        assert sum(family.n for family in stage.families.values()) == stage.success.n
        found = sum((family.value or 0) * family.n for family in stage.families.values())
        assert found == pytest.approx(stage.successes)


def test_what_is_shipped_does_most_held_out_tasks(manifest: Manifest) -> None:
    low = manifest.measured[manifest.stage].success.low
    assert low is not None
    assert low > 0.5
