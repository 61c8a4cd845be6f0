"""The house: every service of a running gateway, built once by the composition root."""

import asyncio
from dataclasses import dataclass, field

from practicum_gateway.access.approvals import Approvals
from practicum_gateway.access.keys import Keys
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.invocation.ledger import Ledger
from practicum_gateway.invocation.pipeline import Pipeline
from practicum_gateway.settings import Settings
from practicum_gateway.store.engine import Store


@dataclass(slots=True, kw_only=True)
class House:
    """The services that routers use, found at `request.app.state.house`.

    Attributes:
        settings: what the operator set.
        store: the database.
        keys: API keys.
        approvals: questions to people.
        catalogue: connectors and tools.
        ledger: one side effect per key.
        pipeline: the one way in which a tool is called.
        closing: set when the gateway begins to shut down; long answers end then.
    """

    settings: Settings
    store: Store
    keys: Keys
    approvals: Approvals
    catalogue: Catalogue
    ledger: Ledger
    pipeline: Pipeline
    closing: asyncio.Event = field(default_factory=asyncio.Event)
