"""What a driver is told to do next."""

from dataclasses import dataclass

from practicum.contracts.episodes import EpisodeResult
from practicum.episode.state import StepCall


@dataclass(frozen=True, slots=True)
class TakeTurn:
    """Ask the gateway for the model's turn; answered by `TurnTaken` or `StepFailed`.

    Attributes:
        step: the step whose turn it is.
        within: seconds left of the episode's budget. A driver gives up after them and tells the machine the time.
    """

    step: int
    within: float | None = None


@dataclass(frozen=True, slots=True)
class Invoke:
    """Make one call; answered by `CallReturned` or `StepFailed`.

    The machine names the calls of a turn in the model's order and the next only when the one before is settled: a
    model that refunds and then writes "refunded" must not be read the other way round. Time does not cut a call short.

    Attributes:
        step: the step of the call.
        call: its index within the turn.
        tool: exposed tool name, for display.
        heard: to be given back in `CallReturned`.
    """

    step: int
    call: int
    tool: str
    heard: int


@dataclass(frozen=True, slots=True)
class AwaitApproval:
    """Wait for a person: until `ApprovalAnswered` or `Nudged`, the time not counted.

    Attributes:
        step: the step of the call that waits.
        call: the call, with its approval and what that is bound to.
    """

    step: int
    call: StepCall


@dataclass(frozen=True, slots=True)
class Finish:
    """Close the episode with this result; nothing comes after it."""

    result: EpisodeResult


Action = TakeTurn | Invoke | AwaitApproval | Finish
"""Exactly one of these is due at any moment."""
