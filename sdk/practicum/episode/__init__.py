"""One attempt at a task as a pure state machine: what next, given what happened.

Nothing here reads a clock, a file or the network. Every driver loops the same two functions, so that what is trained on
is what is served:

    while not isinstance(action := next_action(state), Finish):
        state = apply(state, ...)  # what came of doing the action

`practicum.agent` loops them in this process, `practicum_workflows` inside a Temporal workflow.
"""

from practicum.episode.actions import Action, AwaitApproval, Finish, Invoke, TakeTurn
from practicum.episode.door import EpisodeDoor
from practicum.episode.events import (
    ApprovalAnswered,
    CallReturned,
    CancelRequested,
    Event,
    Nudged,
    StepFailed,
    TimeAdvanced,
    TurnTaken,
)
from practicum.episode.machine import Refusal, apply, next_action, refusal
from practicum.episode.state import Ending, EpisodeState, StepCall

__all__ = [
    "Action",
    "ApprovalAnswered",
    "AwaitApproval",
    "CallReturned",
    "CancelRequested",
    "Ending",
    "EpisodeDoor",
    "EpisodeState",
    "Event",
    "Finish",
    "Invoke",
    "Nudged",
    "Refusal",
    "StepCall",
    "StepFailed",
    "TakeTurn",
    "TimeAdvanced",
    "TurnTaken",
    "apply",
    "next_action",
    "refusal",
]
