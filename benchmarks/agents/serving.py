"""How a runner of agents is asked: a line of JSON on stdin for each run, a line of JSON on stdout for its end.

A wish names the gateway (`url`), the episode's key (`key`), the model and the task; whether the model is asked by
`responses` or `chat` (`api`), in a stream or not (`streamed`); and what else the agent is to be: one with an answer in
a form (`formed`), one that hands over to another (`hands_over`). This module stands in foreign interpreters: it needs
nothing but Python.
"""

import asyncio
import json
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

INSTRUCTIONS = "You look after orders."
SPECIALIST = "You give refunds."

Run = Callable[[dict[str, Any]], Awaitable[str]]


def serve(run: Run) -> None:
    """Run agents, as many at a time as are asked for, until stdin ends."""
    asyncio.run(_serve(run))


async def _serve(run: Run) -> None:
    running: set[asyncio.Task[None]] = set()
    print("{}", flush=True)  # ready
    while line := await asyncio.to_thread(sys.stdin.readline):
        task = asyncio.create_task(_one(run, json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)
    if running:
        await asyncio.wait(running)


async def _one(run: Run, wish: dict[str, Any]) -> None:
    try:
        told = {"answer": await run(wish)}
    except Exception as error:  # noqa: BLE001  # whatever an agent ends with is what its caller is told
        told = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
    print(json.dumps({"id": wish["id"], **told}), flush=True)
