"""What is running when new code is deployed goes on: every history of every version replays."""

from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer
from temporalio.workflow import NondeterminismError

from practicum_workflows.episode import EpisodeWorkflow
from practicum_workflows.payloads import DATA_CONVERTER
from practicum_workflows.worker import FAILURES
from tests.workflows.record_histories import HISTORIES, SCENARIOS, VERSION, play

RECORDED = sorted(HISTORIES.glob("*.json"))


def stored(path: Path) -> WorkflowHistory:
    return WorkflowHistory.from_json(path.stem, path.read_text())


def replayer() -> Replayer:
    return Replayer(
        workflows=[EpisodeWorkflow], data_converter=DATA_CONVERTER, workflow_failure_exception_types=FAILURES
    )


def test_every_scenario_of_this_version_is_recorded() -> None:
    recorded = {path.stem.split("-")[1] for path in RECORDED if path.stem.startswith(f"v{VERSION}-")}
    assert recorded == set(SCENARIOS)


@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
async def test_a_recorded_history_replays(path: Path) -> None:
    await replayer().replay_workflow(stored(path))


async def test_a_change_that_would_break_running_episodes_is_noticed() -> None:
    text = (HISTORIES / f"v{VERSION}-failed-1.json").read_text()
    other = text.replace("practicum.take_turn", "practicum.take_step")
    assert other != text
    with pytest.raises(NondeterminismError):
        await replayer().replay_workflow(WorkflowHistory.from_json("other", other))


@pytest.mark.parametrize("name", ["answered", "nudged"])
async def test_a_history_of_today_replays(client: Client, temporal: str, name: str) -> None:
    for history in await play(name, client, temporal):
        await replayer().replay_workflow(history)
