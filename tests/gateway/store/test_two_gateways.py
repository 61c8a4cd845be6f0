"""Two real gateways and one store: the second is refused until the first is gone, and there are never two."""

import asyncio
import base64
import os
import signal
from pathlib import Path

import pytest
from pydantic import SecretStr

from practicum_gateway.settings import Settings
from tests.gateway.process import gateway_process, log_of, start
from tests.postgres import PostgresServer


async def refused(settings: Settings) -> str:
    """What a gateway says that does not start."""
    process = await start(settings)
    assert await asyncio.wait_for(process.wait(), 30) == 2
    return log_of(settings).read_text()


@pytest.fixture
def elsewhere(settings: Settings, tmp_path: Path) -> Settings:
    """The same store, worked on from another data folder, as from another machine."""
    folder = tmp_path / "elsewhere" / "data"
    folder.mkdir(parents=True)
    for place in (folder, settings.data_dir):
        (place / "master.key").write_text(base64.b64encode(bytes(32)).decode())
    file = f"sqlite+aiosqlite:///{settings.data_dir / 'gateway.sqlite3'}"
    return settings.model_copy(update={"data_dir": folder, "database_url": settings.database_url or SecretStr(file)})


async def test_a_second_gateway_takes_over_when_the_first_is_gone(settings: Settings, elsewhere: Settings) -> None:
    async with gateway_process(settings) as first:
        assert "Another gateway works on" in await refused(elsewhere)
        assert (await first.client.get("/readyz")).status_code == 200
        os.kill(first.running.pid, signal.SIGKILL)
        await first.running.wait()
    async with gateway_process(elsewhere) as second:
        assert (await second.client.get("/readyz")).status_code == 200


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_a_gateway_that_lost_its_hold_serves_no_more(
    settings: Settings, elsewhere: Settings, postgres: PostgresServer
) -> None:
    async with gateway_process(settings) as first:
        ended = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
        await asyncio.to_thread(postgres.run, "psql", "--command", ended, "postgres")
        assert await asyncio.wait_for(first.running.wait(), 20) == 2
    async with gateway_process(elsewhere) as second:
        assert (await second.client.get("/readyz")).status_code == 200
    log = log_of(settings).read_text()
    assert "Start it again once the database can be reached" in log
    assert "Traceback" not in log
