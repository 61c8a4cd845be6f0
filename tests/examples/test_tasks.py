import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from examples.systems.world import World
from examples.tasks import NAME, SUITE, Orders, demo_tasks, generate
from examples.tasks.families import FAMILIES
from examples.tasks.generate import wordings
from practicum.contracts.tasks import Split, States, Task
from practicum.tasks import Practice, digest, load_suite, overlaps, read_tasks

TRAIN, HELD_OUT = generate(Split.TRAIN, 600), generate(Split.HELD_OUT, 200)

TRAIN_DIGEST = "7fcc508551f8e356d354b4eba566cff94a7315a2479227567d17bf4e3bccbba0"
HELD_OUT_DIGEST = "ef2ed0b1ff5f12dab24465320d474ec29bd7415ff52be148958380bab1649432"


def test_the_suite_is_the_same_everywhere_byte_for_byte() -> None:
    """A changed digest means other tasks: results before and after cannot be compared."""
    assert (digest(TRAIN), digest(HELD_OUT)) == (TRAIN_DIGEST, HELD_OUT_DIGEST)


async def test_the_suite_is_found_by_its_dotted_path_and_can_be_tried() -> None:
    suite = load_suite("examples.tasks:SUITE")
    assert suite is SUITE
    assert (suite.name, suite.tasks(Split.TRAIN), suite.tasks(Split.HELD_OUT)) == (NAME, TRAIN, HELD_OUT)
    assert suite.digest == digest((*TRAIN, *HELD_OUT)) != Orders(seed=2).digest
    task = suite.tasks(Split.TRAIN)[0]
    async with suite.practice() as practice:
        assert isinstance(practice, Practice)
        await practice.load(task.start)
        for number, call in enumerate(task.reference):
            await practice.call(call.tool, call.arguments, str(number))
        assert suite.verify(task, task.start, await practice.state(), task.conclusion).reward == 1


def test_more_tasks_begin_with_the_same_ones() -> None:
    assert generate(Split.TRAIN, 200) == TRAIN[:200]
    assert generate(Split.TRAIN, 14, seed=2) != TRAIN[:14]


def test_more_tasks_than_there_are_words_for_is_an_error() -> None:
    with pytest.raises(ValueError, match="the vocabulary holds no more than"):
        generate(Split.HELD_OUT, 5000)


@pytest.mark.parametrize(("split", "tasks", "count"), [(Split.TRAIN, TRAIN, 600), (Split.HELD_OUT, HELD_OUT, 200)])
def test_a_split_holds_every_family_and_wording(split: Split, tasks: tuple[Task, ...], count: int) -> None:
    assert len(tasks) == len({task.id for task in tasks}) == len({task.prompt for task in tasks}) == count
    assert {task.suite for task in tasks} == {NAME}
    assert {task.split for task in tasks} == {split}
    counts = Counter(task.family for task in tasks)
    assert set(counts) == set(FAMILIES) == set(wordings())
    assert set(counts.values()) <= {count // len(FAMILIES), count // len(FAMILIES) + 1}
    used = Counter((task.family, task.wording) for task in tasks)
    assert len(used) == sum(len(ways[split]) for ways in wordings().values())


def test_families_ask_for_one_to_four_calls_in_one_or_two_systems() -> None:
    lengths = {len(task.reference) for task in TRAIN}
    assert lengths == {1, 2, 3, 4}
    crossing = {task.family for task in TRAIN if len({call.tool.split("_")[0] for call in task.reference}) > 1}
    assert crossing == {"broken_order", "cancel_and_note", "customer_email"}


def test_wordings_are_many_and_none_is_on_both_sides() -> None:
    for family, ways in wordings().items():
        assert 8 <= len(ways[Split.TRAIN]) <= 10, family
        assert len(ways[Split.HELD_OUT]) == 4, family
        assert not set(ways[Split.TRAIN]) & set(ways[Split.HELD_OUT]), family


def test_nothing_is_on_both_sides_of_the_split() -> None:
    assert overlaps(TRAIN, HELD_OUT) == ()
    assert not ids_in(TRAIN) & ids_in(HELD_OUT)
    assert not texts_in(TRAIN) & texts_in(HELD_OUT)


def ids_in(tasks: tuple[Task, ...]) -> set[str]:
    """Ids of everything that stands in a start state, also where no task asks for it; refunds count from 1."""
    return {
        f"{system}/{table}/{record}"
        for task in tasks
        for system, tables in task.start.items()
        for table, records in tables.items()
        for record in records
        if table != "refunds"
    }


def texts_in(tasks: tuple[Task, ...]) -> set[str]:
    """Names, addresses and tests in the start states."""
    return {
        str(record[field])
        for task in tasks
        for tables in task.start.values()
        for records in tables.values()
        for record in records.values()
        for field in ("name", "email", "city", "failed_test")
        if record.get(field)
    }


def test_start_states_are_small() -> None:
    for task in (*TRAIN, *HELD_OUT):
        assert 1 <= sum(len(records) for tables in task.start.values() for records in tables.values()) <= 25


def test_half_of_the_releases_find_a_red_build() -> None:
    for tasks in (TRAIN, HELD_OUT):
        releases = [task for task in tasks if task.family == "release_if_green"]
        red = [task for task in releases if not task.expected]
        assert len(red) in (len(releases) // 2, len(releases) // 2 + 1)
        assert all(len(task.reference) == 1 and task.answer == "failed" for task in red)


async def test_the_demo_shows_the_tasks_of_the_readme_in_one_world(world: World) -> None:
    demo = demo_tasks()
    assert [task.prompt for task in demo.tasks] == [
        "Order 1042 arrived broken: refund it within policy, note it on the customer and tell the warehouse.",
        "Release the billing service if its build is green.",
    ]
    assert {task.split for task in demo.tasks} == {Split.HELD_OUT}
    await world.load(demo.start)
    assert await world.state() == demo.start


def test_a_longer_demo_keeps_every_task_whole() -> None:
    demo = demo_tasks(8)
    assert len({task.id for task in demo.tasks}) == 8
    for task in demo.tasks:
        assert stands_in(task.start, demo.start)
    with pytest.raises(ValueError, match="held-out tasks fit together"):
        demo_tasks(200)


def stands_in(part: States, whole: States) -> bool:
    return all(
        whole[system][table][key] == record
        for system, tables in part.items()
        for table, records in tables.items()
        for key, record in records.items()
    )


def test_the_command_writes_both_files(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "examples.tasks",
        "--out",
        str(tmp_path / "suite"),
        "--train",
        "20",
        "--held-out",
        "20",
        "--check",
    ]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert read_tasks(tmp_path / "suite" / "train.jsonl") == TRAIN[:20]
    assert read_tasks(tmp_path / "suite" / "held_out.jsonl") == HELD_OUT[:20]
    assert digest(TRAIN[:20]) in output
