import asyncio

import pytest

from practicum.agent import Agent
from practicum.contracts.episodes import Cause, Episode, EpisodeResult, EpisodeStatus, Limits
from practicum.contracts.tools import CallStatus
from practicum.episode.failures import Retries
from practicum.errors import (
    GatewayUnavailableError,
    ModelProviderError,
    PracticumError,
    UnauthenticatedError,
)
from tests.sdk.episode.scripted import Scripted, ScriptedDoor, ScriptedTurn, approval_of, ended_episode

QUICK = Retries(attempts=3, first_wait=0.01, longest_wait=0.02)


def agent(door: ScriptedDoor) -> Agent:
    return Agent(door, recheck=0.01, retries=QUICK)


def ending(episode: Episode) -> tuple[EpisodeStatus, Cause]:
    assert episode.result is not None
    return episode.result.status, episode.result.cause


async def test_it_drives_an_episode_to_its_answer() -> None:
    door = ScriptedDoor([ScriptedTurn([Scripted(), Scripted(CallStatus.ERROR)]), ScriptedTurn()])
    episode = await agent(door).run("e1", Limits())
    assert ending(episode) == (EpisodeStatus.COMPLETED, Cause.POLICY)
    assert episode.result is not None
    assert episode.result.answer == "Done."
    assert episode.result.steps == 2
    assert door.asked("e1") == [
        ("turn", 0, -1),
        ("call", 0, 0),
        ("call", 0, 1),
        ("turn", 1, -1),
        ("close", -1, -1),
    ]


@pytest.mark.parametrize(("answer", "effects"), [(True, 1), (False, 0)])
async def test_it_waits_for_a_person(answer: bool, effects: int) -> None:
    door = ScriptedDoor([ScriptedTurn([Scripted(asks=True)]), ScriptedTurn()])
    running = asyncio.create_task(agent(door).run("e1", Limits(seconds=5)))
    await asyncio.sleep(0.1)
    assert not running.done()
    door.answers[approval_of("e1", 0, 0)] = answer
    assert ending(await running) == (EpisodeStatus.COMPLETED, Cause.POLICY)
    assert sum(door.effects.values()) == effects


async def test_waiting_for_a_person_costs_no_time() -> None:
    door = ScriptedDoor([ScriptedTurn([Scripted(asks=True)]), ScriptedTurn()])
    running = asyncio.create_task(agent(door).run("e1", Limits(seconds=0.3)))
    await asyncio.sleep(0.5)
    door.answers[approval_of("e1", 0, 0)] = True
    assert ending(await running)[0] is EpisodeStatus.COMPLETED


async def test_a_provider_that_recovers_is_tried_again() -> None:
    door = ScriptedDoor([ScriptedTurn(failures=[ModelProviderError("busy"), ModelProviderError("busy")])])
    assert ending(await agent(door).run("e1", Limits())) == (EpisodeStatus.COMPLETED, Cause.POLICY)
    assert door.attempts[0] == [1, 2, 3]


async def test_a_provider_that_never_answers_fails_the_episode() -> None:
    door = ScriptedDoor([ScriptedTurn(failures=[ModelProviderError("down")] * 9)])
    episode = await agent(door).run("e1", Limits())
    assert ending(episode) == (EpisodeStatus.FAILED, Cause.INFRASTRUCTURE)
    assert episode.result is not None
    assert episode.result.reason == "Model provider failed (model_provider)."
    assert door.attempts[0] == [1, 2, 3]


async def test_the_other_sides_wish_to_wait_is_kept() -> None:
    door = ScriptedDoor([ScriptedTurn(failures=[ModelProviderError("slow down", retry_after=0.3)])])
    began = asyncio.get_running_loop().time()
    await agent(door).run("e1", Limits())
    assert asyncio.get_running_loop().time() - began >= 0.3


async def test_an_error_without_hope_is_not_tried_again() -> None:
    door = ScriptedDoor([ScriptedTurn(failures=[UnauthenticatedError("no key")] * 9)])
    assert ending(await agent(door).run("e1", Limits())) == (EpisodeStatus.FAILED, Cause.INFRASTRUCTURE)
    assert door.attempts[0] == [1]


async def test_time_that_runs_out_over_a_turn_ends_it() -> None:
    door = ScriptedDoor([ScriptedTurn(seconds=30)])
    episode = await agent(door).run("e1", Limits(seconds=0.2))
    assert ending(episode) == (EpisodeStatus.EXHAUSTED, Cause.BUDGET)
    assert door.interrupted == ["e1"]
    assert door.asked("e1") == [("turn", 0, -1), ("close", -1, -1)]


async def test_a_failing_provider_is_named_even_when_time_runs_out_over_it() -> None:
    door = ScriptedDoor([ScriptedTurn(failures=[ModelProviderError("down", retry_after=10)] * 9)])
    assert ending(await agent(door).run("e1", Limits(seconds=0.2))) == (
        EpisodeStatus.FAILED,
        Cause.INFRASTRUCTURE,
    )


async def test_a_gateway_that_is_gone_leaves_the_episode_to_be_driven_again() -> None:
    door = ScriptedDoor(
        [
            ScriptedTurn([Scripted()]),
            ScriptedTurn([Scripted()], failures=[GatewayUnavailableError("no route")] * 3),
            ScriptedTurn(),
        ]
    )
    with pytest.raises(GatewayUnavailableError):
        await agent(door).run("e1", Limits())
    assert "e1" not in door.closed
    assert ending(await agent(door).run("e1", Limits())) == (EpisodeStatus.COMPLETED, Cause.POLICY)
    assert set(door.effects.values()) == {1}


async def test_a_cancel_closes_the_episode() -> None:
    door = ScriptedDoor([ScriptedTurn([Scripted(seconds=30)])])
    running = asyncio.create_task(agent(door).run("e1", Limits()))
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ending(door.closed["e1"]) == (EpisodeStatus.CANCELLED, Cause.PERSON)
    assert door.interrupted == ["e1"]


async def test_a_cancel_while_the_gateway_is_gone_does_not_hold_the_caller() -> None:
    gone: list[PracticumError] = [GatewayUnavailableError("no route")] * 9
    door = ScriptedDoor([ScriptedTurn(seconds=30)], unclosable=gone)
    running = asyncio.create_task(Agent(door).run("e1", Limits()))
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 1)


async def test_an_episode_that_someone_else_ended_keeps_that_end() -> None:
    door = ScriptedDoor([ScriptedTurn([Scripted()])])
    ended = ended_episode("e1", EpisodeResult(status=EpisodeStatus.CANCELLED, cause=Cause.PERSON))
    door.closed["e1"] = ended
    assert await agent(door).run("e1", Limits()) == ended
