"""How a training run tells what it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Progress:
    """One finished step.

    Attributes:
        stage: `sft` or `grpo`.
        step: its number, from 1.
        steps: how many there will be.
        seconds: wall seconds spent so far, those before an interruption included.
        figures: what was measured, by name: `loss`, `reward`, `success/FAMILY` and others.
    """

    stage: str
    step: int
    steps: int
    seconds: float
    figures: Mapping[str, float] = field(default_factory=dict[str, float])


Listener: TypeAlias = Callable[[Progress], None]
"""Is told of every step in the thread that trains; what it raises ends the run, which can be resumed."""


def silent(_: Progress) -> None:
    """The listener of whoever does not want to know."""
