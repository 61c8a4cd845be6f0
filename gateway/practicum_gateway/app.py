"""The composition root: the only place that knows how the parts fit together."""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Generator
from functools import partial
from importlib.metadata import version
from signal import SIGTERM

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from opentelemetry.sdk.trace import SpanProcessor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import Lifespan

from practicum.contracts.models import Provider
from practicum.contracts.tenants import MAIN
from practicum_gateway.access.approvals import Approvals
from practicum_gateway.access.issuers import Issuers
from practicum_gateway.access.keys import Keys
from practicum_gateway.access.rulebook import Rulebook
from practicum_gateway.access.spending import Budgets
from practicum_gateway.audit.audit import Audit
from practicum_gateway.bootstrap import install_keys, master_key_of, only_gateway, stopped_when_lost
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.content import ALL, Content
from practicum_gateway.episodes.calls import Calls
from practicum_gateway.episodes.chat import Chat
from practicum_gateway.episodes.episodes import Episodes
from practicum_gateway.episodes.examples import Examples
from practicum_gateway.episodes.practice import PracticeCopies
from practicum_gateway.episodes.temporal import Workflows
from practicum_gateway.episodes.trajectories import Trajectories
from practicum_gateway.episodes.turns import Turns
from practicum_gateway.estate import Estate, resume
from practicum_gateway.house import House
from practicum_gateway.http import (
    approvals,
    artifacts,
    audit,
    calls,
    chat,
    connectors,
    episodes,
    health,
    issuers,
    keys,
    metrics,
    models,
    responses,
    rules,
    secrets,
    tenants,
    tools,
    trajectories,
    webhooks,
)
from practicum_gateway.http.audited import Acting, Watched
from practicum_gateway.http.drain import Drain, Drained
from practicum_gateway.http.health import Readiness
from practicum_gateway.http.mcp import PATH as MCP_PATH
from practicum_gateway.http.mcp import McpEndpoint
from practicum_gateway.http.measured import Measured
from practicum_gateway.http.middleware import Boundary, Door, Scales, Traced
from practicum_gateway.http.problems import describe_problems, on_http_exception, on_validation_error
from practicum_gateway.http.shortcut import Shortcut
from practicum_gateway.invocation.artifacts import Artifacts
from practicum_gateway.invocation.compensations import Compensations
from practicum_gateway.invocation.ledger import Ledger
from practicum_gateway.invocation.pipeline import Pipeline
from practicum_gateway.invocation.preview import Previews
from practicum_gateway.metrics.meter import Meter
from practicum_gateway.models.checks import Checks
from practicum_gateway.models.completions import CompletionsProvider
from practicum_gateway.models.embeddings import Embeddings
from practicum_gateway.models.litellm_provider import LitellmProvider
from practicum_gateway.models.llama_cpp import LlamaCppProvider
from practicum_gateway.models.promotions import Promotions
from practicum_gateway.models.registry import Registry
from practicum_gateway.models.router import Models
from practicum_gateway.record.bell import Bell
from practicum_gateway.record.record import Record
from practicum_gateway.rotation import Rotation
from practicum_gateway.secrets.outside import Outside, outside_of
from practicum_gateway.settings import Settings
from practicum_gateway.store.data_keys import DataKeys
from practicum_gateway.store.engine import Store
from practicum_gateway.store.migrate import head, migrate
from practicum_gateway.store.notices import Topic
from practicum_gateway.store.replicas import Replica
from practicum_gateway.store.tenants import TenantStores
from practicum_gateway.store.vault import MasterKey, Vault, new_key
from practicum_gateway.survey import Survey, tell
from practicum_gateway.telemetry import Telemetry
from practicum_gateway.webhooks.answers import Answers
from practicum_gateway.webhooks.couriers import Couriers
from practicum_gateway.webhooks.outbox import Outbox
from practicum_gateway.webhooks.webhooks import Webhooks

_MARGIN_SECONDS = 30.0

ROUTERS = (
    health.router,
    metrics.router,
    connectors.router,
    tools.router,
    artifacts.router,
    calls.router,
    rules.router,
    approvals.router,
    webhooks.answers,
    webhooks.router,
    audit.router,
    keys.router,
    issuers.router,
    secrets.router,
    tenants.router,
    models.router,
    chat.router,
    responses.router,
    episodes.router,
    trajectories.router,
)


def build(settings: Settings, *, spans: SpanProcessor | None = None) -> House:
    """Build every service of the main tenant.

    Nothing is opened, connected or written yet, but for the keys made at a first start.

    Args:
        settings: what the operator set.
        spans: takes the spans of this process, besides the configured endpoint.

    Raises:
        ConfigurationError: the settings do not fit this machine.
    """
    telemetry = Telemetry(settings.otlp_endpoint, processor=spans)
    outside = outside_of(settings)
    replica, key = Replica(), master_key_of(settings, outside)
    store = Store(settings.url, name=replica.boot, lost=replica.lost)
    return _house(MAIN, settings, store, key, telemetry, outside=outside, replica=replica)


def _house(
    tenant: str,
    settings: Settings,
    store: Store,
    master: MasterKey,
    telemetry: Telemetry,
    *,
    outside: Outside,
    replica: Replica,
) -> House:
    """The services of one tenant, over its own store and under its own keys."""
    meter = Meter()
    content = Content() if {tenant, ALL}.intersection(settings.telemetry_content) else None
    secrets_outside = outside.secrets(tenant)
    vault = Vault(new_key())  # opened with the store's own keys
    keys = Keys(store, tenant)
    rulebook = Rulebook(store)
    outbox = Outbox(tenant, settings.public_url)
    approvals = Approvals(store, seconds=settings.approval_seconds, notices=outbox)
    couriers = Couriers(store, meter=meter, leads=replica.leads)
    webhooks = Webhooks(store, vault, outbox, couriers, elsewhere=partial(replica.ring, Topic.MESSAGES, tenant))
    budgets = Budgets(store, rulebook)
    catalogue = Catalogue(store, vault, secrets_outside)
    ledger = Ledger(store, boot=replica.boot, patience=2 * settings.call_seconds + _MARGIN_SECONDS)
    log = Audit(store, days=settings.audit_days)
    kept = Artifacts(store)
    record = Record(store, Bell(partial(replica.ring, Topic.EVENTS, tenant)))
    pipeline = Pipeline(
        catalogue=catalogue,
        rulebook=rulebook,
        approvals=approvals,
        budgets=budgets,
        ledger=ledger,
        artifacts=kept,
        audit=log,
        events=record,
        tracer=telemetry.tracer,
        meter=meter,
        content=content,
        call_seconds=settings.call_seconds,
    )
    registry = Registry(store, vault, secrets_outside)
    litellm, llama_cpp = LitellmProvider(timeout_seconds=settings.model_seconds), LlamaCppProvider()
    completions = CompletionsProvider()
    providers = {Provider.LITELLM: litellm, Provider.LLAMA_CPP: llama_cpp, Provider.COMPLETIONS: completions}
    models = Models(registry, providers, telemetry.tracer, meter, content, seconds=settings.model_seconds)
    episodes = Episodes(
        record=record,
        registry=registry,
        catalogue=catalogue,
        approvals=approvals,
        keys=keys,
        workflows=Workflows(
            settings.temporal_address,
            namespace=settings.temporal_namespace,
            task_queue=settings.task_queue,
            tenant=tenant,
            tracer=telemetry.tracer,
        ),
        turns=Turns(record, models, budgets),
        calls=Calls(record, pipeline, approvals),
        practice=PracticeCopies(catalogue, record),
        examples=Examples(Embeddings(models)),
        meter=meter,
        tracer=telemetry.tracer,
    )
    approvals.on_answer, approvals.meter = episodes.answered, meter
    return House(
        tenant=tenant,
        settings=settings,
        store=store,
        replica=replica,
        outside=outside,
        telemetry=telemetry,
        meter=meter,
        keys=keys,
        issuers=Issuers(store),
        rulebook=rulebook,
        audit=log,
        approvals=approvals,
        webhooks=webhooks,
        answers=Answers(approvals),
        catalogue=catalogue,
        ledger=ledger,
        artifacts=kept,
        pipeline=pipeline,
        previews=Previews(catalogue, rulebook, pipeline),
        compensations=Compensations(store, catalogue),
        record=record,
        registry=registry,
        rotation=Rotation(
            DataKeys(store, vault, master),
            (catalogue.seal_anew, registry.seal_anew, webhooks.seal_anew),
            replica.all_heard,
        ),
        promotions=Promotions(store, registry),
        checks=Checks(store, models),
        episodes=episodes,
        chat=Chat(record, models, budgets),
        trajectories=Trajectories(record, ledger),
        providers=(litellm.close, llama_cpp.aclose, completions.close),
    )


@contextlib.asynccontextmanager
async def running(house: House) -> AsyncGenerator[Estate]:
    """Open the main tenant's house and those of the others, and leave nothing half-done behind them.

    Raises:
        ConfigurationError: a store cannot be opened, or another gateway works on the same data.
    """
    with only_gateway(house.settings.data_dir):
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(asyncio.to_thread, house.telemetry.close)
            stack.push_async_callback(house.outside.aclose)
            stack.push_async_callback(house.store.close)
            await stack.enter_async_context(house.replica.joined(house.store, head()))
            await stack.enter_async_context(_opened(house))
            await install_keys(house.settings, house.keys, alone=house.replica.is_alone)
            stores = TenantStores(house.store, house.settings.url, house.settings.data_dir)
            master = master_key_of(house.settings, house.outside)

            @contextlib.asynccontextmanager
            async def opener(tenant: str) -> AsyncGenerator[House]:
                store, key = stores.store(tenant), master.of_tenant(tenant)
                other = _house(
                    tenant,
                    house.settings,
                    store,
                    key,
                    house.telemetry,
                    outside=house.outside,
                    replica=house.replica,
                )
                async with _opened(other):
                    yield other

            estate = Estate(house, stores, opener)
            stack.push_async_callback(estate.close)
            await estate.open()
            await house.replica.opened(estate.heed)
            for watching in _watched(estate):
                stack.push_async_callback(_cancel, watching)
            yield estate


@contextlib.asynccontextmanager
async def _opened(house: House) -> AsyncGenerator[None]:
    """Open one tenant's house for as long as the block lasts."""
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(house.store.close)
        await house.store.check()
        await migrate(house.store)
        await house.rotation.open()
        await house.issuers.open()
        await house.webhooks.open()
        house.audit.open()
        stack.push_async_callback(house.audit.close)
        for close in (
            *house.providers,
            house.issuers.close,
            house.webhooks.close,
            house.catalogue.close,
            house.chat.close,
            house.pipeline.close,
            house.episodes.close_turns,
        ):
            stack.push_async_callback(close)
        stack.callback(house.closing.set)
        await house.pipeline.recover()
        resuming = asyncio.create_task(resume(house))
        stack.push_async_callback(_cancel, resuming)
        yield


def create_app(settings: Settings, *, spans: SpanProcessor | None = None) -> FastAPI:
    """The gateway as an ASGI app that opens its house when it starts.

    Args:
        settings: what the operator set.
        spans: takes the spans of this process, besides the configured endpoint.
    """
    house = build(settings, spans=spans)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with running(house) as estate, stopped_when_lost(house.replica, lambda: os.kill(os.getpid(), SIGTERM)):
            app.state.estate = estate
            yield

    return _app(house, lifespan)


def app_of(estate: Estate, *, drain: Drain | None = None) -> FastAPI:
    """The ASGI app over an estate.

    Args:
        estate: the houses of all tenants; open for as long as requests come.
        drain: says when the gateway leaves.
    """
    app = _app(estate.main, drain=drain)
    app.state.estate = estate
    return app


def _app(house: House, lifespan: Lifespan[FastAPI] | None = None, drain: Drain | None = None) -> FastAPI:
    """The ASGI app, which finds the estate at `app.state.estate` once that is open."""
    settings, drain = house.settings, drain or Drain()
    app = FastAPI(
        title="Practicum gateway",
        version=version("practicum"),
        summary="The only door between agents, models and systems.",
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # a path is known or it is not
        exception_handlers={HTTPException: on_http_exception, RequestValidationError: on_validation_error},
        middleware=[
            Middleware(Traced, tracer=house.telemetry.tracer),
            Middleware(Measured, meter=house.telemetry.requests),
            Middleware(Drained, drain=drain),
            Middleware(Watched),
            Middleware(Boundary),
            Middleware(Door),
            Middleware(Acting),
            Middleware(Scales, most=settings.body_bytes, most_at={"/v1/connectors": settings.document_bytes}),
            Middleware(Shortcut),
        ],
    )
    app.state.readiness, app.state.survey = Readiness(drain), Survey(house.telemetry)
    endpoint = McpEndpoint(origins=settings.mcp_origins, most=settings.body_bytes)
    app.router.routes.append(Route(MCP_PATH, endpoint))  # first: the others are looked at in turn
    # The routes as they are: to include their routers would make each anew, a tenth of a second of the first requests.
    app.router.routes.extend(route for router in ROUTERS for route in router.routes)
    describe_problems(app)
    return app


def _watched(estate: Estate) -> Generator[asyncio.Task[None]]:
    """What goes on in the background: others watch the gateway, and it watches for others."""
    telemetry = estate.main.telemetry
    yield asyncio.create_task(estate.take_up())
    yield asyncio.create_task(telemetry.process.watch())
    if telemetry.is_collected:
        yield asyncio.create_task(tell(estate))


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait((task,))  # who waits for it may be cancelled too
    if not task.cancelled():
        task.result()
