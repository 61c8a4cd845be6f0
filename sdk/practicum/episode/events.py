"""What can happen to an episode."""

from dataclasses import dataclass

from practicum.contracts.episodes import ApprovalDecision, CallReceipt, Cause, TurnReceipt


@dataclass(frozen=True, slots=True)
class TurnTaken:
    """The model gave its turn."""

    receipt: TurnReceipt


@dataclass(frozen=True, slots=True)
class CallReturned:
    """The gateway answered a call: settled, or waiting for an approval.

    Attributes:
        receipt: the answer.
        heard: as the `Invoke` said, so that news which came meanwhile is told from older news.
    """

    receipt: CallReceipt
    heard: int


@dataclass(frozen=True, slots=True)
class ApprovalAnswered:
    """A person answered; whether yes or no, the gateway is asked again and has the last word."""

    decision: ApprovalDecision


@dataclass(frozen=True, slots=True)
class Nudged:
    """Something may have changed for a call that waits: look again."""


@dataclass(frozen=True, slots=True)
class StepFailed:
    """A turn or a call could not be had at all, and trying again has no hope; the episode ends.

    A call that a system refused is no such failure: it returns, and the model reads the refusal.
    """

    cause: Cause
    reason: str


@dataclass(frozen=True, slots=True)
class CancelRequested:
    """Someone asked for the end."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TimeAdvanced:
    """Wall seconds went by in work; never told while waiting for people."""

    seconds: float


Event = TurnTaken | CallReturned | ApprovalAnswered | Nudged | StepFailed | CancelRequested | TimeAdvanced
"""One thing that happened."""
