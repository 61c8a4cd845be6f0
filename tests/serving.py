"""uvicorn for tests: ready and gone as soon as it can be, where uvicorn alone looks ten times a second."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncGenerator, Generator
from typing import Any

import uvicorn

_LOOK_SECONDS = 0.005
"""How often it is looked whether what is waited for has come."""


class Server(uvicorn.Server):
    """Says when it is ready, leaves signals to pytest, and ends when it is told to."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self._told: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def leave(self) -> None:
        """Tell it to end; from any thread."""
        self.should_exit = True
        if self._loop is not None and self._told is not None:
            self._loop.call_soon_threadsafe(self._told.set)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._told, self._loop = asyncio.Event(), asyncio.get_running_loop()
        await super().startup(sockets)
        self.ready.set()

    async def main_loop(self) -> None:
        assert self._told is not None
        while not await self.on_tick(0):  # which sets the date that answers carry
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), 1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let what is under way end, as uvicorn does, for as long as the configuration says."""
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110  # uvicorn's own sets
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            for task in self.server_state.tasks:
                task.cancel()
        await self.lifespan.shutdown()


@contextlib.asynccontextmanager
async def on_this_loop(config: uvicorn.Config) -> AsyncGenerator[str]:
    """A server on a free port, in this event loop; gives its URL."""
    with socket.create_server(("127.0.0.1", 0), backlog=config.backlog) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio leaves it off for such sockets
        server = Server(config)
        task = asyncio.create_task(server.serve([listening]))
        try:
            while not server.ready.is_set():
                if task.done():
                    await task
                    raise AssertionError("the server did not start")
                await asyncio.sleep(_LOOK_SECONDS)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.leave()
            await task


@contextlib.contextmanager
def in_a_thread(app: Any) -> Generator[str]:
    """An app behind a server on a free port, in a thread of its own; gives its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server = Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            assert server.ready.wait(20), "the server did not start"
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.leave()
            thread.join(20)
