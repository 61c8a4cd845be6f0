"""A real Temporal server for the whole folder; a gateway and a task queue for each test."""

from collections.abc import Generator
from contextlib import ExitStack
from uuid import uuid4

import pytest
from temporalio.client import Client

from practicum_workflows.settings import WorkerSettings
from tests.sdk.episode.scripted import ScriptedDoor
from tests.workflows.served import ServedDoor
from tests.workflows.staging import SetStage, Stage, connected, temporal_server


@pytest.fixture(scope="session")
def temporal() -> Generator[str]:
    """Address of a Temporal server that lives in memory."""
    with temporal_server() as address:
        yield address


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
            return Stage(client, served, WorkerSettings(temporal=temporal, task_queue=f"test-{uuid4().hex}", grace=0.2))

        yield build
