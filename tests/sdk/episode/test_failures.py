import pytest

from practicum.contracts.episodes import Cause
from practicum.episode.failures import Patience, Retries, judge
from practicum.errors import (
    CallError,
    ConfigurationError,
    EpisodeError,
    ForbiddenError,
    GatewayUnavailableError,
    InDoubtError,
    ModelProviderError,
    NotFoundError,
    PracticumError,
    RequestError,
    UnauthenticatedError,
    UpstreamError,
)


@pytest.mark.parametrize(
    ("error", "cause", "patience"),
    [
        (GatewayUnavailableError, Cause.INFRASTRUCTURE, Patience.LONG),
        (ModelProviderError, Cause.INFRASTRUCTURE, Patience.SOME),
        (PracticumError, Cause.INFRASTRUCTURE, Patience.SOME),
        (UpstreamError, Cause.SYSTEM, Patience.SOME),
        (InDoubtError, Cause.SYSTEM, Patience.NONE),
        (CallError, Cause.POLICY, Patience.NONE),
        (UnauthenticatedError, Cause.INFRASTRUCTURE, Patience.NONE),
        (ForbiddenError, Cause.INFRASTRUCTURE, Patience.NONE),
        (EpisodeError, Cause.INFRASTRUCTURE, Patience.NONE),
        (RequestError, Cause.INFRASTRUCTURE, Patience.NONE),
        (NotFoundError, Cause.INFRASTRUCTURE, Patience.NONE),
        (ConfigurationError, Cause.INFRASTRUCTURE, Patience.NONE),
    ],
)
def test_every_error_has_a_cause_and_a_patience(error: type[PracticumError], cause: Cause, patience: Patience) -> None:
    failure = judge(error("something"))
    assert (failure.code, failure.cause, failure.patience) == (error.code, cause, patience)


def test_the_reason_names_the_kind_and_the_trace_and_quotes_nothing() -> None:
    error = ModelProviderError("400: messages[1]: 'my card is 4111'")
    error.trace = "4bf92f"
    assert judge(error).reason == "Model provider failed (model_provider, trace 4bf92f)."


def test_waits_grow_to_a_bound_and_the_other_side_knows_better() -> None:
    retries = Retries(first_wait=1, factor=2, longest_wait=10, longest_asked=100)
    assert [retries.wait(failed) for failed in (1, 2, 3, 4, 5)] == [1, 2, 4, 8, 10]
    assert retries.wait(10_000) == 10
    assert retries.wait(1, 30) == 30
    assert retries.wait(1, 1e9) == 100
