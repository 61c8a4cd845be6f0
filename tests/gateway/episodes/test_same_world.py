"""What a policy practises in is what a model is served in: the same tools, the same words, the same results.

Each task is solved twice by its reference solution: in this process, as a trainer has it attempted, and through the
gateway, over HTTP, on practice copies. What the model reads must be the same text, or it would be trained on another
world than it works in.
"""

import json
from collections.abc import AsyncIterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from practicum.client import AsyncPracticum
from practicum.codecs.chatml import ChatMLCompact
from practicum.codecs.codec import text_of
from practicum.contracts.episodes import Limits
from practicum.contracts.messages import Message, ToolCall
from practicum.contracts.tasks import Split
from practicum.contracts.tools import Tool
from practicum.contracts.trajectory import Trajectory
from practicum.evaluation import evaluate
from practicum.stages.lockstep import play
from practicum.stages.practices import Practices
from practicum.tasks import load_suite
from practicum.testing import RecordedRequest, Reply, ScriptedModelServer, call, say
from tests.gateway.episodes.conftest import ADMIN
from tests.gateway.episodes.practising import Ground, practising
from tests.gateway.episodes.world import World
from tests.sdk.stages.clerk import Scripted

SUITE = load_suite("examples.tasks:SUITE")
TASKS = SUITE.tasks(Split.HELD_OUT)[:14]
"""One of each family."""
PROMPTS = {task.prompt: task for task in TASKS}


@pytest.fixture
async def ground(world: World) -> AsyncIterator[Ground]:
    async with practising(world) as made:
        yield made


def practised() -> tuple[dict[str, Trajectory], tuple[Tool, ...]]:
    """The records that a trainer would learn from, by task, and the tools that its systems offer."""

    def next_turn(conversation: str) -> Message:
        task = next(task for prompt, task in PROMPTS.items() if f"user\n{prompt}\n" in conversation)
        done = conversation.count("\ntool\n")
        if done == len(task.reference):
            return Message(role="assistant", content=task.conclusion)
        step = task.reference[done]
        return Message(role="assistant", tool_calls=(ToolCall(id="c", name=step.tool, arguments=step.arguments),))

    sampler = Scripted(next_turn)
    sampler.context = 100_000  # a token for each character
    with Practices(SUITE, len(TASKS)) as practices:
        played = play(SUITE, TASKS, sampler, practices, limits=Limits(), system=None)
        return {one.task.id: one.trajectory for one in played}, practices.tools


def served_turn(request: RecordedRequest) -> Reply:
    said = [message for message in request.messages if isinstance(message, dict)]
    task = next(PROMPTS[str(message["content"])] for message in said if message.get("content") in PROMPTS)
    done = sum(message.get("role") == "tool" for message in said)
    if done == len(task.reference):
        return say(task.conclusion or "")
    return call(task.reference[done].tool, task.reference[done].arguments)


async def served(ground: Ground, folder: Path) -> tuple[dict[str, Trajectory], tuple[Tool, ...]]:
    """The records of the gateway, by task, and the tools that it offers."""
    with ScriptedModelServer(served_turn) as model:
        alias = {"alias": "solver", "provider": "litellm", "target": "openai/solver", "base_url": model.base_url}
        assert (await ground.world.admin.post("/v1/models", json=alias | {"api_key": "sk-0123456789"})).is_success
        async with AsyncPracticum(ground.world.url, ADMIN) as client:
            report = await evaluate(client, SUITE, model="solver", folder=folder, limit=len(TASKS))
            assert report.success.value == 1.0
            records = [await client.trajectories.get(result.episodes[0]) for result in report.results]
            return {record.metadata["task"]: record for record in records}, tuple(await client.tools.list())


def read_by_the_model(record: Trajectory, tools: Mapping[str, Tool]) -> list[str]:
    """The whole conversation as the model's template writes it, tools and all, line by line."""
    definitions: Any = record.tools
    names = [definition["function"]["name"] for definition in definitions]
    return text_of(ChatMLCompact().render(record.messages, [tools[name] for name in names])).splitlines()


async def test_what_is_practised_is_what_is_served(ground: Ground, tmp_path: Path) -> None:
    at_practice, tools_there = practised()
    at_work, tools_here = await served(ground, tmp_path / "evaluation")
    there, here = ({tool.name: tool for tool in tools} for tools in (tools_there, tools_here))

    for task in TASKS:
        mine, theirs = at_practice[task.id], at_work[task.id]
        assert mine.reward == theirs.reward == 1.0
        for one, other in zip_longest(read_by_the_model(mine, there), read_by_the_model(theirs, here)):
            assert one == other, task.id
        assert mine.tools == theirs.tools
        assert [(made.tool, made.arguments, made.observation.status) for made in mine.invocations] == [
            (made.tool, made.arguments, made.observation.status) for made in theirs.invocations
        ]
    called = {made.tool for record in at_work.values() for made in record.invocations}
    assert any("$ref" in json.dumps(here[name].input_schema) for name in called), "none has a schema within its schema"
