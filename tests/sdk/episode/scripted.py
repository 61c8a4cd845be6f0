"""A gateway that keeps its contract with a driver and follows a script instead of a model."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from practicum.contracts.base import utc_now
from practicum.contracts.episodes import (
    CallReceipt,
    CallReference,
    Driver,
    Episode,
    EpisodeMode,
    EpisodeResult,
    EpisodeStatus,
    InvokeRequest,
    Limits,
    TurnReceipt,
    TurnRequest,
)
from practicum.contracts.models import Usage
from practicum.contracts.tools import CallStatus
from practicum.errors import EpisodeError, PracticumError


@dataclass
class Scripted:
    """One call of a script.

    Attributes:
        status: how it settles.
        asks: whether it waits for an approval first.
        seconds: how long it takes.
    """

    status: CallStatus = CallStatus.OK
    asks: bool = False
    seconds: float = 0.0


@dataclass
class ScriptedTurn:
    """One model turn of a script; without calls it is the final answer.

    Attributes:
        calls: what it asks for.
        tokens: completion tokens it costs.
        truncated: whether it was cut off.
        failures: errors raised, one an attempt, before the turn is given.
        seconds: how long the model thinks.
    """

    calls: Sequence[Scripted] = ()
    tokens: int = 10
    truncated: bool = False
    failures: Sequence[PracticumError] = ()
    seconds: float = 0.0


@dataclass
class ScriptedDoor:
    """The door of one scripted gateway; `log` is what drivers asked of it, in order.

    Attributes:
        turns: the script of every episode; the last turn is repeated for ever.
        answers: by approval id, what a person said.
        log: `(episode, what, step, call)`; the step is -1 for a close.
        effects: how often each call really took effect.
        attempts: the attempt numbers seen, by step.
        interrupted: requests whose caller went away.
        closed: episodes as they ended.
    """

    turns: Sequence[ScriptedTurn]
    answers: dict[str, bool] = field(default_factory=dict[str, bool])
    log: list[tuple[str, str, int, int]] = field(default_factory=list[tuple[str, str, int, int]])
    effects: Counter[tuple[str, int, int]] = field(default_factory=Counter[tuple[str, int, int]])
    attempts: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    interrupted: list[str] = field(default_factory=list[str])
    closed: dict[str, Episode] = field(default_factory=dict[str, Episode])
    unclosable: Sequence[PracticumError] = ()
    _settled: dict[tuple[str, int, int], CallReceipt] = field(default_factory=dict[tuple[str, int, int], CallReceipt])
    _taken: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])

    def turn(self, step: int) -> ScriptedTurn:
        return self.turns[min(step, len(self.turns) - 1)]

    async def take_turn(self, episode: str, request: TurnRequest) -> TurnReceipt:
        self._open(episode, "turn", request.step)
        turn = self.turn(request.step)
        attempts = self.attempts.setdefault(request.step, [])
        attempts.append(request.attempt)
        if (episode, request.step) not in self._taken:
            await self._work(episode, turn.seconds)
            if len(attempts) <= len(turn.failures):
                raise turn.failures[len(attempts) - 1]
            self._taken.add((episode, request.step))
        return TurnReceipt(
            step=request.step,
            calls=tuple(
                CallReference(index=index, tool=f"erp_{call.status}", malformed=False)
                for index, call in enumerate(turn.calls)
            ),
            usage=Usage(prompt_tokens=5, completion_tokens=turn.tokens),
            truncated=turn.truncated,
        )

    async def invoke(self, episode: str, request: InvokeRequest) -> CallReceipt:
        self._open(episode, "call", request.step, request.call)
        key = (episode, request.step, request.call)
        call = self.turn(request.step).calls[request.call]
        if key in self._settled:
            return self._settled[key]
        status = call.status
        approval = approval_of(*key) if call.asks else None
        digest = f"sha-{request.step}-{request.call}" if approval else None
        answer = self.answers.get(approval) if approval else True
        # Decided before the work: an answer that comes meanwhile is one that overtakes the receipt.
        await self._work(episode, call.seconds)
        if answer is None:
            return self._receipt(key, CallStatus.WAITING, approval, digest)
        if answer is False:
            status = CallStatus.DENIED
        if status is not CallStatus.DENIED:
            self.effects[key] += 1
        self._settled[key] = self._receipt(key, status, approval, digest)
        return self._settled[key]

    async def close(self, episode: str, result: EpisodeResult) -> Episode:
        self.log.append((episode, "close", -1, -1))
        closes = sum(entry[:2] == (episode, "close") for entry in self.log)
        if closes <= len(self.unclosable):
            raise self.unclosable[closes - 1]
        return self.closed.setdefault(episode, ended_episode(episode, result))

    def asked(self, episode: str) -> list[tuple[str, int, int]]:
        """What was asked for one episode, in order."""
        return [(what, step, call) for owner, what, step, call in self.log if owner == episode]

    def _open(self, episode: str, what: str, step: int, call: int = -1) -> None:
        self.log.append((episode, what, step, call))
        if episode in self.closed:
            raise EpisodeError(f"Episode {episode} has ended.")

    async def _work(self, episode: str, seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            self.interrupted.append(episode)
            raise

    @staticmethod
    def _receipt(
        key: tuple[str, int, int], status: CallStatus, approval: str | None, digest: str | None
    ) -> CallReceipt:
        return CallReceipt(step=key[1], call=key[2], status=status, approval=approval, arguments_hash=digest)


def approval_of(episode: str, step: int, call: int) -> str:
    """The id of the approval that a scripted call asks for."""
    return f"{episode}-a{step}-{call}"


def ended_episode(episode: str, result: EpisodeResult, metadata: Mapping[str, str] | None = None) -> Episode:
    """An episode as it is shown when it is over."""
    answer = "Done." if result.status is EpisodeStatus.COMPLETED else None
    return Episode(
        id=episode,
        task="Refund order 1042",
        model="scripted",
        tools=("erp.*",),
        limits=Limits(),
        driver=Driver.CLIENT,
        mode=EpisodeMode.LIVE,
        status=result.status,
        principal="tester",
        created=utc_now(),
        ended=utc_now(),
        result=result.model_copy(update={"answer": answer}),
        metadata=dict(metadata or {}),
    )
