"""An episode on a real Temporal server, through a real worker and real HTTP."""

from practicum.contracts.episodes import Cause, EpisodeResult, EpisodeStatus, Limits, TurnReceipt, TurnRequest
from practicum.contracts.tools import CallStatus
from practicum.errors import GatewayUnavailableError, ModelProviderError, PracticumError, UnauthenticatedError
from tests.sdk.episode.scripted import Scripted, ScriptedDoor, ScriptedTurn, ended_episode
from tests.workflows.served import WORKER_KEY
from tests.workflows.staging import SetStage, episode_of, until


async def test_an_episode_runs_to_its_answer(stage: SetStage) -> None:
    here = stage(ScriptedDoor([ScriptedTurn([Scripted(), Scripted(CallStatus.ERROR)]), ScriptedTurn()]))
    async with here.worker():
        handle = await here.start()
        result = await handle.result()
    assert (result.status, result.cause) == (EpisodeStatus.COMPLETED, Cause.POLICY)
    assert result.steps == 2
    assert result.usage.completion_tokens == 20
    episode = episode_of(handle)
    assert here.door.asked(episode) == [
        ("turn", 0, -1),
        ("call", 0, 0),
        ("call", 0, 1),
        ("turn", 1, -1),
        ("close", -1, -1),
    ]
    assert here.door.closed[episode].status is EpisodeStatus.COMPLETED


async def test_the_history_holds_no_word_of_the_conversation(stage: SetStage) -> None:
    quoted = ModelProviderError("400: messages[1]: 'my card is visa-canary'", mend="canary-mend")
    here = stage(ScriptedDoor([ScriptedTurn([Scripted()] * 3, failures=[quoted]), ScriptedTurn()]))
    async with here.worker():
        handle = await here.start()
        await handle.result()
    history = await handle.fetch_history()
    text = history.to_json() + "".join(str(event) for event in history.events)
    assert here.door.closed[episode_of(handle)].result is not None
    for canary in ("visa-canary", "canary-mend", "Done.", "Refund order", WORKER_KEY):
        assert canary not in text
    # About 1 KB and 6 events an activity; nothing grows with what was said.
    assert len(history.events) < 50


async def test_a_step_budget_ends_it(stage: SetStage) -> None:
    here = stage(ScriptedDoor([ScriptedTurn([Scripted()])]))
    async with here.worker():
        result = await (await here.start(limits=Limits(steps=3))).result()
    assert (result.status, result.cause, result.steps) == (EpisodeStatus.EXHAUSTED, Cause.BUDGET, 3)


async def test_time_that_runs_out_over_a_turn_ends_it_and_the_request(stage: SetStage) -> None:
    here = stage(ScriptedDoor([ScriptedTurn(seconds=60)]))
    async with here.worker():
        handle = await here.start(limits=Limits(seconds=1))
        result = await handle.result()
        assert (result.status, result.cause) == (EpisodeStatus.EXHAUSTED, Cause.BUDGET)
        await until(lambda: here.door.interrupted == [episode_of(handle)], seconds=20)


async def test_a_model_that_recovers_is_tried_again(stage: SetStage) -> None:
    here = stage(ScriptedDoor([ScriptedTurn(failures=[ModelProviderError("busy", retry_after=0.1)] * 2)]))
    async with here.worker():
        result = await (await here.start()).result()
    assert result.status is EpisodeStatus.COMPLETED
    assert here.door.attempts[0] == [1, 2, 3]


async def test_a_model_that_never_answers_fails_the_episode(stage: SetStage) -> None:
    here = stage(ScriptedDoor([ScriptedTurn(failures=[ModelProviderError("down", retry_after=0.1)] * 9)]))
    async with here.with_attempts(3).worker():
        handle = await here.start()
        result = await handle.result()
    assert (result.status, result.cause) == (EpisodeStatus.FAILED, Cause.INFRASTRUCTURE)
    assert here.door.attempts[0] == [1, 2, 3]
    closed = here.door.closed[episode_of(handle)].result
    assert closed is not None
    assert closed.reason == "Model provider failed (model_provider)."


async def test_a_failing_model_is_named_even_when_time_runs_out_over_it(stage: SetStage) -> None:
    here = stage(ScriptedDoor([ScriptedTurn(failures=[ModelProviderError("down", retry_after=30)] * 9)]))
    async with here.worker():
        result = await (await here.start(limits=Limits(seconds=3))).result()
    assert (result.status, result.cause) == (EpisodeStatus.FAILED, Cause.INFRASTRUCTURE)


async def test_a_gateway_that_is_away_is_waited_for_longer_than_a_model(stage: SetStage) -> None:
    away = GatewayUnavailableError("deploying", retry_after=0.1)
    busy = ModelProviderError("busy", retry_after=0.1)
    here = stage(ScriptedDoor([ScriptedTurn(failures=[away, busy, away])], unclosable=[away]))
    async with here.with_attempts(2).worker():
        result = await (await here.start()).result()
    assert result.status is EpisodeStatus.COMPLETED
    assert here.door.attempts[0] == [1, 2, 3, 4]


async def test_a_refused_key_ends_the_work_but_not_the_wish_to_close(stage: SetStage) -> None:
    refused: PracticumError = UnauthenticatedError("no such key", retry_after=0.1)
    here = stage(ScriptedDoor([ScriptedTurn(failures=[refused])], unclosable=[refused]))
    async with here.worker():
        handle = await here.start()
        result = await handle.result()
    assert (result.status, result.cause) == (EpisodeStatus.FAILED, Cause.INFRASTRUCTURE)
    assert here.door.attempts[0] == [1]
    assert here.door.closed[episode_of(handle)].status is EpisodeStatus.FAILED


async def test_an_episode_that_someone_else_ended_keeps_that_end(stage: SetStage) -> None:
    here = stage(ScriptedDoor([ScriptedTurn()]))
    handle = await here.start()
    cancelled = EpisodeResult(status=EpisodeStatus.CANCELLED, cause=Cause.PERSON, reason="by hand")
    here.door.closed[episode_of(handle)] = ended_episode(episode_of(handle), cancelled)
    async with here.worker():
        result = await handle.result()
    assert (result.status, result.cause, result.reason) == (EpisodeStatus.CANCELLED, Cause.PERSON, None)


class WrongDoor(ScriptedDoor):
    """A gateway that reports another step than it was asked for."""

    async def take_turn(self, episode: str, request: TurnRequest) -> TurnReceipt:
        return (await super().take_turn(episode, request)).model_copy(update={"step": 7})


async def test_a_gateway_that_reports_what_nobody_asked_for_ends_it_closed(stage: SetStage) -> None:
    here = stage(WrongDoor([ScriptedTurn()]))
    async with here.worker():
        handle = await here.start()
        result = await handle.result()
    assert (result.status, result.cause) == (EpisodeStatus.FAILED, Cause.INFRASTRUCTURE)
    assert here.door.closed[episode_of(handle)].status is EpisodeStatus.FAILED


class WordyDoor(ScriptedDoor):
    """A gateway whose model names a tool as long as a page."""

    async def take_turn(self, episode: str, request: TurnRequest) -> TurnReceipt:
        receipt = await super().take_turn(episode, request)
        calls = tuple(call.model_copy(update={"tool": "\u00e4" * 5000}) for call in receipt.calls)
        return receipt.model_copy(update={"calls": calls})


async def test_a_tool_name_that_is_no_name_does_not_enter_the_history(stage: SetStage) -> None:
    here = stage(WordyDoor([ScriptedTurn([Scripted(CallStatus.ERROR)]), ScriptedTurn()]))
    async with here.worker():
        handle = await here.start()
        assert (await handle.result()).status is EpisodeStatus.COMPLETED
    history = await handle.fetch_history()
    assert sum(event.ByteSize() for event in history.events) < 20_000
