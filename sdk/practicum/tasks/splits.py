"""The line between train and held-out."""

from collections.abc import Iterable

from practicum.contracts.tasks import Task


def overlaps(train: Iterable[Task], held_out: Iterable[Task]) -> tuple[str, ...]:
    """What stands on both sides: entities, wordings of a family, and whole prompts; empty when the split is clean."""
    train, held_out = tuple(train), tuple(held_out)
    shared = [
        *(f"entity {name}" for name in _entities(train) & _entities(held_out)),
        *(f"wording {number} of {family}" for family, number in _wordings(train) & _wordings(held_out)),
        *(f"prompt {prompt!r}" for prompt in _prompts(train) & _prompts(held_out)),
    ]
    return tuple(sorted(shared))


def _entities(tasks: Iterable[Task]) -> set[str]:
    return {entity for task in tasks for entity in task.entities}


def _wordings(tasks: Iterable[Task]) -> set[tuple[str, int]]:
    return {(task.family, task.wording) for task in tasks}


def _prompts(tasks: Iterable[Task]) -> set[str]:
    return {task.prompt for task in tasks}
