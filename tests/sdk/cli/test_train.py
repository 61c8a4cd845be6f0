"""`practicum train`, from the command line to the bundle."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.sdk.cli.conftest import Types

trains = pytest.mark.skipif(
    find_spec("trl") is None,
    reason="training is NOT tested here: install it with pip install 'practicum[train]'",
)


def test_settings_that_are_unknown_or_given_twice_are_refused(practicum: Types, tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    unknown = practicum("train", "sft", "data", "--base", "b", "--out", out, "--set", "speed=9")
    assert unknown.status == 2
    assert "speed" in unknown.err
    assert "rows_per_step" in unknown.err  # the settings that there are
    twice = practicum("train", "sft", "data", "--base", "b", "--out", out, "--rate", "0.1", "--set", "rate=0.2")
    assert twice.status == 2
    assert "rate is set twice" in twice.err
    both = practicum("train", "sft", "data", "--base", "b", "--out", out, "--full", "--set", "lora.rank=4")
    assert "set twice" in both.err
    assert not (tmp_path / "run").exists()


@trains
def test_a_suite_that_is_not_there_is_told(practicum: Types, tmp_path: Path) -> None:
    shown = practicum("train", "grpo", "nowhere:SUITE", "--from", str(tmp_path), "--out", str(tmp_path / "run"))
    assert shown.status == 2
    assert "nowhere" in shown.err


@trains
@pytest.mark.train
def test_from_records_to_practice_on_the_command_line(practicum: Types, tmp_path: Path) -> None:
    from tests.sdk.stages.house import SYSTEM  # noqa: PLC0415
    from tests.sdk.stages.school import school  # noqa: PLC0415  it needs the extra

    taught = school(tmp_path, 1, repeats=1)
    common = ("--threads", "1", "--seed", "2", "--cache-dir", str(tmp_path / "cache"))
    sft = (
        *("train", "sft", str(taught.dataset), "--base", taught.base.path, "--out", str(tmp_path / "sft")),
        *("--full", "--system", SYSTEM, "--epochs", "2", "--rate", "0.002", *common),
    )
    shown = practicum(*sft, "--json")
    assert shown.status == 0, shown.err
    assert shown.json["kind"] == "full"
    assert shown.json["settings"]["epochs"] == 2
    assert "sft 16/16" in shown.err
    again = practicum(*sft)
    assert again.status == 0
    assert "sft 16/16" not in again.err  # it is done already
    assert "practicum models register ALIAS" in again.out
    assert practicum(*sft, "--set", "clip=2").status == 5  # another plan in the same folder

    grpo = practicum(
        *("train", "grpo", "tests.sdk.stages.house:LAMPS_SUITE", "--from", str(tmp_path / "sft")),
        *("--out", str(tmp_path / "grpo"), "--steps", "2", "--replay", str(taught.dataset), "--beta", "0.1", *common),
        *("--set", "groups=2", "--set", "group_size=2", "--set", "rows_at_once=4", "--set", "turn_tokens=12"),
        *("--set", "limits.errors_in_a_row=1", "--json"),
    )
    assert grpo.status == 0, grpo.err
    assert grpo.json["parent"] is not None
    assert [source["kind"] for source in grpo.json["sources"]] == ["suite", "dataset"]
    assert "grpo 2/2" in grpo.err
