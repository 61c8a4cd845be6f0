"""A person is asked, and answers: early, late, wrongly, twice, or while nobody works."""

import asyncio
from datetime import timedelta

import pytest
from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.exceptions import ApplicationError

from practicum.contracts.episodes import ApprovalDecision, EpisodeStatus
from practicum.episode import EpisodeState, Refusal
from practicum.episode.durable import DECIDE, NUDGE
from practicum_workflows.payloads import Pace
from tests.sdk.episode.scripted import Scripted, ScriptedDoor, ScriptedTurn
from tests.workflows.staging import Handle, SetStage, Stage, episode_of, until, until_waiting


def asking(*, seconds: float = 0.0) -> ScriptedDoor:
    return ScriptedDoor([ScriptedTurn([Scripted(asks=True, seconds=seconds), Scripted()]), ScriptedTurn()])


def decision_on(state: EpisodeState, *, approved: bool = True) -> ApprovalDecision:
    call = next(call for call in state.calls if call.approval and not call.settled)
    assert call.approval
    assert call.arguments_hash
    return ApprovalDecision(approval=call.approval, approved=approved, arguments_hash=call.arguments_hash)


async def tell(handle: Handle, decision: ApprovalDecision) -> None:
    """Tell the workflow as the gateway does: the approval's id is the update's, and nobody waits for long."""
    await handle.execute_update(  # pyright: ignore[reportUnknownMemberType]  # an overload of temporalio's
        DECIDE, decision, id=decision.approval, rpc_timeout=timedelta(seconds=3)
    )


async def answer(here: Stage, handle: Handle, *, approved: bool = True) -> ApprovalDecision:
    """Answer as the gateway does: store it, then tell the workflow."""
    decision = decision_on(await until_waiting(handle), approved=approved)
    here.door.answers[decision.approval] = approved
    await tell(handle, decision)
    return decision


@pytest.mark.parametrize(("approved", "effects"), [(True, 2), (False, 1)])
async def test_an_answer_lets_the_episode_go_on(stage: SetStage, approved: bool, effects: int) -> None:
    here = stage(asking())
    async with here.worker():
        handle = await here.start()
        await answer(here, handle, approved=approved)
        result = await handle.result()
    assert result.status is EpisodeStatus.COMPLETED
    assert list(here.door.effects.values()) == [1] * effects
    assert here.door.asked(episode_of(handle)) == [
        ("turn", 0, -1),
        ("call", 0, 0),
        ("call", 0, 0),
        ("call", 0, 1),
        ("turn", 1, -1),
        ("close", -1, -1),
    ]


@pytest.mark.parametrize(
    ("change", "refused"),
    [({"arguments_hash": "sha-other"}, Refusal.STALE), ({"approval": "other"}, Refusal.UNKNOWN)],
)
async def test_an_answer_that_does_not_fit_is_refused_and_leaves_no_trace(
    stage: SetStage, change: dict[str, str], refused: Refusal
) -> None:
    here = stage(asking())
    async with here.worker():
        handle = await here.start()
        decision = decision_on(await until_waiting(handle)).model_copy(update=change)
        before = len((await handle.fetch_history()).events)
        with pytest.raises(WorkflowUpdateFailedError) as error:
            await tell(handle, decision)
        assert isinstance(error.value.cause, ApplicationError)
        assert error.value.cause.type == refused.value
        assert len((await handle.fetch_history()).events) == before
        await handle.terminate()


async def test_the_same_update_twice_is_one_answer_even_after_the_end(stage: SetStage) -> None:
    here = stage(asking())
    async with here.worker():
        handle = await here.start()
        decision = await answer(here, handle)
        await tell(handle, decision)
        await handle.result()
        await tell(handle, decision)
    assert list(here.door.effects.values()) == [1, 1]


async def test_an_answer_while_no_worker_runs_is_not_lost(stage: SetStage) -> None:
    here = stage(asking())
    async with here.worker():
        handle = await here.start()
        decision = decision_on(await until_waiting(handle))
    here.door.answers[decision.approval] = True
    with pytest.raises(WorkflowUpdateRPCTimeoutOrCancelledError):
        await tell(handle, decision)
    await handle.signal(NUDGE)
    async with here.worker():
        result = await handle.result()
    assert result.status is EpisodeStatus.COMPLETED
    assert list(here.door.effects.values()) == [1, 1]


async def test_an_answer_that_overtakes_the_calls_own_receipt_is_not_lost(stage: SetStage) -> None:
    here = stage(asking(seconds=1.0))
    async with here.worker():
        handle = await here.start()
        episode = episode_of(handle)
        await until(lambda: ("call", 0, 0) in here.door.asked(episode))
        # The gateway has asked the person, and the person is faster than the call's own way back.
        decision = ApprovalDecision(approval=f"{episode}-a0-0", approved=True, arguments_hash="sha-0-0")
        with pytest.raises(WorkflowUpdateFailedError):
            await tell(handle, decision)
        here.door.answers[decision.approval] = True
        await handle.signal(NUDGE)
        result = await asyncio.wait_for(handle.result(), 20)
    assert result.status is EpisodeStatus.COMPLETED
    assert list(here.door.effects.values()) == [1, 1]


async def test_an_approval_that_nobody_tells_of_is_noticed(stage: SetStage) -> None:
    here = stage(asking())
    async with here.worker():
        handle = await here.start(pace=Pace(recheck=0.5))
        decision = decision_on(await until_waiting(handle))
        here.door.answers[decision.approval] = False
        result = await asyncio.wait_for(handle.result(), 20)
    assert result.status is EpisodeStatus.COMPLETED
    assert list(here.door.effects.values()) == [1]


async def test_a_new_run_keeps_the_approval_that_is_waited_for(stage: SetStage) -> None:
    script = [ScriptedTurn([Scripted()]), ScriptedTurn([Scripted(), Scripted(asks=True)]), ScriptedTurn()]
    here = stage(ScriptedDoor(script))
    async with here.worker():
        handle = await here.start(pace=Pace(roll_after=10))
        first = (await handle.describe()).run_id
        state = await until_waiting(handle)
        assert state.turns == 2
        assert (await handle.describe()).run_id != first
        await answer(here, handle)
        result = await handle.result()
    assert (result.status, result.steps) == (EpisodeStatus.COMPLETED, 3)
    assert result.usage.completion_tokens == 30
    assert list(here.door.effects.values()) == [1, 1, 1]
    assert [entry for entry in here.door.asked(episode_of(handle)) if entry[0] != "call"] == [
        ("turn", 0, -1),
        ("turn", 1, -1),
        ("turn", 2, -1),
        ("close", -1, -1),
    ]
