"""Real parts for the gateway's tests: a store on disk, a system and a gateway on loopback."""

import asyncio
import contextlib
import shutil
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.types import ASGIApp

from practicum.contracts.connectors import ApiKeyAuth, ConnectorSpec
from practicum_gateway.app import app_of, build, running
from practicum_gateway.house import House
from practicum_gateway.settings import Settings
from practicum_gateway.store.engine import Store
from practicum_gateway.store.migrate import migrate
from tests.gateway.shop import SECRET, Shop, create_shop

Serve = Callable[[ASGIApp], contextlib.AbstractAsyncContextManager[str]]


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database without a row, to be copied: migrating takes longer than most tests."""
    path = tmp_path_factory.mktemp("migrated") / "gateway.sqlite3"

    async def make() -> None:
        store = Store(f"sqlite+aiosqlite:///{path}")
        await migrate(store)
        await store.close()

    asyncio.run(make())
    return path


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path / 'gateway.sqlite3'}"


@pytest.fixture
async def store(store_url: str, migrated: Path) -> AsyncIterator[Store]:
    opened = Store(store_url)
    shutil.copy(migrated, str(opened.engine.url.database))
    yield opened
    await opened.close()


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something that another process or task will make true."""
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come true in time")


class Server(uvicorn.Server):
    """Says when it is ready, and leaves signals to pytest."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextlib.asynccontextmanager
async def served(app: ASGIApp) -> AsyncGenerator[str]:
    """An app behind a real server on a free port; gives its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, lifespan="off", log_level="critical", timeout_graceful_shutdown=1)
        server = Server(config)
        task = asyncio.create_task(server.serve([listening]))
        try:
            await asyncio.wait_for(server.ready.wait(), 10)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task


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
def settings(tmp_path: Path, migrated: Path) -> Settings:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    shutil.copy(migrated, data_dir)
    return Settings(data_dir=data_dir, call_seconds=5)


@pytest.fixture
async def house(settings: Settings) -> AsyncIterator[House]:
    house = build(settings)
    async with running(house):
        yield house


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
async def gateway(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a gateway on loopback, with the administrator's key."""
    async with served(app_of(house)) as url:
        key = (house.settings.data_dir / "admin.key").read_text().strip()
        async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}) as client:
            yield client


KeyOf = Callable[[str], dict[str, str]]


@pytest.fixture
def key_of(house: House) -> KeyOf:
    """The headers with which one of the installation's first principals calls."""

    def headers(name: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {(house.settings.data_dir / f'{name}.key').read_text().strip()}"}

    return headers
