"""One trace from an app through gateway and worker to the system, seen by a collector, with nothing that was said."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from practicum.agent import GatewayDoor
from practicum.client import AsyncPracticum
from practicum.contracts.episodes import EpisodeStatus
from practicum.testing import ScriptedModelServer, call, fail, say
from practicum_gateway.app import app_of, build, running
from practicum_gateway.settings import Settings
from practicum_workflows.settings import WorkerSettings
from practicum_workflows.tracing import Tracing
from practicum_workflows.worker import episode_worker
from tests.gateway.conftest import served, spec_of
from tests.gateway.metrics.receiver import Receiver
from tests.gateway.shop import SECRET, Shop
from tests.workflows.staging import connected, temporal_server

SAID, ANSWERED = "task-words-canary", "answer-words-canary"
PROVIDER_KEY = "sk-of-the-provider-canary"
NOT_TOLD = (SAID, ANSWERED, SECRET, PROVIDER_KEY, "prk_", "ann@example.com")


@pytest.fixture(scope="module")
def temporal() -> Iterator[str]:
    with temporal_server() as address:
        yield address


@pytest.fixture
async def collector() -> AsyncIterator[tuple[Receiver, str]]:
    receiver = Receiver()
    async with served(receiver.app()) as url:
        yield receiver, url


@asynccontextmanager
async def furnished(settings: Settings, shop: Shop, model: ScriptedModelServer) -> AsyncGenerator[str]:
    """A gateway that may call the shop and ask the model."""
    async with running(build(settings)) as estate, served(app_of(estate)) as url:
        key = (settings.data_dir / "admin.key").read_text().strip()
        async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as admin:
            wire = spec_of(shop).model_dump(mode="json", exclude_none=True)
            assert (await admin.post("/v1/connectors", json=wire)).status_code == 201
            alias = {"alias": "scripted", "provider": "litellm", "target": "openai/x", "base_url": model.base_url}
            assert (await admin.post("/v1/models", json=alias | {"api_key": PROVIDER_KEY})).status_code == 201
            assert (await admin.put("/v1/rules", json={"rules": [{"id": "free", "outcome": "allow"}]})).is_success
        yield url


async def test_one_trace_from_the_app_to_the_system(
    tmp_path: Path, temporal: str, shop: Shop, collector: tuple[Receiver, str]
) -> None:
    taken, endpoint = collector
    settings = Settings(
        data_dir=tmp_path, temporal_address=temporal, task_queue=f"test-{uuid4().hex}", otlp_endpoint=endpoint
    )
    apps = TracerProvider(resource=Resource.create({SERVICE_NAME: "the-app"}), shutdown_on_exit=False)
    apps.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")))
    tracing = Tracing(endpoint)
    worker = WorkerSettings(temporal=temporal, task_queue=settings.task_queue, grace=1)
    with ScriptedModelServer() as model:
        model.extend(fail(500, f"cannot read {SAID}"), call("shop_add_note", {"text": SAID}), say(ANSWERED))
        async with furnished(settings, shop, model) as url:
            keys = {name: (tmp_path / f"{name}.key").read_text().strip() for name in ("admin", "worker")}
            async with (
                AsyncPracticum(url, keys["admin"]) as app,
                AsyncPracticum(url, keys["worker"]) as door,
                episode_worker(await connected(temporal), GatewayDoor(door), worker, tracing=tracing),
            ):
                with apps.get_tracer("app").start_as_current_span("ask") as span:
                    trace = f"{span.get_span_context().trace_id:032x}"
                    task = f"{SAID} ann@example.com"
                    started = await app.episodes.start(task, model="scripted", tools=["shop.*"])
                logging.getLogger("practicum_gateway").warning("a line of the log")
                assert (await started.result(timeout=30)).status is EpisodeStatus.COMPLETED
    await asyncio.to_thread(tracing.close)
    await asyncio.to_thread(apps.shutdown)

    spans = taken.names()
    assert spans["the-app"] == {trace: {"ask"}}
    assert "RunActivity:practicum.invoke_call" in spans["practicum-worker"][trace]
    assert {
        "POST /v1/episodes",
        "POST /v1/episodes/{episode}/turns",
        "chat scripted",
        "POST /v1/episodes/{episode}/calls",
        "execute_tool shop_add_note",
        "invoke_agent",
    } <= spans["practicum-gateway"][trace]
    assert len(shop.notes) == 1
    assert any(trace in headers.get("traceparent", "") for headers in shop.seen)

    assert {"practicum.tool.calls", "gen_ai.client.token.usage", "gen_ai.invoke_agent.duration"} <= taken.measured()
    for name in ("gen_ai.client.token.usage", "gen_ai.invoke_agent.duration", "practicum.episodes.ended"):
        assert {(point["tenant"], point["domain"]) for point in taken.counted(name)} == {("main", "shop")}, name
    assert {point["gen_ai.tool.name"] for point in taken.counted("gen_ai.execute_tool.duration")} == {"shop_add_note"}
    assert {"practicum.model.retries", "practicum.episodes.ended"} <= taken.measured()
    assert "a line of the log" in str(taken.logs)
    assert [words for words in NOT_TOLD if words in taken.everything] == []
