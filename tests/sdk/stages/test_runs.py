import json
from pathlib import Path

import pytest

from practicum.contracts.base import JsonObject
from practicum.errors import ConfigurationError, ConflictError
from practicum.stages.balance import BalanceState
from practicum.stages.progress import Progress
from practicum.stages.runs import CheckpointState, run_in, write_state

PLAN: JsonObject = {"stage": "sft", "settings": {"rate": 0.1, "seed": 1}}


def test_the_same_plan_goes_on_and_another_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "run"
    for _ in range(2):
        with run_in(out, PLAN) as run:
            assert run.latest() is None
            assert not run.finished
    other: JsonObject = {"stage": "sft", "settings": {"rate": 0.2, "seed": 1}}
    with pytest.raises(ConflictError, match=r"different: settings\.rate"), run_in(out, other):
        pass


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear")
    with pytest.raises(ConflictError, match="something else"), run_in(tmp_path, PLAN):
        pass
    file = tmp_path / "letter.txt"
    with pytest.raises(ConfigurationError, match="cannot be written"), run_in(file / "run", PLAN):
        pass


def test_two_do_not_train_in_one_folder(tmp_path: Path) -> None:
    again = run_in(tmp_path / "run", PLAN)
    with run_in(tmp_path / "run", PLAN), pytest.raises(ConflictError, match="Another process"), again:
        pass


def test_only_a_whole_checkpoint_counts(tmp_path: Path) -> None:
    with run_in(tmp_path / "run", PLAN) as run:
        for step in (2, 10):
            folder = run.checkpoints / f"checkpoint-{step}"
            folder.mkdir(parents=True)
            state = CheckpointState(step=step, seconds=1.5, balance=BalanceState(success={"a": 0.5}, drawn={"a": 3}))
            write_state(folder, state)
        (run.checkpoints / "checkpoint-11").mkdir()  # the process was killed while this one was written
        latest = run.latest()
        assert latest is not None
        assert latest.folder.name == "checkpoint-10"
        assert latest.state.balance == BalanceState(success={"a": 0.5}, drawn={"a": 3})


def test_steps_that_will_be_done_again_are_forgotten(tmp_path: Path) -> None:
    with run_in(tmp_path / "run", PLAN) as run:
        for step in range(1, 6):
            run.record(Progress("sft", step, 9, step * 1.0, {"loss": 1.0 / step}))
        path = run.folder / "steps.jsonl"
        path.write_text(path.read_text() + '{"step": 6, "sec')  # the process was killed while it wrote
        run.rewind(4)
        assert [json.loads(line)["step"] for line in path.read_text().splitlines()] == [1, 2, 3, 4]


def test_a_damaged_mark_is_told(tmp_path: Path) -> None:
    with run_in(tmp_path / "run", PLAN):
        pass
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(ConflictError, match="damaged"), run_in(tmp_path / "run", PLAN):
        pass
