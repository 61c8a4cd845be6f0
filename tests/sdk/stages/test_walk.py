"""A walk along a path: what is done once, what is kept, what it came to."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from practicum.errors import ConfigurationError, ConflictError, UpstreamError
from practicum.stages.path import PathSettings
from practicum.stages.path_record import PathRecord, path_folder
from practicum.stages.path_report import PathReport, StageResult, footing, rows_of_report
from tests.sdk.stages.walker import walk

ROOT = Path(__file__).parents[3]
WORKS = [
    "references",
    "prompt/evaluation",
    "rag/evaluation",
    "sft/dataset",
    "sft/train",
    "sft/evaluation",
    "grpo/train",
    "grpo/evaluation",
]


def path(*, epochs: float = 2, shown: int = 1) -> PathSettings:
    stages: list[dict[str, Any]] = [
        {"stage": "prompt"},
        {"stage": "rag", "shown": shown},
        {"stage": "sft", "settings": {"epochs": epochs}},
        {"stage": "grpo", "replay": {"rows": 2}},
    ]
    return PathSettings.model_validate({"suite": "tests.sdk.suites:NUMBERS", "system": "Write.", "stages": stages})


def begun(folder: Path) -> list[str]:
    return (folder / "begun.txt").read_text().splitlines()


def note(folder: Path, work: str) -> str:
    (found,) = folder.glob(f"{work}-*/note.txt")
    return found.read_text()


def test_a_path_is_walked_once(tmp_path: Path) -> None:
    report = walk(path(), tmp_path)
    assert begun(tmp_path) == WORKS
    assert walk(path(), tmp_path) == report
    assert begun(tmp_path) == WORKS
    assert [(stage.stage, stage.success.n, stage.success.value) for stage in report.stages] == [
        ("prompt", 6, 0.0),
        ("rag", 6, 2 / 6),
        ("sft", 6, 5 / 6),
        ("grpo", 6, 1.0),
    ]


def test_each_work_gets_what_it_needs(tmp_path: Path) -> None:
    walk(path(), tmp_path)
    assert note(tmp_path, "sft/train") == "references sft 2.0 Write."
    assert note(tmp_path, "grpo/train") == "references sft 2.0 Write. grpo 25 replay references"
    assert note(tmp_path, "prompt/evaluation") == "bare shown 0"
    assert note(tmp_path, "rag/evaluation") == "references shown 1"
    assert note(tmp_path, "grpo/evaluation") == "references sft 2.0 Write. grpo 25 replay references shown 0"


def test_a_finished_stage_leaves_its_result(tmp_path: Path) -> None:
    report = walk(path(), tmp_path)
    kept = StageResult.model_validate_json((tmp_path / "sft" / "result.json").read_bytes())
    assert kept == report.stages[2]
    record = json.loads((tmp_path / "path.json").read_text())
    outputs = {done["work"]: done["output"] for done in record["done"]}
    assert list(outputs) == WORKS
    assert (kept.dataset, kept.bundle) == (outputs["sft/dataset"], outputs["sft/train"])
    assert (tmp_path / kept.evaluation / "report.json").is_file()
    assert (kept.against, kept.comparison and kept.comparison.n) == ("rag", 6)
    assert kept.comparison is not None
    assert kept.comparison.difference == pytest.approx(0.5)


def test_a_changed_setting_leads_to_what_it_decides_and_the_old_one_back(tmp_path: Path) -> None:
    walk(path(), tmp_path)
    walk(path(epochs=3), tmp_path)
    assert begun(tmp_path)[8:] == WORKS[4:]
    assert len(list(tmp_path.glob("sft/train-*"))) == 2
    walk(path(), tmp_path)
    walk(path(shown=2), tmp_path)
    assert begun(tmp_path)[12:] == ["rag/evaluation"]


@pytest.mark.parametrize("work", WORKS)
def test_a_failure_keeps_what_was_done_before_it(tmp_path: Path, work: str) -> None:
    with pytest.raises(UpstreamError):
        walk(path(), tmp_path, fails_in=work)
    walk(path(), tmp_path)
    place = WORKS.index(work)
    assert begun(tmp_path) == [*WORKS[: place + 1], *WORKS[place:]]


@pytest.mark.parametrize("work", ["sft/train", "grpo/train"])
def test_killed_in_training_it_repeats_no_finished_work(tmp_path: Path, work: str) -> None:
    command = [sys.executable, "-m", "tests.sdk.stages.walker", path().model_dump_json(), str(tmp_path), work]
    killed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    report = walk(path(), tmp_path)
    place = WORKS.index(work)
    assert begun(tmp_path) == [*WORKS[: place + 1], *WORKS[place:]]
    assert len(report.stages) == 4


def test_what_an_interrupted_work_cost_is_counted(tmp_path: Path) -> None:
    with pytest.raises(UpstreamError):
        walk(path(), tmp_path, fails_in="sft/train")
    with path_folder(tmp_path) as record:
        (key,) = json.loads((tmp_path / "path.json").read_text())["spent"]
        record.spend(key, 100.0)
    assert walk(path(), tmp_path).stages[2].training_seconds >= 100.0
    assert json.loads((tmp_path / "path.json").read_text())["spent"] == {}


def test_what_somebody_removed_is_made_again(tmp_path: Path) -> None:
    walk(path(), tmp_path)
    (folder,) = tmp_path.glob("rag/evaluation-*")
    folder.rename(tmp_path / "elsewhere")
    walk(path(), tmp_path)
    assert begun(tmp_path)[8:] == ["rag/evaluation"]


def test_two_cannot_walk_in_one_folder(tmp_path: Path) -> None:
    with path_folder(tmp_path), pytest.raises(ConflictError, match="Another process"):
        walk(path(), tmp_path)


def test_a_damaged_record_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "path.json").write_text("{")
    with pytest.raises(ConfigurationError, match="what was done is not known"):
        PathRecord(tmp_path)


def test_the_table_has_counts_intervals_and_costs(tmp_path: Path) -> None:
    report = walk(path(), tmp_path)
    rows = {row[0]: row for row in rows_of_report(report)}
    assert rows["sft"][1:6] == ("6", "83.3% (43.6% to 97.0%)", "k=1: 83.3%", rows["sft"][4], "0")
    assert rows["sft"][4].startswith("+50.0 points (")
    assert (rows["prompt"][4], rows["prompt"][6]) == ("", "")
    assert rows["sft"][8] == "72"
    assert footing(report).startswith(
        "6 held-out tasks of tests.sdk.suites:NUMBERS for every stage; intervals are 95%;"
    )
    assert PathReport.model_validate_json(report.model_dump_json()) == report
