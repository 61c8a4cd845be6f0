"""The state directory."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from practicum.cli.services.state import StateDirectory
from practicum.errors import ConfigurationError, ConflictError


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_keys_are_made_once_and_readable_by_their_owner_only(state: StateDirectory) -> None:
    keys = state.keys()

    assert StateDirectory(state.path).keys() == keys
    assert len({keys.admin, keys.worker, keys.approver}) == 3
    assert keys.admin.startswith("prk_")
    assert len(keys.admin) >= 28
    assert keys.admin not in repr(keys)
    assert _mode(state.path / "secrets.json") == 0o600


def test_the_cli_is_told_where_its_gateway_is(state: StateDirectory) -> None:
    state.write_client("http://127.0.0.1:8321", "prk_secret")

    assert json.loads((state.path / "client.json").read_text(encoding="utf-8")) == {
        "url": "http://127.0.0.1:8321",
        "api_key": "prk_secret",
    }
    assert _mode(state.path / "client.json") == 0o600
    state.remove_client()
    assert not (state.path / "client.json").exists()


def test_a_private_file_is_never_open_to_others_however_wide_the_umask(state: StateDirectory) -> None:
    before = os.umask(0)
    try:
        state.write_client("http://127.0.0.1:1", "prk_secret")
    finally:
        os.umask(before)

    assert _mode(state.path / "client.json") == 0o600
    assert [path.name for path in state.path.iterdir()] == ["client.json"]


def test_two_holders_are_one_too_many(state: StateDirectory) -> None:
    code = (
        "import pathlib, sys\n"
        "from practicum.cli.services.state import StateDirectory\n"
        "with StateDirectory(pathlib.Path(sys.argv[1])).lock():\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(state.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        with pytest.raises(ConflictError, match=f"process {holder.pid}"), state.lock():
            pass

        holder.communicate("")
    with state.lock():
        pass


def test_the_lock_of_a_killed_holder_is_free_again(state: StateDirectory) -> None:
    code = (
        "import os, pathlib, sys\n"
        "from practicum.cli.services.state import StateDirectory\n"
        "with StateDirectory(pathlib.Path(sys.argv[1])).lock():\n"
        "    os.abort()\n"
    )
    subprocess.run([sys.executable, "-c", code, str(state.path)], check=False, stderr=subprocess.DEVNULL)

    with state.lock():
        assert (state.path / ".gitignore").read_text(encoding="utf-8") == "*\n"


@pytest.mark.parametrize("content", ["", "{", '{"format": "other/9", "services": []}', "[]"])
def test_a_damaged_record_is_said_and_not_guessed_at(state: StateDirectory, content: str) -> None:
    state.prepare()
    (state.path / "services.json").write_text(content, encoding="utf-8")

    with pytest.raises(ConfigurationError, match="damaged"):
        state.services()


def test_damaged_keys_are_said_without_showing_them(state: StateDirectory) -> None:
    state.prepare()
    (state.path / "secrets.json").write_text('{"admin": "prk_my-secret"}', encoding="utf-8")

    with pytest.raises(ConfigurationError, match="damaged") as caught:
        state.keys()

    assert "my-secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(ConfigurationError, match="cannot be written to: Not a directory"):
        StateDirectory(tmp_path / "file" / "state").prepare()
