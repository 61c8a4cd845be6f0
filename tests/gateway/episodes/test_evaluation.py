"""An evaluation through the gateway: every attempt on practice copies of its own, none of which is left behind."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from practicum.client import AsyncPracticum
from practicum.contracts.tasks import Split, Task
from practicum.evaluation import evaluate
from practicum.tasks import load_suite
from practicum.testing import RecordedRequest, Reply, ScriptedModelServer, call, say
from tests.gateway.episodes.conftest import ADMIN
from tests.gateway.episodes.practising import Ground, practising
from tests.gateway.episodes.world import World

TASKS = 6
SUITE = load_suite("examples.tasks:SUITE")


@pytest.fixture
async def ground(world: World) -> AsyncIterator[Ground]:
    async with practising(world) as made:
        yield made


def solve(request: RecordedRequest) -> Reply:
    """Do what the reference solution does next, but for the last task only say that it is done."""
    tasks = SUITE.tasks(Split.HELD_OUT)[:TASKS]
    said = [message for message in request.messages if isinstance(message, dict)]
    task: Task = next(task for task in tasks if any(task.prompt in str(message.get("content")) for message in said))
    done = sum(message.get("role") == "tool" for message in said)
    if task == tasks[-1] or done == len(task.reference):
        return say(task.conclusion or "Done.")
    return call(task.reference[done].tool, task.reference[done].arguments)


async def test_every_attempt_is_judged_by_what_it_left_on_its_own_copies(ground: Ground, tmp_path: Path) -> None:
    with ScriptedModelServer(solve) as model:
        alias = {
            "alias": "solver",
            "provider": "litellm",
            "target": "openai/solver",
            "base_url": model.base_url,
            "api_key": "sk-of-the-provider-0123456789",
        }
        assert (await ground.world.admin.post("/v1/models", json=alias)).status_code == 201
        async with AsyncPracticum(ground.world.url, ADMIN) as client:
            report = await evaluate(
                client, SUITE, model="solver", folder=tmp_path / "evaluation", limit=TASKS, concurrency=3
            )

    assert [result.rewards for result in report.results] == [(1.0,)] * (TASKS - 1) + [(0.0,)]
    assert report.unscored == 0
    assert len(ground.copies) == 0
    assert ground.live_effects() == 0
