"""Starting and stopping: the first keys, the lock, one clear error, an orderly end."""

import asyncio
import signal
import socket
import statistics
import sys
import time
from pathlib import Path

import httpx
import pytest

from practicum.errors import ConfigurationError
from practicum_gateway.__main__ import main
from practicum_gateway.app import build, create_app, running
from practicum_gateway.bootstrap import master_key_of
from practicum_gateway.settings import Settings
from tests.gateway.conftest import Serve, until
from tests.gateway.process import gateway_process


async def test_a_first_start_makes_keys_for_its_owner_alone(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new" / "data")
    async with running(build(settings)):
        pass
    made = {path.name: path.stat().st_mode & 0o777 for path in settings.data_dir.glob("*.key")}
    assert made == dict.fromkeys(("admin.key", "approver.key", "master.key", "worker.key"), 0o600)
    assert settings.data_dir.stat().st_mode & 0o777 == 0o700
    before = {path.name: path.read_text() for path in settings.data_dir.glob("*.key")}
    house = build(settings)
    async with running(house):
        assert (await house.keys.authenticate(before["admin.key"].strip())).name == "admin"
    assert {path.name: path.read_text() for path in settings.data_dir.glob("*.key")} == before


async def test_configured_keys_are_used_and_not_written_down(tmp_path: Path) -> None:
    settings = Settings.read(
        {
            "PRACTICUM_DATA_DIR": str(tmp_path / "data"),
            "PRACTICUM_ADMIN_KEY": "prk_configured-admin-key-1",
            "PRACTICUM_WORKER_KEY": "prk_configured-worker-key-1",
            "PRACTICUM_APPROVER_KEY": "prk_configured-approver-key-1",
            "PRACTICUM_MASTER_KEY": "A" * 43 + "=",
        }
    )
    house = build(settings)
    async with running(house):
        assert (await house.keys.authenticate("prk_configured-worker-key-1")).name == "worker"
    assert list(settings.data_dir.glob("*.key")) == []


async def test_two_gateways_do_not_work_on_the_same_data(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    async with running(build(settings)):
        with pytest.raises(ConfigurationError, match="Another gateway"):
            async with running(build(settings)):
                pass
    async with running(build(settings)):
        pass


def test_a_master_key_that_was_damaged_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "master.key").write_text("oops")
    with pytest.raises(ConfigurationError, match=r"master\.key"):
        master_key_of(Settings(data_dir=tmp_path))


async def test_a_store_that_cannot_be_opened_stops_the_start(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/no/such/folder/x.sqlite3"
    settings = Settings.read({"PRACTICUM_DATA_DIR": str(tmp_path), "PRACTICUM_DATABASE_URL": url})
    with pytest.raises(ConfigurationError, match="cannot be opened"):
        async with running(build(settings)):
            pass


async def test_the_app_opens_and_closes_its_own_house(tmp_path: Path, serve: Serve) -> None:
    app = create_app(Settings(data_dir=tmp_path))
    async with (
        app.router.lifespan_context(app),
        serve(app) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as client,
    ):
        assert (await client.get("/readyz")).json()["status"] == "ready"
    async with running(build(Settings(data_dir=tmp_path))):
        pass


async def test_it_serves_and_ends_in_order(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("ab") as sink:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "practicum_gateway", "--port", "0", "--data-dir", str(tmp_path / "data")),
            stdout=sink,
            stderr=sink,
        )
    await until(lambda: "listening on" in log.read_text() or process.returncode is not None)
    assert process.returncode is None, log.read_text()
    url = log.read_text().partition("listening on ")[2].partition(",")[0]
    async with httpx.AsyncClient(timeout=60) as client:
        assert (await client.get(f"{url}/healthz")).json() == {"status": "ok"}
    process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 20) == 0
    assert "Traceback" not in await asyncio.to_thread(log.read_text)


def test_a_port_in_use_is_one_clear_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["--port", str(port), "--data-dir", str(tmp_path / "data")]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert said[0].startswith(f"Cannot listen on 127.0.0.1:{port}")
    assert said[1].strip().startswith("->")
    assert not (tmp_path / "data").exists()


def test_a_setting_that_does_not_fit_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PRACTICUM_MASTER_KEY", "not-a-key")
    assert main([]) == 2
    said = capsys.readouterr().err
    assert "PRACTICUM_MASTER_KEY" in said
    assert "not-a-key" not in said


async def test_no_answer_waits_for_the_acknowledgement_of_its_head(tmp_path: Path) -> None:
    async with gateway_process(Settings(data_dir=tmp_path / "data")) as gateway:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.client.base_url.port)
        waits: list[float] = []
        for _ in range(60):  # at first every piece is acknowledged at once
            began = time.perf_counter()
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n")
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))
            waits.append(time.perf_counter() - began)
        writer.close()
    assert statistics.median(waits) < 0.035
