"""The small world, one for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import SecretStr

from practicum.testing import ScriptedModelServer
from practicum_gateway.app import create_app
from practicum_gateway.settings import Settings
from tests.gateway.episodes.world import SYSTEM, Shop, World, serving

ADMIN, WORKER, APPROVER = "prk_admin_0123456789abcdef", "prk_worker_0123456789abcdef", "prk_approver_0123456789abcdef"


def client_of(url: str, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        data_dir=tmp_path,
        admin_key=SecretStr(ADMIN),
        worker_key=SecretStr(WORKER),
        approver_key=SecretStr(APPROVER),
    )


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
async def world(settings: Settings, spans: InMemorySpanExporter) -> AsyncIterator[World]:
    shop = Shop()
    with ScriptedModelServer() as model:
        async with (
            serving(shop.app()) as shop_url,
            serving(create_app(settings, spans=SimpleSpanProcessor(spans))) as url,
            client_of(url, ADMIN) as admin,
            client_of(url, APPROVER) as approver,
        ):
            shop.url = shop_url
            spec = {"name": "shop", "source": f"{shop_url}/openapi.json", "base_url": shop_url, "private_network": True}
            answer = await admin.post("/v1/connectors", json=spec)
            assert answer.status_code == 201, answer.text
            alias = {
                "alias": "scripted",
                "provider": "litellm",
                "target": "openai/scripted",
                "base_url": model.base_url,
                "api_key": "sk-of-the-provider-0123456789",
                "system": SYSTEM,
            }
            answer = await admin.post("/v1/models", json=alias)
            assert answer.status_code == 201, answer.text
            yield World(url=url, admin=admin, approver=approver, model=model, shop=shop)
