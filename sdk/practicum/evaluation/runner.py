"""Runs an evaluation through the gateway: every task, k attempts each, resumable at any moment.

async with AsyncPracticum() as client:
    report = await evaluate(client, load_suite("examples.tasks:SUITE"), model="local", folder=Path("zero-shot"), k=2)
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from practicum.client import AsyncPracticum
from practicum.client.call import build
from practicum.contracts.base import utc_now
from practicum.contracts.episodes import Limits
from practicum.contracts.evaluation import AttemptResult, EvaluationPlan, EvaluationReport
from practicum.contracts.models import Sampling
from practicum.contracts.tasks import Split, Task
from practicum.episode.failures import Retries
from practicum.errors import ConflictError, EpisodeError, PracticumError, RequestError
from practicum.evaluation.attempts import Attempts
from practicum.evaluation.log import EvaluationLog
from practicum.evaluation.summary import summarise
from practicum.tasks import Suite

UNSCORED_IN_A_ROW = 8
"""So many attempts without a reward, one after the other, mean that something is broken, not that one had bad luck."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an evaluation is.

    Attributes:
        attempt: what came of the latest attempt.
        done: attempts that are over.
        total: attempts in all.
    """

    attempt: AttemptResult
    done: int
    total: int


async def evaluate(
    client: AsyncPracticum,
    suite: Suite,
    *,
    model: str,
    folder: Path,
    split: Split = Split.HELD_OUT,
    k: int = 1,
    limit: int | None = None,
    limits: Limits | None = None,
    sampling: Sampling | None = None,
    seed: int | None = None,
    concurrency: int = 4,
    retries: Retries | None = None,
    on_attempt: Callable[[Progress], None] | None = None,
) -> EvaluationReport:
    """Evaluate a model on the tasks of a suite.

    Each attempt is a training episode from the task's start state, on practice systems. What is over is kept in the
    folder; asked for again with the same folder, an evaluation goes on where it stopped, repeats no side effect, and
    tries those attempts anew that could not be scored.

    Args:
        client: the gateway.
        suite: the tasks and what judges them.
        model: alias of the model.
        folder: where plan, attempts and report are kept; made when missing.
        split: which tasks.
        k: attempts at each task.
        limit: how many of the tasks, from the first; None for all.
        limits: what an episode may spend; the product's defaults when None.
        sampling: overrides of the model's defaults.
        seed: from it each attempt gets a seed of its own, the same whatever the model; None sends none, since not
            every provider takes one.
        concurrency: attempts under way at once.
        retries: how requests are tried again.
        on_attempt: told after each attempt.

    Returns:
        The report, which is in the folder too.

    Raises:
        RequestError: a number makes no sense, or the split has no tasks.
        NotFoundError: there is no such model, or the gateway has no practice systems for an episode.
        ConflictError: the folder holds another evaluation, another process is at work in it, or another model came
            behind the alias meanwhile.
        ConfigurationError: the folder cannot be used, or a call asks for approval.
        EpisodeError: one attempt after the other could not be scored.
        GatewayUnavailableError: the gateway is gone.
    """
    if concurrency < 1:
        raise RequestError("An evaluation needs a concurrency of at least 1.")
    version = (await client.models.get(model)).version
    wish = build(
        EvaluationPlan,
        "evaluation",
        id=uuid4().hex,
        suite=suite.name,
        suite_digest=suite.digest,
        split=split,
        limit=limit,
        model=model,
        version=version,
        k=k,
        limits=limits or Limits(),
        sampling=sampling or Sampling(),
        seed=seed,
        created=utc_now(),
    )
    tasks = suite.tasks(split)[:limit]
    if not tasks:
        raise RequestError(f"{suite.name} has no tasks of the split '{split}'.")
    with EvaluationLog.open(folder, wish) as log:
        run = _Run(Attempts(client, suite, log.plan, retries or Retries()), log, tasks, on_attempt)
        await run.finish(concurrency)
        now = (await client.models.get(model)).version
        if now != version:
            raise ConflictError(
                f"Behind '{model}' answered {version} when the evaluation began, and now {now}.",
                mend="Evaluate again in another folder, and leave the alias alone meanwhile.",
            )
        report = summarise(log.plan, tasks, log.attempts.values())
        log.finish(report)
        return report


class _Run:
    """The attempts that are still to be made."""

    def __init__(
        self,
        attempts: Attempts,
        log: EvaluationLog,
        tasks: Sequence[Task],
        on_attempt: Callable[[Progress], None] | None,
    ) -> None:
        self._attempts = attempts
        self._log = log
        self._on_attempt = on_attempt
        wanted = [(task, number) for number in range(log.plan.k) for task in tasks]
        self._due = [(task, number) for task, number in wanted if self._open(task, number)]
        self._total, self._done = len(wanted), len(wanted) - len(self._due)
        self._unscored = 0

    def _open(self, task: Task, number: int) -> bool:
        known = self._log.attempts.get((task.id, number))
        return known is None or known.reward is None

    async def finish(self, concurrency: int) -> None:
        """Make them.

        Raises:
            PracticumError: the first error that stopped one of them; the others are stopped too.
        """
        due = iter(self._due)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(concurrency, len(self._due))):
                    group.create_task(self._work(due))
        except ExceptionGroup as errors:
            first = next((error for error in errors.exceptions if isinstance(error, PracticumError)), None)
            if first is None:
                raise
            raise first from errors

    async def _work(self, due: Iterator[tuple[Task, int]]) -> None:
        for task, number in due:
            attempt = await self._attempts.make(task, number, self._log.made[task.id, number])
            self._log.append(attempt)
            await self._attempts.release(attempt.episode)
            self._done += 1
            if self._on_attempt is not None:
                self._on_attempt(Progress(attempt, self._done, self._total))
            self._watch(attempt)

    def _watch(self, attempt: AttemptResult) -> None:
        self._unscored = self._unscored + 1 if attempt.reward is None else 0
        if self._unscored >= UNSCORED_IN_A_ROW:
            raise EpisodeError(
                f"{self._unscored} attempts in a row could not be scored; the last: {'; '.join(attempt.differences)}.",
                mend=f"See `practicum episodes show {attempt.episode}`. Asked for again, the evaluation goes on.",
            )
