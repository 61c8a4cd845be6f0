"""The suite `orders` as trainers and evaluations take it: `examples.tasks:SUITE`."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import cached_property

from examples.systems.world import World
from examples.tasks.generate import NAME, generate
from practicum.contracts.tasks import Split, States, Task, Verdict
from practicum.tasks import Practice, digest, verify


class Orders:
    """Tasks over the example systems; a `practicum.tasks.Suite`."""

    name = NAME

    def __init__(self, train: int = 600, held_out: int = 200, seed: int = 1) -> None:
        """Choose the tasks.

        Args:
            train: how many to learn from; the first ones are the same whatever the count.
            held_out: how many to measure with; likewise.
            seed: another seed draws other tasks from the same words.
        """
        self._counts = {Split.TRAIN: train, Split.HELD_OUT: held_out}
        self._seed = seed

    @cached_property
    def _tasks(self) -> Mapping[Split, tuple[Task, ...]]:
        return {split: generate(split, count, self._seed) for split, count in self._counts.items()}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the tasks of both splits."""
        return digest(task for split in Split for task in self._tasks[split])

    def tasks(self, split: Split) -> tuple[Task, ...]:
        """The tasks of one split, families in turn."""
        return self._tasks[split]

    def verify(self, task: Task, before: States, after: States | None, answer: str | None) -> Verdict:
        """Reward 1 for the expected changes and no others, and the answer where one was asked for."""
        return verify(task, before, after, answer)

    def practice(self) -> AbstractAsyncContextManager[Practice]:
        """Private copies of the three systems, in this process."""
        return World()


SUITE = Orders()
