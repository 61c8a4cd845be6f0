"""Whenever a cancel comes: the episode is closed as cancelled, and what runs is stopped."""

import asyncio
from random import Random

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError

from practicum.contracts.episodes import EpisodeStatus
from tests.sdk.episode.scripted import Scripted, ScriptedDoor, ScriptedTurn
from tests.workflows.staging import Handle, SetStage, Stage, episode_of, until, until_waiting


async def cancelled(here: Stage, handle: Handle) -> None:
    """Cancel, and see it through to both ends."""
    await handle.cancel()
    with pytest.raises(WorkflowFailureError):
        await handle.result()
    assert (await handle.describe()).status is WorkflowExecutionStatus.CANCELED
    assert here.door.closed[episode_of(handle)].status is EpisodeStatus.CANCELLED


@pytest.mark.parametrize(
    "script",
    [[ScriptedTurn(seconds=60)], [ScriptedTurn([Scripted(seconds=60)])]],
    ids=["a slow model", "a slow call"],
)
async def test_a_cancel_reaches_the_request_that_runs(stage: SetStage, script: list[ScriptedTurn]) -> None:
    here = stage(ScriptedDoor(script))
    async with here.worker():
        handle = await here.start()
        what = "call" if script[0].calls else "turn"
        await until(lambda: any(entry[0] == what for entry in here.door.asked(episode_of(handle))))
        await cancelled(here, handle)
        await until(lambda: here.door.interrupted == [episode_of(handle)], seconds=20)


async def test_a_cancel_ends_the_wait_for_a_person(stage: SetStage) -> None:
    here = stage(ScriptedDoor([ScriptedTurn([Scripted(asks=True)])]))
    async with here.worker():
        handle = await here.start()
        await until_waiting(handle)
        await cancelled(here, handle)


async def test_a_cancel_before_any_work_closes_the_episode_too(stage: SetStage) -> None:
    here = stage(ScriptedDoor([ScriptedTurn()]))
    handle = await here.start()
    await handle.cancel()
    async with here.worker():
        with pytest.raises(WorkflowFailureError):
            await handle.result()
    assert here.door.closed[episode_of(handle)].status is EpisodeStatus.CANCELLED


async def test_cancels_at_any_moment_leave_no_episode_open(stage: SetStage) -> None:
    here = stage(ScriptedDoor([ScriptedTurn([Scripted(), Scripted()])] * 3 + [ScriptedTurn()]))
    moments = Random(7)  # noqa: S311  # a draw of moments, not of secrets

    async def one() -> None:
        handle = await here.start()
        await asyncio.sleep(moments.uniform(0, 2))
        try:
            await handle.cancel()
            await handle.result()
        except WorkflowFailureError:
            pass
        assert here.door.closed[episode_of(handle)].status in (EpisodeStatus.CANCELLED, EpisodeStatus.COMPLETED)

    async with here.worker():
        await asyncio.gather(*(one() for _ in range(20)))
    assert len(here.door.closed) == 20
    assert set(here.door.effects.values()) == {1}
