"""An evaluation in this process: a policy over a suite, without a gateway.

It tells while training is under way what `practicum eval` tells of a served model: the same machine, the same words,
the same verdicts and the same estimators, but a decoding that nothing holds to a grammar. What is promoted is measured
as it is served.
"""

import secrets

from practicum.contracts.base import utc_now
from practicum.contracts.episodes import EpisodeResult, Limits
from practicum.contracts.evaluation import AttemptResult, EvaluationPlan, EvaluationReport
from practicum.contracts.models import Sampling
from practicum.contracts.tasks import Split
from practicum.errors import EpisodeError
from practicum.evaluation import summarise
from practicum.stages.attempt import POLICY
from practicum.stages.lockstep import Played, play
from practicum.stages.practices import Practices
from practicum.stages.sampler import Sampler
from practicum.tasks import Suite


def measure(
    suite: Suite,
    sampler: Sampler,
    *,
    limits: Limits,
    system: str | None,
    split: Split = Split.HELD_OUT,
    k: int = 1,
    limit: int | None = None,
    seats: int = 32,
) -> EvaluationReport:
    """Attempt a suite's tasks and count.

    Args:
        suite: what to attempt.
        sampler: the policy; with a temperature of 0 more than one attempt at a task says nothing new.
        limits: what an attempt may spend.
        system: system message; None for the gateway's own.
        split: which tasks.
        k: attempts at each task.
        limit: only so many tasks, from the first; None for all.
        seats: attempts that go on at once.

    Raises:
        UpstreamError: the practice systems cannot be opened.
    """
    tasks = suite.tasks(split)[:limit]
    plan = EvaluationPlan(
        id=f"ev_{secrets.token_hex(8)}",
        suite=suite.name,
        suite_digest=suite.digest,
        split=split,
        limit=limit,
        model=POLICY,
        version=sampler.version,
        k=k,
        limits=limits,
        sampling=Sampling(temperature=sampler.temperature, top_p=1.0),
        created=utc_now(),
    )
    with Practices(suite, min(seats, len(tasks) * k)) as practices:
        played = play(
            suite, [task for task in tasks for _ in range(k)], sampler, practices, limits=limits, system=system
        )
    return summarise(plan, tasks, [_attempt(one, number % k) for number, one in enumerate(played)])


def _attempt(played: Played, number: int) -> AttemptResult:
    record, result = played.trajectory, _result(played)
    return AttemptResult(
        task=played.task.id,
        family=played.task.family,
        attempt=number,
        episode=record.episode,
        reward=played.verdict.reward,
        differences=played.verdict.differences,
        status=result.status,
        cause=result.cause,
        steps=result.steps,
        usage=result.usage,
        seconds=sum(call.seconds for call in record.model_calls),
    )


def _result(played: Played) -> EpisodeResult:
    if played.trajectory.result is None:
        raise EpisodeError(f"Episode {played.trajectory.episode} ended without a result.")
    return played.trajectory.result
