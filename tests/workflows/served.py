"""A scripted gateway behind real HTTP, on a free loopback port, in a thread of its own."""

import asyncio
import contextlib
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from practicum.contracts.episodes import (
    CallReceipt,
    Episode,
    EpisodeResult,
    InvokeRequest,
    TurnReceipt,
    TurnRequest,
)
from practicum.errors import PracticumError, UnauthenticatedError
from tests.sdk.episode.scripted import ScriptedDoor
from tests.serving import in_a_thread

T = TypeVar("T")

WORKER_KEY = "prk_worker-canary-0123456789abcdef"


class ServedDoor:
    """Serves a door as a gateway does, and notices callers that hang up."""

    def __init__(self, door: ScriptedDoor) -> None:
        self.door = door
        self.url = ""
        self._serving = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self.url = self._serving.enter_context(in_a_thread(gateway_app(self.door)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._serving.close()


def gateway_app(door: ScriptedDoor) -> FastAPI:
    """The gateway's routes that a driver uses."""
    app = FastAPI()

    @app.exception_handler(PracticumError)
    async def render(_: Request, error: PracticumError) -> JSONResponse:
        return JSONResponse(
            error.problem().model_dump(mode="json"),
            status_code=error.status,
            media_type="application/problem+json",
        )

    @app.post("/v1/episodes/{episode}/turns")
    async def turns(episode: str, body: TurnRequest, request: Request) -> TurnReceipt:
        _authenticate(request)
        return await _while_connected(request, door.take_turn(episode, body))

    @app.post("/v1/episodes/{episode}/calls")
    async def calls(episode: str, body: InvokeRequest, request: Request) -> CallReceipt:
        _authenticate(request)
        return await _while_connected(request, door.invoke(episode, body))

    @app.post("/v1/episodes/{episode}/close")
    async def close(episode: str, body: EpisodeResult, request: Request) -> Episode:
        _authenticate(request)
        return await door.close(episode, body)

    @app.get("/v1/episodes")
    async def episodes(request: Request) -> list[Episode]:
        _authenticate(request)
        return list(door.closed.values())

    del render, turns, calls, close, episodes  # registered; the names served the decorators
    return app


def _authenticate(request: Request) -> None:
    if request.headers.get("authorization") != f"Bearer {WORKER_KEY}":
        raise UnauthenticatedError("No valid key came with the request.")


async def _while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.create_task(work)
    while not task.done():
        await asyncio.wait([task], timeout=0.05)
        if not task.done() and await request.is_disconnected():
            task.cancel()
    return await task
