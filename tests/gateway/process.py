"""A real gateway in a process of its own."""

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

import httpx

from practicum_gateway.settings import Settings
from tests.gateway.conftest import until

PROGRAM = ("practicum_gateway",)


@dataclass
class Process:
    """A gateway that listens.

    Attributes:
        running: the process.
        client: speaks to it with the administrator's key.
    """

    running: asyncio.subprocess.Process
    client: httpx.AsyncClient


async def start(settings: Settings, *, program: tuple[str, ...] = PROGRAM) -> asyncio.subprocess.Process:
    """Start a gateway; what it says goes to `gateway.log` beside its data folder.

    Args:
        settings: of which it is told the data folder, the store and the grace when it ends.
        program: a module and its first arguments.
    """
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    if settings.database_url is not None:
        environment["PRACTICUM_DATABASE_URL"] = settings.database_url.get_secret_value()
    environment["PRACTICUM_DRAIN_GRACE_SECONDS"] = str(settings.drain_grace_seconds)
    with log_of(settings).open("ab") as sink:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", *program, "--port", "0", "--data-dir", str(settings.data_dir)),
            stdout=sink,
            stderr=sink,
            env=environment,
        )


@contextlib.asynccontextmanager
async def gateway_process(settings: Settings, *, program: tuple[str, ...] = PROGRAM) -> AsyncGenerator[Process]:
    """A gateway of its own process, with the administrator's key in hand."""
    log = log_of(settings)
    log.touch()
    before = len(addresses(log))
    process = await start(settings, program=program)
    try:
        await until(lambda: len(addresses(log)) > before or process.returncode is not None)
        assert process.returncode is None, log.read_text()
        key = (settings.data_dir / "admin.key").read_text().strip()
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=addresses(log)[-1], headers=headers, timeout=60) as client:
            yield Process(process, client)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def log_of(settings: Settings) -> Path:
    """What the gateways of a data folder have said."""
    return settings.data_dir.parent / "gateway.log"


def addresses(log: Path) -> list[str]:
    """Where gateways have said that they listen."""
    return re.findall(r"listening on (http://[^,]+),", log.read_text())
