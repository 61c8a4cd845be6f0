"""Records the histories that the replay test replays: `python -m tests.workflows.record_histories`.

Run it when a new version of the workflow is released, and keep the older files: running episodes were started by them.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from uuid import uuid4

from pydantic import JsonValue
from temporalio.client import Client, WorkflowFailureError, WorkflowHistory

from practicum.contracts.episodes import ApprovalDecision, Limits
from practicum.contracts.tools import CallStatus
from practicum.episode.durable import DECIDE, NUDGE
from practicum.errors import ModelProviderError
from practicum_workflows.payloads import Pace
from practicum_workflows.settings import WorkerSettings
from tests.sdk.episode.scripted import Scripted, ScriptedDoor, ScriptedTurn
from tests.workflows.served import ServedDoor
from tests.workflows.staging import Handle, Stage, connected, episode_of, temporal_server, until, until_waiting

HISTORIES = Path(__file__).with_name("histories")
VERSION = 1
"""Of the workflow, in the names of the files."""


async def answered(here: Stage) -> Handle:
    """Calls of all kinds, an approval that is given, several runs, an answer."""
    handle = await here.start(pace=Pace(roll_after=20))
    call = next(call for call in (await until_waiting(handle)).calls if not call.settled)
    assert call.approval
    assert call.arguments_hash
    here.door.answers[call.approval] = True
    decision = ApprovalDecision(approval=call.approval, approved=True, arguments_hash=call.arguments_hash)
    await handle.execute_update(DECIDE, decision, id=call.approval)  # pyright: ignore[reportUnknownMemberType]
    return handle


async def nudged(here: Stage) -> Handle:
    """An approval that is denied, of which only a nudge tells; one look was taken before."""
    handle = await here.start(pace=Pace(recheck=1))
    state = await until_waiting(handle)
    await until(lambda: here.door.asked(episode_of(handle)).count(("call", 0, 0)) == 2)
    here.door.answers[str(state.calls[0].approval)] = False
    await handle.signal(NUDGE)
    return handle


async def cancelled(here: Stage) -> Handle:
    """A cancel during a call."""
    handle = await here.start()
    await until(lambda: ("call", 0, 0) in here.door.asked(episode_of(handle)))
    await handle.cancel()
    return handle


async def failed(here: Stage) -> Handle:
    """A model that never answers."""
    return await here.start()


async def out_of_time(here: Stage) -> Handle:
    """A turn that takes longer than the episode has."""
    return await here.start(limits=Limits(seconds=1))


SCENARIOS: dict[str, tuple[Callable[[Stage], Awaitable[Handle]], list[ScriptedTurn]]] = {
    "answered": (
        answered,
        [
            ScriptedTurn([Scripted(), Scripted(CallStatus.ERROR)], failures=[ModelProviderError("busy")]),
            ScriptedTurn([Scripted(CallStatus.UNAVAILABLE), Scripted(asks=True)]),
            ScriptedTurn(),
        ],
    ),
    "nudged": (nudged, [ScriptedTurn([Scripted(asks=True)]), ScriptedTurn()]),
    "cancelled": (cancelled, [ScriptedTurn([Scripted(seconds=60)])]),
    "failed": (failed, [ScriptedTurn(failures=[ModelProviderError("down", retry_after=0.1)] * 9)]),
    "out_of_time": (out_of_time, [ScriptedTurn(seconds=60)]),
}


async def play(name: str, client: Client, temporal: str) -> list[WorkflowHistory]:
    """Play a scenario to its end; the histories of its runs, the last first."""
    scenario, script = SCENARIOS[name]
    with ServedDoor(ScriptedDoor(script)) as served:
        settings = WorkerSettings(temporal=temporal, task_queue=f"record-{uuid4().hex}", grace=0.2)
        here = Stage(client, served, settings).with_attempts(2)
        async with here.worker():
            handle = await scenario(here)
            try:
                await handle.result()
            except WorkflowFailureError:
                assert name == "cancelled"
            return [history async for history in runs_of(client, handle)]


async def runs_of(client: Client, handle: Handle) -> AsyncGenerator[WorkflowHistory]:
    """Every run of an episode, the last first."""
    run: str | None = None
    while run != "":
        history = await client.get_workflow_handle(handle.id, run_id=run).fetch_history()
        yield history
        run = history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id


def scrubbed(value: JsonValue) -> JsonValue:
    """A history without the stack traces: they are of the machine it was recorded on, and nothing replays them."""
    if isinstance(value, dict):
        return {name: scrubbed(held) for name, held in value.items() if name != "stackTrace"}
    return [scrubbed(held) for held in value] if isinstance(value, list) else value


async def main() -> None:
    """Record every scenario."""
    HISTORIES.mkdir(exist_ok=True)
    with temporal_server() as address:
        client = await connected(address, identity="recorder")  # the default names this machine
        for name in SCENARIOS:
            for number, history in enumerate(reversed(await play(name, client, address)), start=1):
                text = json.dumps(scrubbed(json.loads(history.to_json())), indent=1, sort_keys=True)
                HISTORIES.joinpath(f"v{VERSION}-{name}-{number}.json").write_text(f"{text}\n")


if __name__ == "__main__":
    asyncio.run(main())
