"""What an activity's error looks like from the history."""

from dataclasses import dataclass

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from practicum.contracts.episodes import (
    CallReceipt,
    Cause,
    Episode,
    EpisodeResult,
    EpisodeStatus,
    InvokeRequest,
    TurnReceipt,
    TurnRequest,
)
from practicum.episode.failures import Retries
from practicum.errors import (
    EpisodeError,
    ForbiddenError,
    GatewayUnavailableError,
    ModelProviderError,
    NotFoundError,
    PracticumError,
    UnauthenticatedError,
)
from practicum_workflows.activities import EpisodeActivities
from practicum_workflows.payloads import CallInput, CloseInput, TurnInput


@dataclass(frozen=True)
class BrokenDoor:
    """A door that only ever raises."""

    error: Exception

    async def take_turn(self, episode: str, request: TurnRequest) -> TurnReceipt:
        del episode, request
        raise self.error

    async def invoke(self, episode: str, request: InvokeRequest) -> CallReceipt:
        del episode, request
        raise self.error

    async def close(self, episode: str, result: EpisodeResult) -> Episode:
        del episode, result
        raise self.error


async def turn_error(error: Exception, *, attempts: int = 8) -> ApplicationError:
    activities = EpisodeActivities(BrokenDoor(error), Retries(attempts=attempts))
    with pytest.raises(ApplicationError) as raised:
        await ActivityEnvironment().run(activities.take_turn, TurnInput(episode="e1", step=0))
    return raised.value


@pytest.mark.parametrize(
    ("error", "non_retryable"),
    [
        (UnauthenticatedError("x"), True),
        (ForbiddenError("x"), True),
        (EpisodeError("x"), True),
        (NotFoundError("x"), True),
        (ModelProviderError("x"), False),
        (GatewayUnavailableError("x"), False),
        (PracticumError("x"), False),
    ],
)
async def test_an_error_keeps_its_code_and_says_whether_there_is_hope(
    error: PracticumError, non_retryable: bool
) -> None:
    raised = await turn_error(error)
    assert (raised.type, raised.non_retryable) == (error.code, non_retryable)


async def test_the_last_attempt_is_the_last() -> None:
    assert (await turn_error(ModelProviderError("x"), attempts=1)).non_retryable
    assert not (await turn_error(GatewayUnavailableError("x"), attempts=1)).non_retryable


async def test_the_other_sides_wish_to_wait_is_passed_on() -> None:
    raised = await turn_error(ModelProviderError("x", retry_after=42))
    assert raised.next_retry_delay is not None
    assert raised.next_retry_delay.total_seconds() == 42


@pytest.mark.parametrize("error", [ModelProviderError("canary-4111"), ValueError("canary-4111")])
async def test_nothing_of_what_went_wrong_is_quoted(error: Exception) -> None:
    raised = await turn_error(error)
    assert "4111" not in str(raised)
    # Temporal writes the cause, and without one the context, into the history.
    assert raised.__cause__ is None
    assert raised.__suppress_context__


async def test_a_call_is_guarded_alike() -> None:
    activities = EpisodeActivities(BrokenDoor(NotFoundError("x")))
    with pytest.raises(ApplicationError) as raised:
        await ActivityEnvironment().run(activities.invoke_call, CallInput(episode="e1", step=0, call=0))
    assert raised.value.non_retryable


async def test_closing_waits_for_a_key_that_is_refused() -> None:
    result = EpisodeResult(status=EpisodeStatus.FAILED, cause=Cause.INFRASTRUCTURE)
    activities = EpisodeActivities(BrokenDoor(UnauthenticatedError("x")))
    with pytest.raises(ApplicationError) as raised:
        await ActivityEnvironment().run(activities.close_episode, CloseInput(episode="e1", result=result))
    assert not raised.value.non_retryable
