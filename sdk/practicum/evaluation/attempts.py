"""One attempt at a task through the gateway: begin, drive, look at what it left, judge, reward."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TypeVar

from practicum.agent import Agent, GatewayDoor, patiently
from practicum.client import AsyncPracticum
from practicum.contracts.episodes import (
    CallReceipt,
    Driver,
    Episode,
    EpisodeMode,
    EpisodeResult,
    InvokeRequest,
    TurnReceipt,
    TurnRequest,
)
from practicum.contracts.evaluation import AttemptResult, EvaluationPlan
from practicum.contracts.models import Sampling
from practicum.contracts.tasks import States, Task
from practicum.contracts.tools import CallStatus
from practicum.episode import EpisodeDoor
from practicum.episode.failures import Retries
from practicum.errors import (
    ConfigurationError,
    EpisodeError,
    ForbiddenError,
    GatewayUnavailableError,
    InDoubtError,
    NotFoundError,
    UpstreamError,
)
from practicum.tasks import Suite, score

T = TypeVar("T")

_LONGEST_REASON = 2_000
_MOST_EPISODES = 50


@dataclass(frozen=True, slots=True)
class Attempts:
    """Makes attempts of an evaluation; any number may be under way at once.

    Attributes:
        client: the gateway.
        suite: what judges.
        plan: the evaluation.
        retries: how requests are tried again.
    """

    client: AsyncPracticum
    suite: Suite
    plan: EvaluationPlan
    retries: Retries = field(default=Retries())

    async def make(self, task: Task, number: int, earlier: int = 0) -> AttemptResult:
        """Make an attempt, or go on with the one that an interrupted evaluation began.

        Args:
            task: what to try.
            number: which attempt at this task, from 0.
            earlier: how often it was made before without a reward; each time is an episode of its own.

        Raises:
            ConfigurationError: a call waits for an approval, which nobody is there to give.
            GatewayUnavailableError: the gateway is gone; the attempt can be gone on with.
            PracticumError: the gateway refuses what an evaluation needs.
        """
        for turn in range(earlier, earlier + _MOST_EPISODES):
            episode = await self._patiently(lambda turn=turn: self._started(task, number, turn))
            if not episode.status.ended:
                return await self._judged(task, number, await self._driven(task, episode))
            if (found := await self._taken_up(task, number, episode)) is not None:
                return found
            await self.release(episode.id)
        raise EpisodeError(
            f"Attempt {number} at {task.id} was ended from outside {_MOST_EPISODES} times.",
            mend=f"Episodes with the label evaluation={self.plan.id} say by what.",
        )

    async def release(self, episode: str) -> None:
        """Let others have an episode's practice systems, once nothing more is read from them."""
        with suppress(UpstreamError):  # what cannot be told ends by itself, and the attempt is over
            await self._patiently(lambda: self.client.episodes.release(episode))

    async def _driven(self, task: Task, episode: Episode) -> Episode:
        door = _Unattended(GatewayDoor(self.client))
        ended = await Agent(door, retries=self.retries).run(episode.id, self.plan.limits)
        if door.asked:
            raise ConfigurationError(
                f"A call of {task.id} asks for approval, and an evaluation has nobody who could give it.",
                mend="Give an access rule that allows the tool: `practicum rules show` lists those in force.",
            )
        return ended

    async def _taken_up(self, task: Task, number: int, episode: Episode) -> AttemptResult | None:
        """What came of an episode that had ended before; None if it was ended from outside or left nothing to see."""
        if episode.result is None or not episode.result.cause.by_policy:
            return None
        with suppress(NotFoundError):
            return await self._judged(task, number, episode)
        return None

    async def _started(self, task: Task, number: int, turn: int) -> Episode:
        plan = self.plan
        try:
            handle = await self.client.episodes.start(
                task.prompt,
                model=plan.model,
                tools=task.tools,
                limits=plan.limits,
                sampling=_sampling(plan, task, number),
                driver=Driver.CLIENT,
                mode=EpisodeMode.TRAINING,
                idempotency_key=_digest(plan.id, task.id, number, turn),
                metadata=labels_of(plan, task, number),
                start=task.start,
            )
        except InDoubtError as error:
            # The key makes it harmless to ask again.
            raise GatewayUnavailableError(error.detail) from error
        return await handle.get()

    async def _judged(self, task: Task, number: int, episode: Episode) -> AttemptResult:
        result = episode.result
        if result is None:
            raise EpisodeError(f"Episode {episode.id} ended without a result.")
        after = await self._patiently(lambda: self._states(episode.id)) if result.cause.by_policy else None
        verdict = score(self.suite, task, result, after)
        reason = "; ".join(verdict.differences)[:_LONGEST_REASON] or None
        source = f"suite:{self.suite.name}"
        await self._patiently(
            lambda: self.client.episodes.reward(episode.id, verdict.reward, source=source, reason=reason)
        )
        return AttemptResult(
            task=task.id,
            family=task.family,
            attempt=number,
            episode=episode.id,
            reward=verdict.reward,
            differences=verdict.differences,
            status=result.status,
            cause=result.cause,
            steps=result.steps,
            usage=result.usage,
            seconds=_seconds(episode),
        )

    async def _states(self, episode: str) -> States | None:
        """What the episode left; None when it can no longer be read."""
        try:
            return await self.client.episodes.states(episode)
        except (UpstreamError, EpisodeError):
            return None

    async def _patiently(self, send: Callable[[], Awaitable[T]]) -> T:
        return await patiently(lambda _: send(), self.retries)


def labels_of(plan: EvaluationPlan, task: Task, number: int) -> dict[str, str]:
    """The labels of an attempt's episode, by which its trajectory is found again."""
    return {
        "suite": plan.suite,
        "split": plan.split,
        "family": task.family,
        "task": task.id,
        "evaluation": plan.id,
        "attempt": str(number),
    }


class _Unattended:
    """A door that refuses to wait for people."""

    def __init__(self, door: EpisodeDoor) -> None:
        self.asked = False
        self._door = door

    async def take_turn(self, episode: str, request: TurnRequest) -> TurnReceipt:
        return await self._door.take_turn(episode, request)

    async def invoke(self, episode: str, request: InvokeRequest) -> CallReceipt:
        receipt = await self._door.invoke(episode, request)
        if receipt.status is CallStatus.WAITING:
            self.asked = True
            raise ForbiddenError("The call waits for an approval.")
        return receipt

    async def close(self, episode: str, result: EpisodeResult) -> Episode:
        return await self._door.close(episode, result)


def _sampling(plan: EvaluationPlan, task: Task, number: int) -> Sampling:
    """The plan's, with the attempt's own seed: 31 bits, which all servers take."""
    if plan.seed is None:
        return plan.sampling
    seed = int(_digest(plan.seed, task.id, number)[:8], 16) >> 1
    return plan.sampling.model_copy(update={"seed": seed})


def _digest(*parts: str | int) -> str:
    return sha256("\0".join(str(part) for part in parts).encode()).hexdigest()


def _seconds(episode: Episode) -> float:
    return 0.0 if episode.ended is None else (episode.ended - episode.created).total_seconds()
