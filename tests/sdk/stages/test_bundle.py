from pathlib import Path

import pytest

from practicum.codecs.chatml import ChatMLCompact
from practicum.contracts.base import utc_now
from practicum.errors import ConfigurationError
from practicum.stages.bases import base_of, find_base
from practicum.stages.bundle import (
    WEIGHTS,
    Base,
    Bundle,
    Kind,
    Source,
    check_template,
    files_below,
    hashes,
    read_bundle,
    write_bundle,
)


def a_base(folder: Path, weights: bytes = b"weights") -> Path:
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A folder with a bundle that holds no real weights."""
    folder = tmp_path / "bundle"
    (folder / WEIGHTS).mkdir(parents=True)
    (folder / WEIGHTS / "adapter_model.safetensors").write_bytes(b"learned")
    base = find_base(str(a_base(tmp_path / "base")), tmp_path)
    write_bundle(folder, a_manifest(base, hashes(folder, files_below(folder, WEIGHTS))))
    return folder


def a_manifest(base: Base, files: dict[str, str]) -> Bundle:
    codec = ChatMLCompact()
    return Bundle(
        created=utc_now(),
        stage="sft",
        kind=Kind.ADAPTER,
        base=base,
        codec=codec.name,
        template_hash=codec.template_hash,
        stop=codec.stops[0],
        stop_ids=(2,),
        system="Be kind.",
        sources=(Source(kind="dataset", name="d", digest="0"),),
        settings={},
        steps=3,
        seconds=1.0,
        software={},
        files=files,
    )


def test_a_bundle_is_read_as_it_was_written(bundle: Path) -> None:
    found = read_bundle(bundle)
    assert found.files.keys() == {"weights/adapter_model.safetensors"}
    assert found.digest == read_bundle(bundle).digest
    check_template(found)


def test_changed_weights_are_noticed(bundle: Path) -> None:
    (bundle / WEIGHTS / "adapter_model.safetensors").write_bytes(b"other")
    with pytest.raises(ConfigurationError, match=r"was changed: weights/adapter_model\.safetensors"):
        read_bundle(bundle)
    (bundle / WEIGHTS / "adapter_model.safetensors").unlink()
    with pytest.raises(ConfigurationError, match="was changed"):
        read_bundle(bundle)


def test_no_bundle_is_told(tmp_path: Path, bundle: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds no bundle"):
        read_bundle(tmp_path)
    (bundle / "bundle.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="damaged"):
        read_bundle(bundle)


def test_another_template_is_refused(bundle: Path) -> None:
    other = read_bundle(bundle).model_copy(update={"template_hash": "0" * 64})
    with pytest.raises(ConfigurationError, match="another template of 'chatml-compact'"):
        check_template(other)


def test_the_identity_is_in_what_was_learned(bundle: Path) -> None:
    found = read_bundle(bundle)
    assert found.model_copy(update={"seconds": 9.0}).digest == found.digest
    assert found.model_copy(update={"template_hash": "0" * 64}).digest != found.digest
    assert found.model_copy(update={"files": {"weights/a": "1"}}).digest != found.digest


def test_the_very_base_is_asked_for(tmp_path: Path, bundle: Path) -> None:
    found = read_bundle(bundle)
    assert base_of(found, tmp_path) == found.base
    (tmp_path / "base" / "model.safetensors").write_bytes(b"others")
    with pytest.raises(ConfigurationError, match="other weights"):
        base_of(found, tmp_path)


def test_a_folder_without_a_model_is_no_base(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds no model"):
        find_base(str(tmp_path), tmp_path)
