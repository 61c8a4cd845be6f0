"""An identity provider on loopback, trusted by the main tenant, and another tenant; all on a gateway's own loop."""

import asyncio
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
import uvloop

from tests.gateway.conftest import served
from tests.gateway.identity_provider import IdentityProvider, create_provider, trust


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loop on which a gateway runs."""
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture
async def provider() -> AsyncIterator[IdentityProvider]:
    provider = IdentityProvider()
    async with served(create_provider(provider)) as url:
        provider.url = url
        yield provider


@pytest.fixture
async def okta(gateway: httpx.AsyncClient, provider: IdentityProvider) -> IdentityProvider:
    """A provider that the main tenant trusts."""
    answer = await trust(gateway, provider.spec())
    assert answer.status_code == 200, answer.text
    return provider


@pytest.fixture
async def sales(gateway: httpx.AsyncClient) -> str:
    """An administrator's key of another tenant."""
    made = await gateway.post("/v1/tenants", json={"name": "sales"})
    key: str = made.json()["key"]["key"]
    return key
