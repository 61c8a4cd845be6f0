"""One trace from an app through gateway and worker to the system, seen by a collector, with nothing that was said."""

import asyncio
import gzip
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from practicum.agent import GatewayDoor
from practicum.client import AsyncPracticum
from practicum.contracts.episodes import EpisodeStatus
from practicum.testing import ScriptedModelServer, call, say
from practicum_gateway.app import app_of, build, running
from practicum_gateway.settings import Settings
from practicum_workflows.settings import WorkerSettings
from practicum_workflows.tracing import Tracing
from practicum_workflows.worker import episode_worker
from tests.gateway.conftest import served, spec_of
from tests.gateway.shop import SECRET, Shop
from tests.workflows.staging import connected, temporal_server

SAID, ANSWERED = "task-words-canary", "answer-words-canary"
PROVIDER_KEY = "sk-of-the-provider-canary"
NOT_TOLD = (SAID, ANSWERED, SECRET, PROVIDER_KEY, "prk_", "ann@example.com")


@dataclass
class Collector:
    """A stand-in for an OpenTelemetry collector: remembers what it was sent."""

    traces: list[ExportTraceServiceRequest] = field(default_factory=list[ExportTraceServiceRequest])
    metrics: list[ExportMetricsServiceRequest] = field(default_factory=list[ExportMetricsServiceRequest])
    logs: list[ExportLogsServiceRequest] = field(default_factory=list[ExportLogsServiceRequest])

    def app(self) -> FastAPI:
        app = FastAPI()

        @app.post("/v1/{kind}")
        async def take(kind: str, request: Request) -> Response:
            body = await request.body()
            body = gzip.decompress(body) if request.headers.get("content-encoding") == "gzip" else body
            if kind == "traces":
                self.traces.append(ExportTraceServiceRequest.FromString(body))
            elif kind == "metrics":
                self.metrics.append(ExportMetricsServiceRequest.FromString(body))
            else:
                self.logs.append(ExportLogsServiceRequest.FromString(body))
            return Response(media_type="application/x-protobuf")

        _ = take
        return app

    def spans(self) -> dict[str, dict[str, set[str]]]:
        """Names of spans by service and trace."""
        found: dict[str, dict[str, set[str]]] = {}
        for resource in (each for sent in self.traces for each in sent.resource_spans):
            names = {each.key: each.value.string_value for each in resource.resource.attributes}
            traces = found.setdefault(names[SERVICE_NAME], {})
            for span in (span for scope in resource.scope_spans for span in scope.spans):
                traces.setdefault(span.trace_id.hex(), set()).add(span.name)
        return found


@pytest.fixture(scope="module")
def temporal() -> Iterator[str]:
    with temporal_server() as address:
        yield address


@pytest.fixture
async def collector() -> AsyncIterator[tuple[Collector, str]]:
    collector = Collector()
    async with served(collector.app()) as url:
        yield collector, url


@asynccontextmanager
async def furnished(settings: Settings, shop: Shop, model: ScriptedModelServer) -> AsyncGenerator[str]:
    """A gateway that may call the shop and ask the model."""
    async with running(build(settings)) as estate, served(app_of(estate)) as url:
        key = (settings.data_dir / "admin.key").read_text().strip()
        async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}) as admin:
            wire = spec_of(shop).model_dump(mode="json", exclude_none=True)
            assert (await admin.post("/v1/connectors", json=wire)).status_code == 201
            alias = {"alias": "scripted", "provider": "litellm", "target": "openai/x", "base_url": model.base_url}
            assert (await admin.post("/v1/models", json=alias | {"api_key": PROVIDER_KEY})).status_code == 201
            assert (await admin.put("/v1/rules", json={"rules": [{"id": "free", "outcome": "allow"}]})).is_success
        yield url


async def test_one_trace_from_the_app_to_the_system(
    tmp_path: Path, temporal: str, shop: Shop, collector: tuple[Collector, str]
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
        model.extend(call("shop_add_note", {"text": SAID}), say(ANSWERED))
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

    spans = taken.spans()
    assert spans["the-app"] == {trace: {"ask"}}
    assert "RunActivity:practicum.invoke_call" in spans["practicum-worker"][trace]
    assert {
        "POST /v1/episodes",
        "POST /v1/episodes/{episode}/turns",
        "chat scripted",
        "POST /v1/episodes/{episode}/calls",
        "execute_tool shop_add_note",
    } <= spans["practicum-gateway"][trace]
    assert len(shop.notes) == 1
    assert any(trace in headers.get("traceparent", "") for headers in shop.seen)

    told = {
        metric.name
        for sent in taken.metrics
        for r in sent.resource_metrics
        for s in r.scope_metrics
        for metric in s.metrics
    }
    assert {"practicum.tool.calls", "gen_ai.client.token.usage", "practicum.episodes.ended"} <= told
    assert "a line of the log" in str(taken.logs)
    everything = "".join(map(str, (*taken.traces, *taken.metrics, *taken.logs)))
    assert [words for words in NOT_TOLD if words in everything] == []
