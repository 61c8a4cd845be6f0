"""`python -m practicum_gateway`: read the settings, listen, serve until asked to stop."""

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import NoReturn

if __name__ == "__main__":
    gc.disable()  # until it listens: what is loaded stays, and to look for garbage meanwhile takes a tenth of the start

import uvicorn
import uvloop
from sqlalchemy.exc import SQLAlchemyError

from practicum.errors import ConfigurationError, PracticumError
from practicum_gateway.app import app_of, build, running
from practicum_gateway.bootstrap import stopped_when_lost
from practicum_gateway.estate import Estate
from practicum_gateway.http.drain import Drain
from practicum_gateway.http.server import configured
from practicum_gateway.settings import Settings
from practicum_gateway.store.outage import outage_of

logger = logging.getLogger("practicum_gateway")

_BACKLOG = 2048
_LOOK_SECONDS = 0.02
"""How often it is looked whether what is under way has ended."""
_GARBAGE = (20_000, 20, 50)
"""After how many new objects garbage is looked for, and after how many times among the older ones."""


class _Server(uvicorn.Server):
    """Tells long answers to end before it waits for them, and leaves signals to `_serve`."""

    def __init__(self, config: uvicorn.Config, estate: Estate) -> None:
        super().__init__(config)
        self._estate = estate

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._estate.end_soon()
        await super().shutdown(sockets)


class _Leaving:
    """Ends the gateway in order at a first signal, and at once at a second."""

    def __init__(self, server: _Server, estate: Estate, drain: Drain) -> None:
        self._server = server
        self._estate = estate
        self._drain = drain
        self._task: asyncio.Task[None] | None = None

    def asked(self) -> None:
        """A signal came."""
        if self._task is None:
            self._task = asyncio.create_task(self._leave())
        else:
            self._now("told a second time to end")

    async def _leave(self) -> None:
        settings = self._estate.main.settings
        self._drain.begin()
        if settings.drain_grace_seconds:
            logger.info("ending: not ready any more, new work is taken for %g s", settings.drain_grace_seconds)
            await asyncio.sleep(settings.drain_grace_seconds)
        self._drain.refuse()
        self._estate.end_soon()
        ends = time.monotonic() + settings.drain_seconds
        while self._drain.under_way or self._estate.calls:
            if time.monotonic() > ends:
                self._now(f"not done in {settings.drain_seconds:g} s")
                return
            await asyncio.sleep(_LOOK_SECONDS)
        self._server.should_exit = True

    def _now(self, why: str) -> None:
        logger.warning("%s: %d requests and %d calls are broken off", why, self._drain.under_way, self._estate.calls)
        self._estate.end_now()
        for connection in tuple(self._server.server_state.connections):
            connection.transport.close()  # no answer says more truly than any that nobody knows what became of it
        self._server.should_exit = self._server.force_exit = True


def main(arguments: list[str] | None = None) -> int:
    """Serve until a signal comes.

    Args:
        arguments: the command line without the program's name.

    Returns:
        0 after an orderly end, 2 when the configuration does not fit or the database went away.
    """
    parser = argparse.ArgumentParser(
        prog="python -m practicum_gateway",
        description="The Practicum gateway. More is set by PRACTICUM_* environment variables.",
    )
    parser.add_argument("--host", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on; 0 takes a free one (default 8321)")
    parser.add_argument("--data-dir", type=Path, help="where the database and the generated keys lie (.practicum)")
    given = parser.parse_args(arguments)
    _configure_logging()
    try:
        settings = Settings.read(os.environ, **vars(given))
        loop = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        with contextlib.closing(_listen(settings)) as listening, loop:
            loop.run(_serve(settings, listening))
    except PracticumError as error:
        return _refused(error)
    except (SQLAlchemyError, ConnectionError) as error:
        outage = outage_of(error)
        if outage is None:
            raise
        return _refused(outage)
    return 0


def _refused(error: PracticumError) -> int:
    sys.stderr.write(f"{error}\n")
    return 2


async def _serve(settings: Settings, listening: socket.socket) -> None:
    async with running(build(settings)) as estate:
        drain = Drain()
        server = _Server(configured(app_of(estate, drain=drain)), estate)
        leaving = _Leaving(server, estate, drain)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, leaving.asked)
        _settle_memory()
        logger.info("listening on %s, data in %s", _url(listening), settings.data_dir)
        async with stopped_when_lost(estate.main.replica, lambda: _drop(server)):
            await server.serve([listening])


def _settle_memory() -> None:
    """Leave what is there from the start out of the search for garbage: a tenth of what a call takes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    gc.enable()


def _drop(server: _Server) -> None:
    server.should_exit = server.force_exit = True


def _listen(settings: Settings) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        listening = socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot listen on {settings.host}:{settings.port}: {error.strerror}.",
            mend="Stop what uses the port, or give another one with --port (0 takes a free one).",
        ) from None
    # asyncio does this for sockets of its own alone. An answer goes out in two pieces, and without it the second waits
    # until the first is acknowledged: 40 ms.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if listening.family == socket.AF_INET6 else f"http://{host}:{port}"


def _configure_logging() -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # These write URLs, and with them query parameters, which may be credentials.
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("alembic", "LiteLLM"):  # the latter says each call of a model, twice
        logging.getLogger(name).setLevel(logging.WARNING)


def leave(code: int) -> NoReturn:
    """End the process without Python's finalisation: it is slow, and temporalio's threads now and then crash in it."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main())
