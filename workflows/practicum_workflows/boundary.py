"""Where an activity's errors become Temporal's: typed, judged, and without a word of the conversation."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from practicum.episode.failures import Failure, Patience, Retries, judge
from practicum.errors import AccessError, PracticumError

_BEAT = 2.0
"""Seconds between heartbeats. The worker passes on as many as its throttle lets through; a cancel comes back on one."""


@asynccontextmanager
async def boundary(retries: Retries, *, wait_for_access: bool = False) -> AsyncGenerator[None]:
    """Heartbeat from the first line, and turn whatever is raised inside into what Temporal should do about it.

    A cancel needs nothing of this: Temporal cancels the activity's own task, and with it the HTTP request that the task
    awaits; and when it does so because the worker is stopped, it has the activity tried again elsewhere.

    Args:
        retries: how many attempts an error of some hope is worth.
        wait_for_access: whether a refused key is waited for as the gateway is.

    Raises:
        ApplicationError: the error, its type being the error's code; non-retryable where there is no hope.
    """
    # Failures of some hope are counted in the heartbeat, which outlives the attempt: Temporal's own count includes
    # the attempts that an absent gateway cost, and those must not use up a model's.
    failed = sum(activity.info().heartbeat_details)
    beater = asyncio.create_task(_beat(failed))
    try:
        yield
    except PracticumError as error:
        failure = judge(error)
        patience = Patience.LONG if wait_for_access and isinstance(error, AccessError) else failure.patience
        # `from None`: Temporal would write the cause, detail and all, into the history.
        raise _for_temporal(failure, patience, failed, retries) from None
    except Exception as error:  # noqa: BLE001  # the boundary: whatever else it is may quote what it was reading
        activity.logger.error("An unforeseen %s.", type(error).__name__)
        unforeseen = judge(PracticumError(type(error).__name__))
        raise _for_temporal(unforeseen, unforeseen.patience, failed, retries) from None
    finally:
        beater.cancel()


async def _beat(failed: int) -> None:
    while True:
        activity.heartbeat(failed)
        await asyncio.sleep(_BEAT)


def _for_temporal(failure: Failure, patience: Patience, failed: int, retries: Retries) -> ApplicationError:
    if patience is Patience.SOME:
        failed += 1
        activity.heartbeat(failed)
    hopeless = patience is Patience.NONE or (patience is Patience.SOME and failed >= retries.attempts)
    activity.logger.warning("Attempt failed%s: %s", " for good" if hopeless else "", failure.reason)
    asked = failure.retry_after
    return ApplicationError(
        failure.reason,
        type=failure.code,
        non_retryable=hopeless,
        next_retry_delay=None if asked is None else timedelta(seconds=retries.wait(1, asked)),
        # Logged above in a line; Temporal would add a stack trace of this file to each.
        category=ApplicationErrorCategory.BENIGN,
    )
