"""Real parts for the gateway's tests: a store on disk, a system and a gateway on loopback."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.types import ASGIApp

from practicum.contracts.connectors import ApiKeyAuth, ConnectorSpec
from practicum_gateway.app import app_of, build, running
from practicum_gateway.estate import Estate
from practicum_gateway.house import House
from practicum_gateway.settings import Settings
from practicum_gateway.store.engine import Store
from practicum_gateway.store.migrate import migrate
from tests.gateway.shop import SECRET, Shop, create_shop
from tests.postgres import Copies, PostgresServer
from tests.serving import on_this_loop

Serve = Callable[[ASGIApp], contextlib.AbstractAsyncContextManager[str]]


ON_BOTH = (
    *("access", "audit", "catalogue", "invocation", "metrics", "record", "store", "webhooks"),
    *("test_secrets.py", "test_tenants.py"),
)
"""The rooms whose tests run on SQLite and on PostgreSQL; what stands above them runs on SQLite alone."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the tests of the rooms that touch the store on both databases."""
    room = metafunc.definition.path.relative_to(Path(__file__).parent).parts[0]
    one = any("database" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "database" in metafunc.fixturenames and room in ON_BOTH and not one:
        metafunc.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """The kind of database under the test."""
    return getattr(request, "param", "sqlite")


def _migrate(url: str) -> None:
    async def make() -> None:
        store = Store(url)
        await migrate(store)
        await store.close()

    asyncio.run(make())


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database without a row, to be copied: migrating takes longer than most tests."""
    path = tmp_path_factory.mktemp("migrated") / "gateway.sqlite3"
    _migrate(f"sqlite+aiosqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def migrated_postgres(postgres: PostgresServer) -> Copies:
    """The same on PostgreSQL, by the name `migrated`."""
    postgres.run("createdb", "migrated")
    _migrate(postgres.url("migrated"))
    return Copies(postgres, "migrated")


@pytest.fixture
def empty_url(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    """The URL of a database in which there is nothing yet."""
    if database == "sqlite":
        yield f"sqlite+aiosqlite:///{tmp_path / 'empty.sqlite3'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    with server.database() as url:
        yield url


@pytest.fixture
def store_url(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    """The URL of a store without a row."""
    if database == "sqlite":
        copied = shutil.copy(request.getfixturevalue("migrated_file"), tmp_path)
        yield f"sqlite+aiosqlite:///{copied}"
        return
    copies: Copies = request.getfixturevalue("migrated_postgres")
    with copies.database() as url:
        yield url


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = Store(store_url)
    yield opened
    await opened.close()


async def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something that another process or task will make true."""
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come true in time")


@contextlib.asynccontextmanager
async def served(app: ASGIApp) -> AsyncGenerator[str]:
    """An app behind a real server on a free port; gives its URL."""
    config = uvicorn.Config(app, lifespan="off", log_level="critical", timeout_graceful_shutdown=1)
    async with on_this_loop(config) as url:
        yield url


@pytest.fixture
def serve() -> Serve:
    return served


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    shop = Shop()
    async with served(create_shop(shop)) as url:
        shop.url = url
        yield shop
        shop.released.set()


@pytest.fixture
def settings(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    if database == "postgresql":
        return Settings(data_dir=data_dir, database_url=request.getfixturevalue("store_url"), call_seconds=5)
    shutil.copy(request.getfixturevalue("migrated_file"), data_dir)
    return Settings(data_dir=data_dir, call_seconds=5)


@pytest.fixture
async def estate(settings: Settings) -> AsyncIterator[Estate]:
    async with running(build(settings)) as estate:
        yield estate


@pytest.fixture
async def house(estate: Estate) -> House:
    """The main tenant's."""
    return estate.main


def spec_of(shop: Shop, name: str = "shop") -> ConnectorSpec:
    return ConnectorSpec(
        name=name,
        source=f"{shop.url}/openapi.json",
        base_url=shop.url,
        auth=ApiKeyAuth(value=SECRET),
        private_network=True,
    )


@pytest.fixture
async def shop_spec(shop: Shop) -> ConnectorSpec:
    return spec_of(shop)


@pytest.fixture
async def gateway(estate: Estate) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway on loopback, with the administrator's key."""
    async with served(app_of(estate)) as url:
        key = (estate.main.settings.data_dir / "admin.key").read_text().strip()
        async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
            yield client


KeyOf = Callable[[str], dict[str, str]]


@pytest.fixture
def key_of(house: House) -> KeyOf:
    """The headers with which one of the installation's first principals calls."""

    def headers(name: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {(house.settings.data_dir / f'{name}.key').read_text().strip()}"}

    return headers
