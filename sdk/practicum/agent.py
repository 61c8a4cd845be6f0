"""Drives an episode in this process, by the same machine that Temporal drives.

    handle = await client.episodes.start("Refund order 1042", model="local", tools="crm.*", driver=Driver.CLIENT)
    episode = await drive(client, handle.id)

Nothing is lost with the process: the gateway holds the conversation and the outcome of every call, so that driving the
same episode again repeats nothing and goes on where it stopped.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from practicum.client import AsyncPracticum
from practicum.contracts.episodes import (
    CallReceipt,
    Episode,
    EpisodeResult,
    InvokeRequest,
    Limits,
    TurnReceipt,
    TurnRequest,
)
from practicum.episode import (
    AwaitApproval,
    CallReturned,
    CancelRequested,
    EpisodeDoor,
    EpisodeState,
    Event,
    Finish,
    Invoke,
    Nudged,
    StepFailed,
    TakeTurn,
    TimeAdvanced,
    TurnTaken,
    apply,
    next_action,
)
from practicum.episode.failures import Patience, Retries, judge
from practicum.errors import PracticumError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GatewayDoor:
    """The door of a real gateway.

    Attributes:
        client: asks it; it sends every request once, so that retries have one owner.
    """

    client: AsyncPracticum

    async def take_turn(self, episode: str, request: TurnRequest) -> TurnReceipt:
        """Have the model take the turn of a step."""
        return await self.client.episodes.take_turn(episode, request)

    async def invoke(self, episode: str, request: InvokeRequest) -> CallReceipt:
        """Have one call of an accepted turn made."""
        return await self.client.episodes.invoke(episode, request)

    async def close(self, episode: str, result: EpisodeResult) -> Episode:
        """End the episode."""
        return await self.client.episodes.close(episode, result)


@dataclass(frozen=True, slots=True)
class Agent:
    """Drives episodes through a door, one `run` each; any number may run at once.

    Attributes:
        door: the gateway.
        recheck: seconds between two looks at a call that waits for an approval.
        retries: how requests are tried again. Where Temporal drives, it owns the retries; here the agent does.
    """

    door: EpisodeDoor
    recheck: float = 1.0
    retries: Retries = field(default=Retries())

    async def run(self, episode: str, limits: Limits) -> Episode:
        """Drive an episode to its end and close it; cancelled from outside, it is closed as cancelled.

        Args:
            episode: the episode's id; it was started with `driver=Driver.CLIENT`.
            limits: what it may spend.

        Returns:
            The episode as it ended. A failure is a result with a cause, not an exception.

        Raises:
            practicum.errors.GatewayUnavailableError: the gateway is gone; the episode stands where it stood.
            practicum.errors.PracticumError: the gateway does not let this caller close the episode.
        """
        state = EpisodeState.begin(limits)
        try:
            while not isinstance(action := next_action(state), Finish):
                for event in await self._do(episode, action):
                    state = apply(state, event)
            return await self._close(episode, action.result)
        except asyncio.CancelledError:
            ended = next_action(apply(state, CancelRequested()))
            if isinstance(ended, Finish):
                # Whoever cancels wants to go: one try, and what it cannot close can be driven again.
                with suppress(PracticumError):
                    await self.door.close(episode, ended.result)
            raise

    async def _do(self, episode: str, action: TakeTurn | Invoke | AwaitApproval) -> tuple[Event, ...]:
        """What came of an action."""
        started = asyncio.get_running_loop().time()
        match action:
            case AwaitApproval():
                await asyncio.sleep(self.recheck)
                return (Nudged(),)
            case TakeTurn(step, within):
                event = await self._turn(episode, step, within)
                least = within if event is None else None
            case Invoke():
                event, least = await self._invoke(episode, action), None
        # A turn that ran out of time took all there was, whatever the clock's grain says.
        spent = TimeAdvanced(max(asyncio.get_running_loop().time() - started, least or 0.0))
        return (spent,) if event is None else (event, spent)

    async def _turn(self, episode: str, step: int, within: float | None) -> Event | None:
        """The turn or its failure; None when the episode's time ran out over it."""
        try:
            return TurnTaken(
                await patiently(
                    lambda attempt: self.door.take_turn(episode, TurnRequest(step=step, attempt=attempt)),
                    self.retries,
                    within=within,
                )
            )
        except TimeoutError:
            return None
        except PracticumError as error:
            return _failed(error)

    async def _invoke(self, episode: str, action: Invoke) -> Event:
        request = InvokeRequest(step=action.step, call=action.call)
        try:
            receipt = await patiently(lambda _: self.door.invoke(episode, request), self.retries)
        except PracticumError as error:
            return _failed(error)
        return CallReturned(receipt, action.heard)

    async def _close(self, episode: str, result: EpisodeResult) -> Episode:
        return await patiently(lambda _: self.door.close(episode, result), self.retries)


async def patiently(send: Callable[[int], Awaitable[T]], retries: Retries, *, within: float | None = None) -> T:
    """The answer to a request that is safe to repeat, tried again while there is hope.

    Args:
        send: sends it; takes the number of the attempt, from 1.
        retries: how often and when.
        within: seconds for all attempts together.

    Raises:
        TimeoutError: the time ran out while a request was under way.
        PracticumError: the last attempt's error.
    """
    clock = asyncio.get_running_loop().time
    deadline = None if within is None else clock() + within
    attempt = 1
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                return await send(attempt)
        except PracticumError as error:
            failure = judge(error)
            wait = retries.wait(attempt, failure.retry_after)
            late = deadline is not None and clock() + wait >= deadline
            if failure.patience is Patience.NONE or attempt >= retries.attempts or late:
                raise
        await asyncio.sleep(wait)
        attempt += 1


async def drive(client: AsyncPracticum, episode: str, limits: Limits | None = None) -> Episode:
    """Drive an episode to its end; see `Agent.run`.

    Args:
        client: the gateway.
        episode: the episode's id; it was started with `driver=Driver.CLIENT`.
        limits: what it may spend; None for what it was started with.

    Raises:
        practicum.errors.NotFoundError: there is no such episode.
    """
    started = await client.episodes.get(episode)
    if started.status.ended:
        return started
    return await Agent(GatewayDoor(client)).run(episode, limits or started.limits)


def _failed(error: PracticumError) -> StepFailed:
    """The event that a hopeless error is.

    Raises:
        PracticumError: the gateway is gone, and with it the place where the episode could be closed.
    """
    failure = judge(error)
    if failure.patience is Patience.LONG:
        raise error
    return StepFailed(failure.cause, failure.reason)
