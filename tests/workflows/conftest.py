"""A real Temporal server for the whole folder; a gateway and a task queue for each test."""

import shutil
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.client import Client

from practicum_workflows.settings import WorkerSettings
from tests.sdk.episode.scripted import ScriptedDoor
from tests.workflows.served import ServedDoor
from tests.workflows.staging import SetStage, Stage, connected


@pytest.fixture(scope="session")
def temporal() -> Generator[str]:
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
        server.wait(10)


@pytest.fixture
async def client(temporal: str) -> Client:
    """Temporal's client."""
    return await connected(temporal)


@pytest.fixture
def stage(temporal: str, client: Client) -> Generator[SetStage]:
    """Sets up a stage for a scripted gateway."""
    with ExitStack() as running:

        def build(door: ScriptedDoor) -> Stage:
            served = running.enter_context(ServedDoor(door))
            return Stage(client, served, WorkerSettings(temporal=temporal, task_queue=f"test-{uuid4().hex}", grace=1))

        yield build
