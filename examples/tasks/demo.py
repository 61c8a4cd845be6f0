"""Held-out tasks for a live demonstration on the running systems."""

from dataclasses import dataclass

from examples.systems.world import SYSTEMS
from examples.tasks.generate import generate
from practicum.contracts.tasks import Split, States, Task

_SHOWN = ("broken_order", "release_if_green")


@dataclass(frozen=True)
class Demo:
    """Tasks, and one start state in which each of them stands.

    Attributes:
        tasks: held-out tasks, the ones from the README first.
        start: states of the three systems, for `PUT /_practice/state` of each.
    """

    tasks: tuple[Task, ...]
    start: States


def demo_tasks(count: int = 2) -> Demo:
    """Choose held-out tasks that can share one start state.

    Args:
        count: how many; the first two are "Order 1042 arrived broken ..." and "Release the billing service ...".

    Returns:
        The tasks and their common start.

    Raises:
        ValueError: so many do not fit together.
    """
    candidates = sorted(generate(Split.HELD_OUT), key=_comes_later)
    chosen: list[Task] = []
    start: States = {}
    for task in candidates:
        if len(chosen) == count:
            break
        merged = merge(start, task.start)
        if merged is not None:
            chosen.append(task)
            start = merged
    if len(chosen) < count:
        raise ValueError(f"only {len(chosen)} held-out tasks fit together, not {count}")
    return Demo(tuple(chosen), {system: start.get(system, {}) for system in SYSTEMS})


def merge(first: States, second: States) -> States | None:
    """Both states in one, or None where they hold different records under the same id."""
    merged: States = {}
    for system in first | second:
        old, new = first.get(system, {}), second.get(system, {})
        merged[system] = {table: {**old.get(table, {}), **new.get(table, {})} for table in old | new}
    kept = all(
        merged[system][table][key] == record
        for states in (first, second)
        for system, tables in states.items()
        for table, records in tables.items()
        for key, record in records.items()
    )
    return merged if kept else None


def _comes_later(task: Task) -> bool:
    """Whether it is none of the README's tasks, which come first; the rest keep their order."""
    return not any(task.id.endswith(f".{family}.0") for family in _SHOWN)
