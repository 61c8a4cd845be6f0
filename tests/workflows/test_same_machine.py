"""An episode goes the same way whoever drives it."""

import asyncio
from itertools import groupby
from random import Random

from practicum.agent import Agent
from practicum.contracts.episodes import EpisodeResult, Limits
from practicum.contracts.tools import CallStatus
from practicum.episode.failures import Retries
from practicum.errors import ModelProviderError, NotFoundError, PracticumError
from practicum_workflows.payloads import Pace
from tests.sdk.episode.scripted import Scripted, ScriptedDoor, ScriptedTurn, approval_of
from tests.workflows.staging import SetStage, episode_of

SETTLED = [CallStatus.OK] * 4 + [status for status in CallStatus if status.settled]
ATTEMPTS = 2


def script(draw: Random) -> list[ScriptedTurn]:
    """Turns of all kinds, mostly harmless."""

    def failures() -> list[PracticumError]:
        kind = draw.random()
        if kind < 0.05:
            return [NotFoundError("gone")]
        return [ModelProviderError("busy", retry_after=0.01)] * (draw.randint(1, ATTEMPTS) if kind < 0.2 else 0)

    def calls() -> list[Scripted]:
        return [Scripted(draw.choice(SETTLED), asks=draw.random() < 0.2) for _ in range(draw.randint(1, 3))]

    turns = [ScriptedTurn(calls(), tokens=draw.randint(1, 50), failures=failures()) for _ in range(draw.randint(0, 5))]
    return [*turns, ScriptedTurn(truncated=draw.random() < 0.2)]


def limits(draw: Random) -> Limits:
    return Limits(
        steps=draw.randint(1, 6),
        errors_in_a_row=draw.randint(1, 3),
        tokens=draw.choice([None, draw.randint(10, 200)]),
    )


def way(door: ScriptedDoor, episode: str) -> list[tuple[str, int, int]]:
    """What was asked, a repeated look at the same call counted once: how often a driver looks is its own."""
    return [entry for entry, _ in groupby(door.asked(episode))]


def answers(episode: str, seed: int) -> dict[str, bool]:
    draw = Random(seed)  # noqa: S311  # no secret
    return {approval_of(episode, step, call): draw.random() < 0.7 for step in range(6) for call in range(3)}


def heart(result: EpisodeResult | None) -> EpisodeResult | None:
    return None if result is None else result.model_copy(update={"answer": None})


async def test_in_process_and_through_temporal_it_is_the_same_episode(stage: SetStage) -> None:
    async def one(seed: int) -> None:
        draw = Random(seed)  # noqa: S311  # no secret
        turns, bounds = script(draw), limits(draw)

        here = ScriptedDoor(turns)
        agent = Agent(here, recheck=0.2, retries=Retries(attempts=ATTEMPTS, first_wait=0.01))
        driven = asyncio.create_task(agent.run("e", bounds))
        there = stage(ScriptedDoor(turns)).with_attempts(ATTEMPTS)
        async with there.worker():
            handle = await there.start(limits=bounds, pace=Pace(recheck=0.5))
            # Answered late, so that both have to wait for it.
            await asyncio.sleep(0.3)
            episode = episode_of(handle)
            here.answers.update(answers("e", seed))
            there.door.answers.update(answers(episode, seed))
            result = await handle.result()

        closed = (await driven).result
        assert way(there.door, episode) == way(here, "e"), f"seed {seed}"
        assert heart(there.door.closed[episode].result) == heart(closed), f"seed {seed}"
        assert closed is not None
        assert (result.status, result.cause, result.steps) == (closed.status, closed.cause, closed.steps)

    for first in range(0, 16, 8):
        await asyncio.gather(*(one(seed) for seed in range(first, first + 8)))
