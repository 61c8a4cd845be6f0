"""The list of adapters: numbers stay, files are copies, and damage is said."""

from pathlib import Path

import pytest

from practicum.cli.services.adapters import Adapters
from practicum.cli.services.state import StateDirectory
from practicum.contracts.models import ModelSpec, Provider
from practicum.errors import ConfigurationError


def adapter(folder: Path, content: bytes) -> Path:
    path = folder / f"{content.decode()}.gguf"
    path.write_bytes(content)
    return path


def test_an_adapter_keeps_its_number_whatever_comes_after(state: StateDirectory, tmp_path: Path) -> None:
    adapters = Adapters(state)
    assert (adapters.paths, adapters.models) == ((), ())

    assert adapters.keep(adapter(tmp_path, b"one")) == (0, True)
    assert adapters.keep(adapter(tmp_path, b"two")) == (1, True)
    assert Adapters(state).keep(adapter(tmp_path, b"one")) == (0, False)

    (tmp_path / "one.gguf").unlink()
    assert [path.read_bytes() for path in Adapters(state).paths] == [b"one", b"two"]
    assert all(path.is_relative_to(state.path) for path in adapters.paths)


def test_the_newest_can_be_taken_off_again(state: StateDirectory, tmp_path: Path) -> None:
    adapters = Adapters(state)
    adapters.keep(adapter(tmp_path, b"one"))
    adapters.keep(adapter(tmp_path, b"broken"))
    broken = adapters.paths[1]

    adapters.drop_last()

    assert [path.read_bytes() for path in adapters.paths] == [b"one"]
    assert not broken.exists()
    assert adapters.keep(adapter(tmp_path, b"two")) == (1, True)


def test_a_registration_takes_the_place_of_the_one_of_the_same_version(state: StateDirectory) -> None:
    adapters = Adapters(state)
    old, other = (
        ModelSpec(alias="local", provider=Provider.LLAMA_CPP, target="smol", version=version, adapter={0: 1.0})
        for version in ("v1", "v2")
    )
    new = old.model_copy(update={"adapter": {3: 1.0}, "base_url": "http://127.0.0.1:1"})
    for spec in (old, other, new):
        adapters.remember(spec)

    assert Adapters(state).models == (other, new)


def test_a_damaged_list_is_said_and_not_guessed_at(state: StateDirectory, tmp_path: Path) -> None:
    adapters = Adapters(state)
    adapters.keep(adapter(tmp_path, b"one"))
    (state.path / "adapters" / "adapters.json").write_text('{"digests": 3}', encoding="utf-8")

    with pytest.raises(ConfigurationError, match=r"is damaged(?s:.)*register the bundles again"):
        adapters.keep(adapter(tmp_path, b"two"))


def test_a_file_that_is_not_there_is_said(state: StateDirectory, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.gguf cannot be read"):
        Adapters(state).keep(tmp_path / "none.gguf")
    assert Adapters(state).paths == ()
