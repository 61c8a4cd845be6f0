"""The house: every service of one tenant, built once by the composition root."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from practicum_gateway.access.approvals import Approvals
from practicum_gateway.access.issuers import Issuers
from practicum_gateway.access.keys import Keys
from practicum_gateway.access.rulebook import Rulebook
from practicum_gateway.audit.audit import Audit
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.episodes.chat import Chat
from practicum_gateway.episodes.episodes import Episodes
from practicum_gateway.episodes.trajectories import Trajectories
from practicum_gateway.invocation.artifacts import Artifacts
from practicum_gateway.invocation.compensations import Compensations
from practicum_gateway.invocation.ledger import Ledger
from practicum_gateway.invocation.pipeline import Pipeline
from practicum_gateway.invocation.preview import Previews
from practicum_gateway.metrics.meter import Meter
from practicum_gateway.models.checks import Checks
from practicum_gateway.models.promotions import Promotions
from practicum_gateway.models.registry import Registry
from practicum_gateway.record.record import Record
from practicum_gateway.rotation import Rotation
from practicum_gateway.secrets.outside import Outside
from practicum_gateway.settings import Settings
from practicum_gateway.store.engine import Store
from practicum_gateway.store.replicas import Replica
from practicum_gateway.telemetry import Telemetry
from practicum_gateway.webhooks.answers import Answers
from practicum_gateway.webhooks.webhooks import Webhooks


@dataclass(slots=True, kw_only=True)
class House:
    """The services that routers use, found at `request.state.house`.

    Attributes:
        tenant: whose they are.
        settings: what the operator set.
        store: the database.
        replica: this gateway among those that work on it.
        outside: where secrets are kept outside of it.
        telemetry: the tracer.
        meter: what is counted of the tenant.
        keys: API keys.
        issuers: identity providers whose tokens are taken.
        rulebook: the access rules.
        audit: who did what.
        approvals: questions to people.
        webhooks: who is told of them elsewhere.
        answers: what is answered there.
        catalogue: connectors and tools.
        ledger: one side effect per key.
        artifacts: bytes that systems answered.
        previews: what calls that wait would change.
        compensations: how calls are undone.
        pipeline: the one way in which a tool is called.
        record: what happened in episodes.
        registry: the models.
        rotation: the keys that seal credentials.
        promotions: which of its versions a model's alias names.
        checks: what models can do.
        episodes: episodes as their owners and drivers see them.
        chat: chat calls.
        trajectories: what episodes leave to be trained on.
        providers: closes what model providers hold open.
        closing: set when the gateway begins to shut down; long answers end then.
    """

    tenant: str
    settings: Settings
    store: Store
    replica: Replica
    outside: Outside
    telemetry: Telemetry
    meter: Meter
    keys: Keys
    issuers: Issuers
    rulebook: Rulebook
    audit: Audit
    approvals: Approvals
    webhooks: Webhooks
    answers: Answers
    catalogue: Catalogue
    ledger: Ledger
    artifacts: Artifacts
    pipeline: Pipeline
    previews: Previews
    compensations: Compensations
    record: Record
    registry: Registry
    rotation: Rotation
    promotions: Promotions
    checks: Checks
    episodes: Episodes
    chat: Chat
    trajectories: Trajectories
    providers: tuple[Callable[[], Awaitable[None]], ...] = ()
    closing: asyncio.Event = field(default_factory=asyncio.Event)
