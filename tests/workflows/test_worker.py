"""The worker as a process: killed, stopped, misconfigured; and its start."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process

import pytest

from practicum.contracts.episodes import EpisodeStatus
from practicum.errors import ConfigurationError
from practicum_workflows.settings import WorkerSettings
from practicum_workflows.worker import connect
from tests.sdk.episode.scripted import Scripted, ScriptedDoor, ScriptedTurn
from tests.workflows.staging import SetStage, Stage, episode_of, until


async def worker_process(here: Stage, **changes: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "practicum_workflows",
        stdout=PIPE,
        stderr=PIPE,
        env={"PATH": os.environ["PATH"], **here.environment(), **changes},
    )


async def line_of(process: Process) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), 30)).decode()


async def test_a_killed_worker_is_replaced_and_nothing_is_done_twice(stage: SetStage) -> None:
    here = stage(ScriptedDoor([ScriptedTurn([Scripted(), Scripted(seconds=1.5), Scripted()]), ScriptedTurn()]))
    killed = await worker_process(here)
    await line_of(killed)
    handle = await here.start()
    await until(lambda: ("call", 0, 1) in here.door.asked(episode_of(handle)))
    killed.kill()
    await killed.wait()
    async with here.worker():
        result = await asyncio.wait_for(handle.result(), 40)
    assert result.status is EpisodeStatus.COMPLETED
    assert list(here.door.effects.values()) == [1, 1, 1]
    assert here.door.asked(episode_of(handle)) == [
        ("turn", 0, -1),
        ("call", 0, 0),
        ("call", 0, 1),
        ("call", 0, 1),
        ("call", 0, 2),
        ("turn", 1, -1),
        ("close", -1, -1),
    ]


async def test_a_worker_that_is_stopped_leaves_its_work_to_another(stage: SetStage) -> None:
    """A deployment must not look like a person's cancel."""
    here = stage(ScriptedDoor([ScriptedTurn(seconds=1)]))
    async with here.worker():
        handle = await here.start()
        await until(lambda: bool(here.door.asked(episode_of(handle))))
    await until(lambda: here.door.interrupted == [episode_of(handle)])
    async with here.worker():
        result = await asyncio.wait_for(handle.result(), 20)
    assert result.status is EpisodeStatus.COMPLETED


async def test_it_says_once_that_it_polls_and_ends_clean_on_a_signal(stage: SetStage) -> None:
    here = stage(ScriptedDoor([ScriptedTurn()]))
    process = await worker_process(here)
    line = await line_of(process)
    assert here.settings.task_queue in line
    assert here.settings.temporal in line
    assert here.served.url in line
    assert (await (await here.start()).result()).status is EpisodeStatus.COMPLETED
    process.terminate()
    out, err = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 0
    assert out == b""
    assert here.environment()["PRACTICUM_API_KEY"].encode() not in err


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"PRACTICUM_API_KEY": "prk_wrong"}, "No valid key"),
        ({"PRACTICUM_URL": ""}, "PRACTICUM_URL"),
        ({"PRACTICUM_MODEL_ATTEMPTS": "many"}, "PRACTICUM_MODEL_ATTEMPTS"),
    ],
)
async def test_it_refuses_to_work_with_what_cannot_work(stage: SetStage, changes: dict[str, str], word: str) -> None:
    here = stage(ScriptedDoor([ScriptedTurn()]))
    process = await worker_process(here, **changes)
    _, err = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 1
    assert word in err.decode()
    assert "Traceback" not in err.decode()
    assert "prk_" not in err.decode()


async def test_a_temporal_that_never_comes_up_is_one_clear_error() -> None:
    settings = WorkerSettings(temporal="127.0.0.1:1", patience=0.6)
    with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1:1 cannot be reached") as error:
        await connect(settings, asyncio.Event())
    assert error.value.mend is not None
    assert "PRACTICUM_TEMPORAL_ADDRESS" in error.value.mend


async def test_a_stop_ends_the_wait_for_temporal() -> None:
    stop = asyncio.Event()
    waiting = asyncio.create_task(connect(WorkerSettings(temporal="127.0.0.1:1"), stop))
    await asyncio.sleep(0.2)
    stop.set()
    assert await asyncio.wait_for(waiting, 20) is None


def test_settings_come_from_the_environment() -> None:
    read = WorkerSettings.read(
        {
            "PRACTICUM_TEMPORAL_ADDRESS": "temporal:7233",
            "PRACTICUM_TEMPORAL_NAMESPACE": "agents",
            "PRACTICUM_TASK_QUEUE": "q",
            "PRACTICUM_MODEL_ATTEMPTS": "3",
        }
    )
    assert (read.temporal, read.namespace, read.task_queue, read.retries.attempts) == (
        "temporal:7233",
        "agents",
        "q",
        3,
    )
    assert WorkerSettings.read({}) == WorkerSettings()
