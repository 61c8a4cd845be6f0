"""Practice: private copies of the systems that can be put into any start state, for trainers and evaluations."""

from typing import Protocol, runtime_checkable

from practicum.contracts.base import JsonObject
from practicum.contracts.tasks import States
from practicum.contracts.tools import Observation, Tool


@runtime_checkable
class Practice(Protocol):
    """Copies of the systems that belong to one user at a time; nothing done here reaches a live system."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools of the systems, as the gateway offers them to a model: sorted by name."""
        ...

    async def load(self, start: States) -> None:
        """Put the systems into a start state; what was there before is gone, and so are the calls that were recorded.

        Args:
            start: what each system holds; one that is not named becomes empty.

        Raises:
            practicum.errors.PracticumError: a system does not take it.
        """
        ...

    async def state(self) -> States:
        """What the systems hold once all work under way has come to rest."""
        ...

    async def call(self, tool: str, arguments: JsonObject, key: str) -> Observation:
        """Call a tool, once per key.

        Args:
            tool: its exposed name.
            arguments: its arguments.
            key: a repeated key returns what was observed the first time since the last `load`.

        Returns:
            What a model is told: the system's answer, its refusal, or that the arguments do not fit.

        Raises:
            practicum.errors.NotFoundError: there is no such tool.
        """
        ...
