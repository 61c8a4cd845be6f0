"""The demo, as somebody runs it on a fresh machine."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples.demo.tasks import shown_tasks
from practicum.cli.services.installed import missing_for_local_model, temporal_program
from practicum.cli.services.state import StateDirectory
from practicum.contracts.tasks import Task
from practicum.testing import RecordedRequest, Reply, ScriptedModelServer, call, say

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.journey,
    pytest.mark.timeout(600),
    pytest.mark.skipif(temporal_program() is None, reason="needs the extra local"),
]


def _demo(state: Path, *arguments: str, **environment: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, what programs are told, and the story."""
    ran = subprocess.run(
        [str(Path(sys.executable).with_name("practicum")), "demo", "--json", "--state-dir", str(state), *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    assert ran.stdout.startswith("{"), ran.stderr
    return ran.returncode, json.loads(ran.stdout), ran.stderr


class Script:
    """Answers as each task's reference solution does, save for the tasks that it is told to get wrong."""

    def __init__(self, *wrong: str) -> None:
        self._tasks = shown_tasks()
        self._wrong = wrong

    def __call__(self, request: RecordedRequest) -> Reply:
        messages = [message for message in request.messages if isinstance(message, dict)]
        task = next(task for task in self._tasks if any(task.prompt == message.get("content") for message in messages))
        done = sum(1 for message in messages if message.get("role") == "tool")
        if task.family in self._wrong or done == len(task.reference):
            return say(task.conclusion or "Done.")
        return call(task.reference[done].tool, task.reference[done].arguments)


def _against(model: ScriptedModelServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_BASE": model.base_url, "OPENAI_API_KEY": "sk-scripted"}


def _verdicts(told: dict[str, Any]) -> dict[str, float | None]:
    return {task["task"]: task["reward"] for task in told["tasks"]}


def _ids(tasks: tuple[Task, ...]) -> set[str]:
    return {task.id for task in tasks}


def test_a_model_that_does_everything_right_ends_with_0_and_leaves_a_dataset(tmp_path: Path) -> None:
    with ScriptedModelServer(Script()) as model:
        code, told, story = _demo(tmp_path / "demo", "--model", "openai/scripted", **_against(model))

    assert code == 0, story
    assert _verdicts(told) == dict.fromkeys(_ids(shown_tasks()), 1.0)
    asked = {task["task"]: task["approvals"] for task in told["tasks"]}
    assert asked["orders.held_out.refund_full.0"] == 1
    assert sum(asked.values()) == 1
    assert "person  the demo, with the approver's key, says yes to erp_create_refund" in story
    chat = [json.loads(line) for line in (tmp_path / "demo" / "dataset" / "chat.jsonl").read_text().splitlines()]
    assert len(chat) == len(shown_tasks())
    assert StateDirectory(tmp_path / "demo").services() == ()


def test_one_wrong_outcome_ends_with_1_and_is_named(tmp_path: Path) -> None:
    with ScriptedModelServer(Script("broken_order")) as model:
        code, told, story = _demo(tmp_path / "demo", "--model", "openai/scripted", **_against(model))

    assert code == 1, story
    verdicts = _verdicts(told)
    assert verdicts.pop("orders.held_out.broken_order.0") == 0.0
    assert set(verdicts.values()) == {1.0}
    assert "missing: new record in erp/refunds" in story


@pytest.mark.model
@pytest.mark.skipif(bool(missing_for_local_model()), reason="needs the local model")
def test_the_local_model_does_the_demo_right_twice_in_a_row(tmp_path: Path) -> None:
    for _ in range(2):
        code, told, story = _demo(tmp_path / "demo")

        assert code == 0, story
        assert set(_verdicts(told).values()) == {1.0}
        assert any("held-out tasks right" in line for line in told["skill"])
        tokens = (tmp_path / "demo" / "dataset" / "tokens.jsonl").read_text().splitlines()
        assert len(tokens) >= len(shown_tasks())
