"""A backup of a store that is in use: what is restored from it says what was said, and nothing is done again."""

import asyncio
import shutil
import stat
import tarfile
from pathlib import Path

import pytest

from practicum.cli.main import invoke
from practicum.contracts.access import Outcome, Role, Rule, RuleSet
from practicum.contracts.tools import CallStatus
from practicum_gateway.access.principals import Principal
from practicum_gateway.app import build, running
from practicum_gateway.estate import Estate
from practicum_gateway.house import House
from practicum_gateway.invocation.intent import Intent
from practicum_gateway.settings import Settings
from tests.gateway.conftest import spec_of
from tests.gateway.shop import SECRET, Shop
from tests.postgres import PostgresServer

ROOT = Principal(name="root", role=Role.ADMIN, key_id="k0")
SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


def note(key: str) -> Intent:
    return Intent(principal=ROOT, tool="shop_add_note", arguments={"text": key}, key=key)


async def furnish(house: House, shop: Shop) -> None:
    await house.catalogue.register(spec_of(shop))
    await house.rulebook.replace(RuleSet(rules=(Rule(id="free", outcome=Outcome.ALLOW),)), ROOT)


async def says_the_same(house: House, shop: Shop) -> None:
    """A house over a restored store remembers the call of key `before` and can make others."""
    done = len(shop.notes)
    assert (await house.pipeline.invoke(note("before"))).content == '{"note":1}'
    assert len(shop.notes) == done
    assert (await house.pipeline.invoke(note("after"))).status is CallStatus.OK
    assert (await house.audit.verify()).ok


@SQLITE
async def test_a_store_in_use_is_copied_whole_and_starts_again(
    estate: Estate, settings: Settings, shop: Shop, tmp_path: Path
) -> None:
    await furnish(estate.main, shop)
    await estate.create("north", "ann")
    await estate.main.pipeline.invoke(note("before"))
    busy = asyncio.gather(*(estate.main.pipeline.invoke(note(f"k{number}")) for number in range(20)))
    file = tmp_path / "copy.tar.gz"
    given = ("backup", str(file), "--state-dir", str(settings.data_dir))
    assert await asyncio.to_thread(invoke, given) == 0
    await busy
    assert len(shop.notes) == 21
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    restored = tmp_path / "restored"
    with tarfile.open(file) as archive:
        assert archive.getnames() == ["gateway.sqlite3", "tenants/north/gateway.sqlite3"]
        archive.extractall(restored, filter="data")
    shutil.copy(settings.data_dir / "master.key", restored)
    assert SECRET.encode() not in (restored / "gateway.sqlite3").read_bytes()
    async with running(build(Settings(data_dir=restored, call_seconds=5))) as again:
        assert again.tenants == ("main", "north")
        await says_the_same(again.main, shop)


@SQLITE
async def test_a_store_that_is_not_in_use_is_copied_too(settings: Settings, tmp_path: Path) -> None:
    async with running(build(settings)):
        pass
    file = tmp_path / "copy.tar.gz"
    assert await asyncio.to_thread(invoke, ("backup", str(file), "--state-dir", str(settings.data_dir))) == 0
    with tarfile.open(file) as archive:
        assert archive.getnames() == ["gateway.sqlite3"]


def test_what_cannot_be_copied_is_said_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there, state = tmp_path / "there", ("--state-dir", str(tmp_path / "data"))
    there.write_text("precious")
    assert invoke(("backup", str(tmp_path / "new"), *state)) == 5
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "gateway.sqlite3").write_text("no database, and long enough to be taken for one" * 20)
    assert invoke(("backup", str(there), *state)) == 2
    assert invoke(("backup", str(tmp_path / "no" / "folder"), *state)) == 2
    assert invoke(("backup", str(tmp_path / "new"), *state)) == 2
    assert invoke(("backup", str(tmp_path / "new"), "--database-url", "postgresql://ann:canary@db/x")) == 2
    said = capsys.readouterr().err
    for words in ("There is no store", "is there already", "cannot be written", "not a database", "pg_dump"):
        assert words in said
    assert "canary" not in said
    assert there.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "there"]


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
async def test_a_dump_of_postgresql_restores(
    estate: Estate, settings: Settings, shop: Shop, postgres: PostgresServer, tmp_path: Path
) -> None:
    await furnish(estate.main, shop)
    await estate.create("north", "ann")
    await estate.main.pipeline.invoke(note("before"))
    file, name = str(tmp_path / "practicum.dump"), str(estate.main.store.engine.url.database)
    await asyncio.to_thread(postgres.run, "pg_dump", "--format=custom", f"--file={file}", name)

    with postgres.database() as url:
        restored = url.partition("@/")[2].partition("?")[0]
        await asyncio.to_thread(postgres.run, "pg_restore", "--exit-on-error", f"--dbname={restored}", file)
        folder = tmp_path / "restored"
        folder.mkdir()
        shutil.copy(settings.data_dir / "master.key", folder)
        async with running(build(Settings.model_validate({"data_dir": folder, "database_url": url}))) as again:
            assert again.tenants == ("main", "north")
            await says_the_same(again.main, shop)
