"""The worker: joins workflow, activities, Temporal and the gateway."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import timedelta

from temporalio.client import Client
from temporalio.worker import Worker

from practicum.agent import GatewayDoor
from practicum.client import AsyncPracticum
from practicum.contracts.episodes import Limits
from practicum.episode import EpisodeDoor
from practicum.errors import ConfigurationError, PracticumError, UnauthenticatedError
from practicum_workflows.activities import EpisodeActivities
from practicum_workflows.episode import EpisodeWorkflow
from practicum_workflows.payloads import DATA_CONVERTER
from practicum_workflows.settings import WorkerSettings
from practicum_workflows.tracing import Tracing

FAILURES: tuple[type[Exception], ...] = (
    PracticumError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What fails a workflow when it leaves its code; anything else is tried again for ever, which is a silent hang.

Non-determinism is not among them on purpose: the deployment that caused it can be taken back, a failed episode cannot.
"""

_GATEWAY_SECONDS = 600.0
"""The most the gateway may take for one request; below the time of an activity, so that the error is the client's."""
_RECONNECT_SECONDS = 0.5


def episode_worker(
    client: Client,
    door: EpisodeDoor,
    settings: WorkerSettings,
    door_of: Callable[[str], EpisodeDoor] | None = None,
    tracing: Tracing | None = None,
) -> Worker:
    """A worker for episodes; it begins to poll when it is entered.

    Args:
        client: Temporal, with `DATA_CONVERTER`.
        door: the gateway.
        settings: queue, retries and grace.
        door_of: the gateway for the episodes of another tenant; the same door when absent.
        tracing: passes traces through.
    """
    activities = EpisodeActivities(door, settings.retries, door_of)
    return Worker(
        client,
        task_queue=settings.task_queue,
        workflows=[EpisodeWorkflow],
        activities=[activities.take_turn, activities.invoke_call, activities.close_episode],
        interceptors=[] if tracing is None else [tracing.interceptor],
        workflow_failure_exception_types=FAILURES,
        # The door's pool holds as many connections; more activities would only wait for one.
        max_concurrent_activities=100,
        # A restarted worker replays all it is given at once; more than a few at a time would starve each other.
        max_concurrent_workflow_tasks=8,
        max_eager_activity_reservations_per_workflow_task=Limits().calls_per_step,
        # A cancel comes back on a heartbeat, so this is how long a running request may outlive it.
        max_heartbeat_throttle_interval=timedelta(seconds=4),
        graceful_shutdown_timeout=timedelta(seconds=settings.grace),
    )


async def connect(settings: WorkerSettings, stop: asyncio.Event) -> Client | None:
    """Temporal, waited for while it comes up; None when told to stop meanwhile.

    Raises:
        ConfigurationError: it did not come up in time.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + settings.patience
    while not stop.is_set():
        try:
            return await Client.connect(settings.temporal, namespace=settings.namespace, data_converter=DATA_CONVERTER)
        except RuntimeError as error:  # the only type that temporalio has for a connection that fails
            if clock() >= deadline:
                raise ConfigurationError(
                    f"Temporal at {settings.temporal} cannot be reached: {error}",
                    mend="Start it, or set PRACTICUM_TEMPORAL_ADDRESS; `practicum up` starts one.",
                ) from None
        try:
            async with asyncio.timeout(_RECONNECT_SECONDS):
                await stop.wait()
        except TimeoutError:
            continue
    return None


async def serve(settings: WorkerSettings, stop: asyncio.Event, announce: Callable[[str], None]) -> None:
    """Work until told to stop.

    Args:
        settings: where and how.
        stop: set to stop.
        announce: called once with a line, when the worker polls.

    Raises:
        ConfigurationError: Temporal cannot be reached, or the gateway's address or key is missing.
        UnauthenticatedError: the gateway knows no such key.
    """
    async with AsyncExitStack() as stack:
        tracing = Tracing(settings.otlp)
        stack.push_async_callback(asyncio.to_thread, tracing.close)
        gateway = await stack.enter_async_context(AsyncPracticum(timeout=_GATEWAY_SECONDS))
        doors: dict[str, GatewayDoor] = {}

        def door_of(tenant: str) -> GatewayDoor:
            if tenant not in doors:
                other = AsyncPracticum(timeout=_GATEWAY_SECONDS, tenant=tenant)
                stack.push_async_callback(other.close)
                doors[tenant] = GatewayDoor(other)
            return doors[tenant]

        client = await connect(settings, stop)
        if client is None:
            return
        await _check_key(gateway)
        async with episode_worker(client, GatewayDoor(gateway), settings, door_of, tracing):
            announce(
                f"practicum worker: polls queue {settings.task_queue} of Temporal at {settings.temporal}, "
                f"works through {gateway.url}"
            )
            await stop.wait()


async def _check_key(gateway: AsyncPracticum) -> None:
    """Refuse to work with a wrong key: every episode would fail of it.

    Raises:
        UnauthenticatedError: the gateway knows no such key.
    """
    try:
        await gateway.episodes.list(limit=1)
    except UnauthenticatedError:
        raise
    except PracticumError:
        # A gateway that is not up yet, or does not let a worker list, says nothing about the key.
        return
