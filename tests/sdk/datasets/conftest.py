"""Trajectories of a suite's tasks."""

from typing import Any, Protocol

import pytest

from practicum.contracts.trajectory import Reward, Trajectory
from tests.sdk.trajectories.conftest import Recorded
from tests.sdk.trajectories.conftest import recorded as recorded  # noqa: PLC0414  # a fixture of theirs, used here too


class Solved(Protocol):
    def __call__(
        self, number: int, reward: float | None = 1.0, /, *, split: str = "train", **more: Any
    ) -> Trajectory: ...


@pytest.fixture
def solved(recorded: Recorded) -> Solved:
    """Makes the episode `epN` of task `tN` with this reward."""

    def make(number: int, reward: float | None = 1.0, /, *, split: str = "train", **more: Any) -> Trajectory:
        labels = {
            "suite": "orders",
            "split": split,
            "family": "refund" if number % 2 else "cancel",
            "task": f"t{number}",
            "evaluation": "e1",
        }
        fields = {
            "episode": f"ep{number}",
            "metadata": labels,
            "rewards": (Reward(reward=reward, source="suite:orders"),),
        }
        return recorded(**{**fields, **more})

    return make
