"""Where an episode stands: small, frozen, and the same after a trip through JSON.

It holds numbers and references only. The conversation is in the gateway's store, so the state of an episode of a
thousand turns is no larger than that of one of three.
"""

from typing import Self

from practicum.contracts.base import Value
from practicum.contracts.episodes import Cause, EpisodeStatus, Limits
from practicum.contracts.models import Usage
from practicum.contracts.tools import CallStatus


class StepCall(Value):
    """One call of the step at hand.

    Attributes:
        index: its place in the turn; calls are made in this order, one after the other.
        tool: exposed tool name, for display.
        status: what the gateway last said of it; None while it was not made.
        approval: the approval it waits for, or waited for.
        arguments_hash: what that approval is bound to.
        answered: whether an answer to that approval was heard and not acted on yet.
        heard: how much news the episode had heard when the call was last made.
    """

    index: int
    tool: str
    status: CallStatus | None = None
    approval: str | None = None
    arguments_hash: str | None = None
    answered: bool = False
    heard: int = 0

    @property
    def settled(self) -> bool:
        """Whether it has its final outcome and must not be made again."""
        return self.status is not None and self.status.settled


class Ending(Value):
    """That the episode is over, and why."""

    status: EpisodeStatus
    cause: Cause
    reason: str | None = None


class EpisodeState(Value):
    """All that a driver must carry from one moment of an episode to the next.

    Attributes:
        limits: what the episode may spend.
        turns: model turns taken; also the number of the next step.
        calls: the calls of the last turn until all of them are settled, then none.
        usage: tokens of the turns taken.
        seconds: wall seconds as the driver told them, waiting for people not counted.
        errors_in_a_row: consecutive turns whose every call failed.
        faulted: whether a turn among those failed through the systems alone.
        heard: answers and nudges that arrived, counted. A waiting call that was last made before the latest of them is
            made again; so news that arrives while the call is under way is not lost.
        ending: set once the episode is over.
    """

    limits: Limits
    turns: int = 0
    calls: tuple[StepCall, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    errors_in_a_row: int = 0
    faulted: bool = False
    heard: int = 0
    ending: Ending | None = None

    @classmethod
    def begin(cls, limits: Limits) -> Self:
        """An episode of which nothing has happened."""
        return cls(limits=limits)

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens of the turns taken."""
        return self.usage.prompt_tokens + self.usage.completion_tokens
