"""Durable episodes: their workflows, started and reached by name. The gateway knows no workflow code.

Temporal's client is loaded when it is first needed: many gateways have no Temporal, and it takes a while.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import NoOpTracer, Tracer

from practicum.contracts.episodes import ApprovalDecision, EpisodeStart, Limits
from practicum.contracts.tenants import MAIN
from practicum.episode.durable import DECIDE, NUDGE, WORKFLOW, workflow_id
from practicum.errors import ConfigurationError, GatewayUnavailableError

if TYPE_CHECKING:
    from temporalio.client import Client, WorkflowHandle

_CONNECT_SECONDS = 5.0
_RPC = timedelta(seconds=10)
_UPDATE = timedelta(seconds=3)


class Workflows:
    """Starts, tells and cancels the workflows of episodes."""

    def __init__(
        self,
        address: str | None,
        *,
        namespace: str,
        task_queue: str,
        tenant: str = MAIN,
        tracer: Tracer | None = None,
    ) -> None:
        """Nothing is connected before it is needed.

        Args:
            address: `host:port` of Temporal; None when there is none.
            namespace: its namespace.
            task_queue: the queue that the workers listen on.
            tenant: whose episodes they are.
            tracer: makes spans of what Temporal is told, so that a trace goes on in the worker.
        """
        self._tracer = tracer or NoOpTracer()
        self._tenant = None if tenant == MAIN else tenant
        self._address = address
        self._namespace = namespace
        self._task_queue = task_queue
        self._connecting = asyncio.Lock()
        self._client: Client | None = None

    async def ready(self) -> None:
        """Make sure that Temporal can be reached, before anything is written that counts on it.

        Raises:
            ConfigurationError: this gateway has no Temporal.
            GatewayUnavailableError: it cannot be reached.
        """
        await self._connected()

    async def start(self, episode: str, limits: Limits) -> None:
        """Start the workflow of an episode; starting it again is harmless.

        Raises:
            ConfigurationError, GatewayUnavailableError: as for `ready`.
        """
        from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
        from temporalio.exceptions import WorkflowAlreadyStartedError

        client = await self._connected()
        with self._reached(gone_is_fine=False):
            try:
                await client.start_workflow(
                    WORKFLOW,
                    EpisodeStart(episode=episode, limits=limits, tenant=self._tenant),
                    id=workflow_id(episode),
                    task_queue=self._task_queue,
                    id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                    id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                    rpc_timeout=_RPC,
                )
            except WorkflowAlreadyStartedError:
                return  # it ran and is over

    async def decide(self, episode: str, decision: ApprovalDecision) -> None:
        """Tell an episode of an answered approval: at once if a worker is there, else as soon as one comes.

        Raises:
            ConfigurationError, GatewayUnavailableError: as for `ready`.
        """
        from temporalio.client import WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError

        handle = await self._handle(episode)
        with self._reached(gone_is_fine=True):
            try:
                await handle.execute_update(  # pyright: ignore[reportUnknownMemberType]  # an overload of theirs
                    DECIDE, decision, id=decision.approval, rpc_timeout=_UPDATE
                )
            except (WorkflowUpdateRPCTimeoutOrCancelledError, WorkflowUpdateFailedError):
                # No worker took it in time, or it overtook the call's own receipt. The signal is kept for the worker,
                # and the call that waits looks at the approval itself.
                await handle.signal(NUDGE, rpc_timeout=_RPC)

    async def cancel(self, episode: str) -> None:
        """Cancel the workflow of an episode; one that is over, or never was, is none to cancel.

        Raises:
            ConfigurationError, GatewayUnavailableError: as for `ready`.
        """
        handle = await self._handle(episode)
        with self._reached(gone_is_fine=True):
            await handle.cancel(rpc_timeout=_RPC)

    async def _handle(self, episode: str) -> "WorkflowHandle[Any, Any]":
        handle: WorkflowHandle[Any, Any] = (await self._connected()).get_workflow_handle(workflow_id(episode))
        return handle

    async def _connected(self) -> "Client":
        if self._address is None:
            raise ConfigurationError(
                "This gateway has no Temporal, so it runs no durable episodes.",
                mend="Set PRACTICUM_TEMPORAL_ADDRESS to its host:port, or drive the episode yourself: driver=client.",
            )
        from temporalio.client import Client
        from temporalio.contrib.opentelemetry import TracingInterceptor
        from temporalio.contrib.pydantic import pydantic_data_converter

        async with self._connecting:
            if self._client is None:
                try:
                    async with asyncio.timeout(_CONNECT_SECONDS):
                        self._client = await Client.connect(
                            self._address,
                            namespace=self._namespace,
                            data_converter=pydantic_data_converter,
                            interceptors=[TracingInterceptor(self._tracer)],
                        )
                except (RuntimeError, TimeoutError):
                    raise self._unreachable() from None
        return self._client

    @contextmanager
    def _reached(self, *, gone_is_fine: bool) -> Generator[None]:
        """Turn what Temporal's client raises into ours; a workflow that is gone needs to be told nothing any more."""
        from temporalio.service import RPCError, RPCStatusCode

        try:
            yield
        except RPCError as error:
            if not (gone_is_fine and error.status is RPCStatusCode.NOT_FOUND):
                raise self._unreachable() from error

    def _unreachable(self) -> GatewayUnavailableError:
        return GatewayUnavailableError(
            f"The Temporal server at {self._address} cannot be reached, or does not do as asked.",
            mend="Start it, or set PRACTICUM_TEMPORAL_ADDRESS to where it listens.",
        )
