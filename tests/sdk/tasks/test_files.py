from pathlib import Path

import pytest

from practicum.contracts.tasks import ReferenceCall, Split, Task
from practicum.errors import ConfigurationError
from practicum.tasks import digest, overlaps, read_tasks, select, write_tasks


def make(number: int, split: Split = Split.TRAIN, **more: object) -> Task:
    fields: dict[str, object] = {
        "id": f"t{number}",
        "suite": "s",
        "split": split,
        "family": "even" if number % 2 == 0 else "odd",
        "prompt": f"do {number} é",
        "tools": ("crm.*",),
        "start": {"crm": {"notes": {"1": {"text": "a"}}}},
        "reference": (ReferenceCall(tool="crm_add_note", arguments={"text": "x", "amount": 1.5}),),
        "wording": number,
        "entities": (f"order {number}",),
    }
    return Task.model_validate({**fields, **more})


TASKS = tuple(make(number) for number in range(4))


def test_what_is_written_is_read_back_and_bytes_are_the_same(tmp_path: Path) -> None:
    one, other = tmp_path / "new" / "one.jsonl", tmp_path / "other.jsonl"
    write_tasks(one, TASKS)
    write_tasks(other, read_tasks(one))
    assert read_tasks(one) == TASKS
    assert one.read_bytes() == other.read_bytes()


def test_a_digest_tells_suites_apart() -> None:
    assert digest(TASKS) == digest(list(TASKS))
    assert digest(TASKS) != digest(TASKS[:3])


def test_tasks_are_chosen_by_split_and_family() -> None:
    tasks = (*TASKS, make(4, Split.HELD_OUT))
    assert [task.id for task in select(tasks, split=Split.HELD_OUT)] == ["t4"]
    assert [task.id for task in select(tasks, families=["even"])] == ["t0", "t2", "t4"]
    assert [task.id for task in select(tasks, split=Split.TRAIN, families=["even"])] == ["t0", "t2"]
    assert select(tasks) == tasks
    assert select(tasks, families=[]) == ()


def test_a_missing_file_and_a_broken_line_say_where(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_tasks(tmp_path / "none.jsonl")
    path = tmp_path / "bad.jsonl"
    path.write_text(TASKS[0].model_dump_json() + "\n\n" + '{"id": "x"}\n')
    with pytest.raises(ConfigurationError, match=r"bad.jsonl, line 3, is no task: suite"):
        read_tasks(path)


def test_a_clean_split_overlaps_nowhere() -> None:
    assert overlaps(TASKS, [make(9, Split.HELD_OUT)]) == ()


def test_each_kind_of_leak_is_named() -> None:
    held_out = [
        make(7, Split.HELD_OUT, entities=("order 1",)),
        make(9, Split.HELD_OUT, wording=3),
        make(11, Split.HELD_OUT, prompt="do 2 é"),
        make(10, Split.HELD_OUT, wording=1),
    ]
    assert overlaps(TASKS, held_out) == ("entity order 1", "prompt 'do 2 é'", "wording 3 of odd")
