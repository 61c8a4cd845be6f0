"""What is shipped of a path: the adapter of one stage, what it was made of, and how good every stage was."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.models.manifest import MANIFEST, read_manifest
from examples.models.ship import MODEL, main
from practicum.contracts.models import ModelSpec, Provider, Sampling
from practicum.contracts.tasks import Split
from practicum.evaluation import wilson
from practicum.stages.bundle import GGUF, read_bundle
from practicum.stages.path import PathSettings
from practicum.stages.serving import facts_of, version_of
from practicum.tasks import digest, load_suite
from tests.examples.models.walked import BASE, CODEC, PATH, Hands, settings_file, walk


def ship(settings: Path, folder: Path, stage: str, out: Path) -> int:
    """Ship as the command line does."""
    return main(["--settings", str(settings), "--path", str(folder), "--stage", stage, "--out", str(out)])


def standing(out: Path) -> dict[str, bytes]:
    """What lies in a folder, drafts beside it included."""
    return {str(path.relative_to(out.parent)): path.read_bytes() for path in out.parent.rglob("*") if path.is_file()}


def test_a_stage_is_shipped_with_what_it_was_made_of(tmp_path: Path) -> None:
    settings = walk(tmp_path / "path")
    out = tmp_path / "shipped" / "numbers"

    assert ship(settings, tmp_path / "path", "sft", out) == 0

    (trained,) = (tmp_path / "path").glob("sft/train-*")
    bundle = read_bundle(trained)
    assert (out / GGUF).read_bytes() == b"GGUF of sft"
    manifest = read_manifest(out / MANIFEST)
    assert (manifest.stage, manifest.base.name, manifest.base.sha256) == ("sft", "smollm2", BASE.digest)
    assert (manifest.adapter.bytes, manifest.adapter.sha256) == (len(b"GGUF of sft"), bundle.files[GGUF])
    assert (manifest.codec.name, manifest.codec.template_hash) == (CODEC.name, CODEC.template_hash)
    suite = load_suite(PATH.suite)
    assert (manifest.tasks.suite, manifest.tasks.sha256) == (PATH.suite, suite.digest)
    assert manifest.tasks.held_out == digest(suite.tasks(Split.HELD_OUT))
    assert PathSettings.model_validate(manifest.path) == PATH
    (training,) = manifest.training
    assert (training.stage, training.bundle, training.parent) == ("sft", bundle.digest, None)
    assert (training.steps, training.seconds, training.software) == (7, 1.5, {"torch": "2.9"})
    assert [(source.kind, source.digest) for source in training.sources] == [("dataset", "d" * 64)]


def test_the_model_is_registered_as_it_was_measured(tmp_path: Path) -> None:
    settings = walk(tmp_path / "path")
    for stage in ("sft", "grpo"):
        assert ship(settings, tmp_path / "path", stage, tmp_path / "shipped") == 0

        (trained,) = (tmp_path / "path").glob(f"{stage}/train-*")
        bundle = read_bundle(trained)
        assert ModelSpec.model_validate_json((tmp_path / "shipped" / MODEL).read_bytes()) == ModelSpec(
            alias="local",
            provider=Provider.LLAMA_CPP,
            target="smollm2",
            codec=CODEC.name,
            adapter={0: 1.0},
            constrained=stage == "sft",
            sampling=Sampling(temperature=0.0, max_tokens=96),
            system="Write.",
            version=version_of(bundle),
            bundle=facts_of(bundle),
        )


def test_practice_is_told_with_what_it_went_on_from(tmp_path: Path) -> None:
    settings = walk(tmp_path / "path")
    ship(settings, tmp_path / "path", "grpo", tmp_path / "shipped")

    first, second = read_manifest(tmp_path / "shipped" / MANIFEST).training
    assert [first.stage, second.stage] == ["sft", "grpo"]
    assert second.parent == first.bundle
    assert [source.kind for source in second.sources] == ["suite", "dataset"]


def test_every_stage_is_told_with_counts_and_intervals(tmp_path: Path) -> None:
    settings = walk(tmp_path / "path")
    ship(settings, tmp_path / "path", "sft", tmp_path / "shipped")

    measured = read_manifest(tmp_path / "shipped" / MANIFEST).measured
    assert [(name, stage.tasks, stage.successes) for name, stage in measured.items()] == [
        ("prompt", 6, 0),
        ("rag", 6, 2),
        ("sft", 6, 5),
        ("grpo", 6, 4),
    ]
    rag = measured["rag"]
    assert (rag.kind, rag.split, rag.attempts, rag.unscored) == ("rag", Split.HELD_OUT, 1, 0)
    assert (rag.success.n, rag.success.value) == (6, pytest.approx(2 / 6))
    assert (rag.success.low, rag.success.high) == pytest.approx(wilson(2 / 6, 6))
    assert sum(family.n for family in rag.families.values()) == 6


def test_no_place_of_the_machine_that_trained_is_shipped(tmp_path: Path) -> None:
    settings = walk(tmp_path / "path")
    ship(settings, tmp_path / "path", "grpo", tmp_path / "shipped")

    for name in (MANIFEST, MODEL):
        text = (tmp_path / "shipped" / name).read_text()
        assert str(tmp_path) not in text
        assert "/elsewhere" not in text


def test_what_was_shipped_before_is_replaced_whole(tmp_path: Path) -> None:
    settings = walk(tmp_path / "path")
    out = tmp_path / "shipped" / "numbers"
    out.mkdir(parents=True)
    (out / "examples.jsonl").write_text("old")

    assert ship(settings, tmp_path / "path", "sft", out) == 0

    assert set(standing(out)) == {f"numbers/{name}" for name in (GGUF, MODEL, MANIFEST)}


def changed_adapter(folder: Path) -> None:
    (trained,) = folder.glob("sft/train-*")
    (trained / GGUF).write_bytes(b"GGUF of somebody else")


def lost_training(folder: Path) -> None:
    (trained,) = folder.glob("grpo/train-*")
    trained.rename(folder / "elsewhere")


def damaged_report(folder: Path) -> None:
    (evaluated,) = folder.glob("prompt/evaluation-*")
    (evaluated / "report.json").write_text("{")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (changed_adapter, "was changed: adapter.gguf"),
        (lost_training, "is done in {folder}: grpo/train, grpo/evaluation."),
        (damaged_report, "is no record of an evaluation"),
    ],
)
def test_what_is_not_whole_is_not_shipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None], told: str
) -> None:
    settings, folder = walk(tmp_path / "path"), tmp_path / "path"
    out = tmp_path / "shipped" / "numbers"
    assert ship(settings, folder, "grpo", out) == 0
    before = standing(out)
    damage(folder)

    assert ship(settings, folder, "sft", out) == 2

    error = capsys.readouterr().err
    assert told.format(folder=folder) in error
    assert "->" in error
    assert standing(out) == before


@pytest.mark.parametrize(
    ("hands", "told"),
    [
        (Hands(template="f" * 64), "is done in"),
        (Hands(base=BASE.model_copy(update={"name": "/elsewhere/tiny"})), "an adapter over '/elsewhere/tiny'"),
    ],
)
def test_what_could_not_be_served_is_not_shipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hands: Hands, told: str
) -> None:
    settings = walk(tmp_path / "path", hands)

    assert ship(settings, tmp_path / "path", "sft", tmp_path / "shipped") == 2

    assert told in capsys.readouterr().err
    assert not (tmp_path / "shipped").exists()


@pytest.mark.parametrize("stage", ["rag", "dream"])
def test_only_what_trains_can_be_shipped(tmp_path: Path, capsys: pytest.CaptureFixture[str], stage: str) -> None:
    settings = walk(tmp_path / "path")

    assert ship(settings, tmp_path / "path", stage, tmp_path / "shipped") == 2

    told = capsys.readouterr().err
    assert f"no stage '{stage}' that trains" in told
    assert "sft, grpo" in told


def test_other_settings_than_those_it_was_walked_with_are_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    walk(tmp_path / "path")
    other = PATH.model_copy(update={"system": "Write well."})

    assert ship(settings_file(tmp_path / "other.json", other), tmp_path / "path", "sft", tmp_path / "shipped") == 2

    assert "practicum path run" in capsys.readouterr().err


def test_a_file_that_holds_no_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "no.json"
    file.write_text(json.dumps({"suite": PATH.suite, "stages": []}))

    assert ship(file, tmp_path, "sft", tmp_path / "shipped") == 2

    assert "is no path: stages: " in capsys.readouterr().err


def test_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = walk(tmp_path / "path")

    assert ship(settings, tmp_path / "path", "sft", settings / "shipped") == 2

    assert "cannot be written" in capsys.readouterr().err
