"""What a test of the worker works with: a Temporal client, a scripted gateway behind HTTP, a task queue."""

import asyncio
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from temporalio.client import Client, WorkflowHandle

from practicum.agent import GatewayDoor
from practicum.client import AsyncPracticum
from practicum.contracts.episodes import EpisodeResult, EpisodeStart, Limits
from practicum.episode import EpisodeState
from practicum.episode.durable import STATE, WORKFLOW, workflow_id
from practicum.episode.failures import Retries
from practicum_workflows.episode import EpisodeWorkflow
from practicum_workflows.payloads import DATA_CONVERTER, EpisodeRun, Pace
from practicum_workflows.settings import WorkerSettings
from practicum_workflows.worker import episode_worker
from tests.sdk.episode.scripted import ScriptedDoor
from tests.workflows.served import WORKER_KEY, ServedDoor

Handle = WorkflowHandle[EpisodeWorkflow, EpisodeResult]


@dataclass(frozen=True)
class Stage:
    """One scripted gateway, one task queue, and what a test does with them."""

    client: Client
    served: ServedDoor
    settings: WorkerSettings

    @property
    def door(self) -> ScriptedDoor:
        return self.served.door

    async def start(self, *, limits: Limits | None = None, pace: Pace | None = None) -> Handle:
        """Start an episode as the gateway does, or at another pace."""
        start = EpisodeStart(episode=uuid4().hex, limits=limits or Limits())
        handle = await self.client.start_workflow(
            WORKFLOW,
            start if pace is None else EpisodeRun(episode=start.episode, limits=start.limits, pace=pace),
            id=workflow_id(start.episode),
            task_queue=self.settings.task_queue,
            result_type=EpisodeResult,
        )
        return self.client.get_workflow_handle_for(EpisodeWorkflow.run, handle.id)

    @asynccontextmanager
    async def worker(self) -> AsyncGenerator[None]:
        """A worker in this process that works through real HTTP."""
        async with (
            AsyncPracticum(self.served.url, WORKER_KEY) as practicum,
            episode_worker(self.client, GatewayDoor(practicum), self.settings),
        ):
            yield

    def with_attempts(self, attempts: int) -> "Stage":
        """The same with another patience for failing models."""
        return replace(self, settings=replace(self.settings, retries=Retries(attempts=attempts)))

    def environment(self) -> dict[str, str]:
        """What a worker process is told to work here."""
        return {
            "PRACTICUM_URL": self.served.url,
            "PRACTICUM_API_KEY": WORKER_KEY,
            "PRACTICUM_TEMPORAL_ADDRESS": self.settings.temporal,
            "PRACTICUM_TASK_QUEUE": self.settings.task_queue,
        }


SetStage = Callable[[ScriptedDoor], Stage]


@contextmanager
def temporal_server() -> Generator[str]:
    """Address of a Temporal server that lives in memory."""
    program = shutil.which("temporal") or str(Path(sys.executable).with_name("temporal"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = f"{program} server start-dev --headless --ip 127.0.0.1 --port {port} --log-level never"
    server = subprocess.Popen(command.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)
        # temporalio's threads crash a Python that ends while they are busy; without a server they soon are not.
        time.sleep(0.5)


async def connected(address: str, identity: str | None = None) -> Client:
    """Temporal's client, with the payloads of the house, once the server is up."""
    for _ in range(200):
        try:
            return await Client.connect(address, data_converter=DATA_CONVERTER, identity=identity)
        except RuntimeError:
            await asyncio.sleep(0.1)
    raise AssertionError("Temporal did not come up.")


def episode_of(handle: Handle) -> str:
    """The episode that a workflow drives."""
    return handle.id.removeprefix("episode-")


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something to become true."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # what is waited for happens in another thread or process
            await asyncio.sleep(0.05)


async def until_waiting(handle: Handle, seconds: float = 60.0) -> EpisodeState:
    """Wait for an episode to wait for an approval; its state then."""
    async with asyncio.timeout(seconds):
        while True:
            state = await handle.query(STATE, result_type=EpisodeState)
            if any(call.approval and not call.settled for call in state.calls):
                return state
            await asyncio.sleep(0.05)
