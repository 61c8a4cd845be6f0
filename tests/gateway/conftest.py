"""Real parts for the gateway's tests."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from practicum_gateway.store.engine import Store
from practicum_gateway.store.migrate import migrate


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    return f"sqlite+aiosqlite:///{tmp_path / 'gateway.sqlite3'}"


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    opened = Store(store_url)
    await migrate(opened)
    yield opened
    await opened.close()
