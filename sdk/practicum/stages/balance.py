"""Which tasks are practised next: families whose outcome is open most often, none of them never. Pure."""

import random
from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from practicum.contracts.base import Value
from practicum.contracts.tasks import Task
from practicum.errors import ConfigurationError

_MEMORY = 0.7
"""How much of what was known of a family stays after it was tried again."""
_UNKNOWN = 0.5
"""Success taken for a family that was not tried yet: the most open there is."""


class BalanceState(Value):
    """What must be kept to go on after a stop.

    Attributes:
        success: of each family, as far as it was tried; the latest attempts count most.
        drawn: how many tasks of each family were drawn.
    """

    success: dict[str, float] = Field(default_factory=dict)
    drawn: dict[str, int] = Field(default_factory=dict)


class Balance:
    """Draws tasks for groups.

    A family's share grows with p(1-p) of its success: where every attempt ends alike there is nothing to learn. The
    floor keeps every family in: one that is left alone is forgotten without anybody noticing. Within a family each
    task is drawn once before any is drawn again.
    """

    def __init__(self, tasks: Iterable[Task], *, floor: float, seed: int, state: BalanceState | None = None) -> None:
        """Take the tasks.

        Args:
            tasks: what there is to practise.
            floor: share of the draws that is spread evenly over all families, from 0 to 1.
            seed: makes the draws repeatable.
            state: where an earlier run stopped.

        Raises:
            ConfigurationError: there are no tasks.
        """
        self._families: dict[str, list[Task]] = {}
        for task in tasks:
            self._families.setdefault(task.family, []).append(task)
        if not self._families:
            raise ConfigurationError("There are no tasks to practise.", mend="Choose another suite or other families.")
        self._floor = floor
        self._seed = seed
        self._success = dict(state.success if state else {})
        self._drawn = dict(state.drawn if state else {})

    @property
    def state(self) -> BalanceState:
        """What must be kept to go on after a stop."""
        return BalanceState(success=dict(self._success), drawn=dict(self._drawn))

    @property
    def shares(self) -> Mapping[str, float]:
        """How likely each family is to be drawn next; they add up to 1."""
        openness = {name: (p := self._success.get(name, _UNKNOWN)) * (1 - p) for name in self._families}
        total = sum(openness.values())
        even = 1 / len(openness)
        if not total:
            return dict.fromkeys(openness, even)
        return {name: self._floor * even + (1 - self._floor) * value / total for name, value in openness.items()}

    def draw(self, step: int, count: int) -> tuple[Task, ...]:
        """The tasks of a step, one for each group; the same step draws the same from the same state."""
        shares = self.shares
        draw = random.Random(f"{self._seed}:{step}")  # noqa: S311  repeatable, not secret
        chosen = draw.choices(list(shares), list(shares.values()), k=count)
        return tuple(self._next(family) for family in chosen)

    def learn(self, outcomes: Mapping[str, Sequence[float]]) -> None:
        """Take note of how attempts ended.

        Args:
            outcomes: rewards by family; attempts without a reward are left out.
        """
        for family, rewards in outcomes.items():
            if rewards:
                mean = min(1.0, max(0.0, sum(rewards) / len(rewards)))
                known = self._success.get(family, _UNKNOWN)
                self._success[family] = _MEMORY * known + (1 - _MEMORY) * mean

    def _next(self, family: str) -> Task:
        tasks = self._families[family]
        round_number, place = divmod(self._drawn.get(family, 0), len(tasks))
        self._drawn[family] = self._drawn.get(family, 0) + 1
        order = random.Random(f"{self._seed}:{family}:{round_number}")  # noqa: S311  repeatable, not secret
        return tasks[order.sample(range(len(tasks)), len(tasks))[place]]
