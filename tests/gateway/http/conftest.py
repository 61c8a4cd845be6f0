"""An identity provider on loopback, trusted by the main tenant, and another tenant."""

from collections.abc import AsyncIterator

import httpx
import pytest

from tests.gateway.conftest import served
from tests.gateway.identity_provider import IdentityProvider, create_provider, trust


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
