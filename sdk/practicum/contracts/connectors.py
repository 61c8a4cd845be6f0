"""Connectors: how an internal system is registered."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from practicum.contracts.base import JsonObject, Name, Value


class Mode(StrEnum):
    """What stands behind a connector; training reaches only what is not live."""

    LIVE = "live"
    PRACTICE = "practice"


class NoAuth(Value):
    """The system asks for no credential."""

    kind: Literal["none"] = "none"


class ApiKeyAuth(Value):
    """A fixed key in a header, a query parameter or a cookie, where the document says so unless given here."""

    kind: Literal["api_key"] = "api_key"
    value: str = Field(repr=False)
    name: str | None = None
    location: Literal["header", "query", "cookie"] | None = None


class BearerAuth(Value):
    """A fixed bearer token."""

    kind: Literal["bearer"] = "bearer"
    token: str = Field(repr=False)


class BasicAuth(Value):
    """HTTP basic."""

    kind: Literal["basic"] = "basic"
    username: str
    password: str = Field(repr=False)


class ClientCredentialsAuth(Value):
    """OAuth 2 client credentials; the token URL comes from the document unless given here."""

    kind: Literal["client_credentials"] = "client_credentials"
    client_id: str
    client_secret: str = Field(repr=False)
    token_url: str | None = None
    scopes: tuple[str, ...] = ()


Auth = Annotated[
    NoAuth | ApiKeyAuth | BearerAuth | BasicAuth | ClientCredentialsAuth,
    Field(discriminator="kind"),
]
"""What a system wants to see before it answers. Stored encrypted, bound to the connector's origin."""


class PracticeSpec(Value):
    """Resettable copies of a live system, one for each training episode.

    A copy takes its start state as `PUT {base_url}/{episode}/_practice/state`, shows what it holds at `GET` of the same
    and ends with `DELETE`; `POST {base_url}/{episode}/_practice/reset` puts it where the copies' owner lets them begin.

    Attributes:
        base_url: the copy of an episode listens at `{base_url}/{episode id}`.
        auth: the copies' credential; the live system's is never sent there, nor this one to the live system.
        private_network: whether the copies may stand in a private network.
    """

    base_url: str
    auth: Auth = NoAuth()
    private_network: bool = False


class ConnectorSpec(Value):
    """A wish to register a system.

    Attributes:
        name: the connector's name, the first part of its tools' names.
        source: URL of the document, when the gateway shall fetch it.
        document: the document itself, when the caller has it.
        base_url: where the system listens; needed when the document does not say.
        auth: its credential.
        mode: live, or a practice copy that training may touch.
        practice: where training finds copies of a live system, if there are any.
        private_network: whether it may resolve to a private address.
        include: glob patterns over operation names; empty means all.
        exclude: glob patterns over operation names.
    """

    name: Name
    source: str | None = None
    document: JsonObject | None = None
    base_url: str | None = None
    auth: Auth = NoAuth()
    mode: Mode = Mode.LIVE
    practice: PracticeSpec | None = None
    private_network: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class Fidelity(StrEnum):
    """How well an operation became a tool."""

    EXACT = "exact"
    DEGRADED = "degraded"
    REFUSED = "refused"


class OperationReport(Value):
    """What became of one operation at import."""

    operation: str
    method: str
    path: str
    tool: str | None
    fidelity: Fidelity
    notes: tuple[str, ...] = ()


class Connector(Value):
    """A registered system.

    Attributes:
        name: its name.
        title: the document's title.
        version: the document's version.
        base_url: where calls go.
        mode: live or practice.
        practice: where its practice copies are, if training may use any; each episode has its own below it.
        auth: kind of credential in place.
        tools: how many tools it offers.
        created: when it was registered.
        digest: SHA-256 of the document.
    """

    name: str
    title: str
    version: str
    base_url: str
    mode: Mode
    practice: str | None = None
    auth: str
    tools: int
    created: datetime
    digest: str


class ConnectorReport(Value):
    """A registration and what became of each operation."""

    connector: Connector
    operations: tuple[OperationReport, ...]
