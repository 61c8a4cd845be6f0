"""Many episodes side by side: all that are due to speak are sampled in one batch, then all their calls are made.

Each episode is the pure machine that Temporal drives in production, rendered and read by the production codec, with
the production words for calls that cannot be made. What comes out is a `Trajectory` like any other, with the token ids
as they were drawn, so that what a trainer learns from is what an export would hold.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from practicum.contracts.base import utc_now
from practicum.contracts.episodes import Limits
from practicum.contracts.tasks import States, Task, Verdict
from practicum.contracts.trajectory import Trajectory
from practicum.episode import Invoke, TakeTurn
from practicum.errors import ConfigurationError
from practicum.stages.attempt import Attempt
from practicum.stages.practices import Lost, Practices, SeatCall
from practicum.stages.sampler import Sampler
from practicum.tasks import Suite, score


@dataclass(frozen=True, slots=True)
class Played:
    """One ended attempt at a task.

    Attributes:
        task: what was asked.
        trajectory: the record, verdict included.
        verdict: what the suite found; its reward is None where the policy could not have caused the ending.
    """

    task: Task
    trajectory: Trajectory
    verdict: Verdict


def play(
    suite: Suite, tasks: Sequence[Task], sampler: Sampler, practices: Practices, *, limits: Limits, system: str | None
) -> tuple[Played, ...]:
    """Attempt tasks, each in systems of its own, as many at once as there are seats.

    Args:
        suite: what they belong to, and what judges them.
        tasks: what to attempt; one that stands there several times is attempted as often.
        sampler: the policy.
        practices: the systems.
        limits: what each episode may spend.
        system: system message; None for the gateway's own.

    Returns:
        What came of them, in the order of `tasks`.

    Raises:
        ConfigurationError: a limit cannot be held here.
    """
    if limits.seconds is not None:
        raise ConfigurationError(
            "Episodes side by side have no clock of their own.", mend="Bound them by steps and tokens, not by seconds."
        )
    played: list[Played] = []
    for begin in range(0, len(tasks), practices.seats):
        attempts = [
            Attempt(task, f"{sampler.version}.{begin + seat}", sampler, practices.tools, limits=limits, system=system)
            for seat, task in enumerate(tasks[begin : begin + practices.seats])
        ]
        played += _together(suite, attempts, sampler, practices)
    return tuple(played)


def _together(suite: Suite, attempts: list[Attempt], sampler: Sampler, practices: Practices) -> list[Played]:
    for seat, loaded in practices.load({seat: attempt.task.start for seat, attempt in enumerate(attempts)}).items():
        if isinstance(loaded, Lost):
            attempts[seat].lose(loaded)
    while speaking := [attempt for attempt in attempts if isinstance(attempt.due, TakeTurn)]:
        _speak(speaking, sampler)
        _call(attempts, practices)
    reached = [seat for seat, attempt in enumerate(attempts) if not attempt.lost]
    after: dict[int, States | Lost] = dict(practices.states(reached))
    return [_judged(suite, attempt, after.get(seat)) for seat, attempt in enumerate(attempts)]


def _speak(attempts: list[Attempt], sampler: Sampler) -> None:
    """Sample the turn of every episode that has one to take and room for it."""
    able = [attempt for attempt in attempts if attempt.has_room()]
    if not able:
        return
    began, started = utc_now(), time.perf_counter()
    drawn = sampler.sample([attempt.prompt for attempt in able])
    seconds = (time.perf_counter() - started) / len(able)
    for attempt, turn in zip(able, drawn, strict=True):
        attempt.take(turn, began, seconds)


def _call(attempts: list[Attempt], practices: Practices) -> None:
    """Make the calls of the turns just taken, one of each episode at a time, in the model's order."""
    while calling := {seat: due for seat, one in enumerate(attempts) if isinstance(due := one.due, Invoke)}:
        wanted: dict[int, SeatCall] = {}
        for seat, due in calling.items():
            call = attempts[seat].wish(due)
            if isinstance(call, SeatCall):
                wanted[seat] = call
            else:
                attempts[seat].hear(due, call)
        for seat, observed in practices.call(wanted).items():
            attempts[seat].hear(calling[seat], observed)


def _judged(suite: Suite, attempt: Attempt, after: States | Lost | None) -> Played:
    result = attempt.result()
    verdict = score(suite, attempt.task, result, None if isinstance(after, Lost) else after)
    return Played(attempt.task, attempt.trajectory(result, verdict), verdict)
