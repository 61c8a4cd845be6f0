"""Performs reference solutions in a world: the proof that a task can be solved, and how far its verifier sees."""

from dataclasses import dataclass

from examples.systems.world import World
from practicum.contracts.tasks import States, Task, Verdict
from practicum.contracts.tools import Observation
from practicum.tasks import verify


@dataclass(frozen=True)
class Run:
    """What a reference solution did.

    Attributes:
        observations: what a model would be told, call by call.
        before: the systems' states at the start.
        after: their states at the end.
        verdict: what the verifier found.
    """

    observations: tuple[Observation, ...]
    before: States
    after: States
    verdict: Verdict


async def run_reference(world: World, task: Task) -> Run:
    """Load the task's start state, make its reference calls and judge the outcome with its conclusion."""
    await world.load(task.start)
    before = await world.state()
    observations = tuple([await world.call(call.tool, call.arguments) for call in task.reference])
    after = await world.state()
    return Run(observations, before, after, verify(task, before, after, task.conclusion))
