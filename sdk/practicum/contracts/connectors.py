"""Connectors: how an internal system is registered."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from practicum.contracts.base import JsonObject, Name, Value
from practicum.contracts.tools import Effect


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


class AuthorizationCodeAuth(Value):
    """OAuth 2 authorization code, already consented to: a stored refresh token is exchanged for access tokens.

    Attributes:
        client_id: who asks.
        client_secret: the proof; public clients have none.
        refresh_token: what the consent gave.
        token_url: where tokens are given, unless the document's flow or its OpenID discovery says so.
        scopes: what is asked for; empty leaves it to the server.
    """

    kind: Literal["authorization_code"] = "authorization_code"
    client_id: str
    client_secret: str | None = Field(default=None, repr=False)
    refresh_token: str = Field(repr=False)
    token_url: str | None = None
    scopes: tuple[str, ...] = ()


class ClientCertificateAuth(Value):
    """A client certificate shown at the TLS handshake (mTLS).

    Attributes:
        certificate: the certificate and those that sign it, as PEM text.
        private_key: its key, as PEM text without a password.
    """

    kind: Literal["client_certificate"] = "client_certificate"
    certificate: str
    private_key: str = Field(repr=False)


SchemeAuth = Annotated[
    ApiKeyAuth | BearerAuth | BasicAuth | ClientCredentialsAuth | AuthorizationCodeAuth | ClientCertificateAuth,
    Field(discriminator="kind", json_schema_extra={"required": ["kind"]}),
]
"""One credential. Alone it stands for every security scheme of the document that its kind fits."""


class SchemesAuth(Value):
    """Several credentials, for documents that ask for two at once or for different ones here and there.

    Attributes:
        schemes: by the document's own names of its security schemes.
    """

    kind: Literal["schemes"] = "schemes"
    schemes: dict[str, SchemeAuth]


Auth = Annotated[
    NoAuth
    | ApiKeyAuth
    | BearerAuth
    | BasicAuth
    | ClientCredentialsAuth
    | AuthorizationCodeAuth
    | ClientCertificateAuth
    | SchemesAuth,
    Field(discriminator="kind", json_schema_extra={"required": ["kind"]}),
]
"""What a system wants to see before it answers. Stored encrypted, bound to the connector's origin."""


class ArrayStyle(StrEnum):
    """How lists are written inside of `deepObject`, which OpenAPI leaves open."""

    BRACKETS = "brackets"
    """`f[ids][]=1&f[ids][]=2`"""
    INDICES = "indices"
    """`f[ids][0]=1&f[ids][1]=2`"""
    REPEAT = "repeat"
    """`f[ids]=1&f[ids]=2`"""


class ConnectorLimits(Value):
    """How hard a system may be leant on, and how long it is waited for.

    Attributes:
        concurrent: most calls under way at once.
        per_second: most calls in a second; None sets no bound.
        timeout_seconds: bound on a call with all its tries.
        attempts: most tries of a call that is safe to repeat.
        breaker_failures: failures in a row after which the system is left alone.
        breaker_seconds: for how long.
    """

    concurrent: int = Field(default=16, ge=1, le=512)
    per_second: float | None = Field(default=None, gt=0)
    timeout_seconds: float = Field(default=30.0, gt=0, le=600)
    attempts: int = Field(default=3, ge=1, le=5)
    breaker_failures: int = Field(default=8, ge=1)
    breaker_seconds: float = Field(default=30.0, gt=0)


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
        overlay: changes to the document, applied whenever it is read: an Overlay 1.0 document, or operations of
            JSON Patch (RFC 6902).
        server: URL or name of one of the document's servers; the first when absent.
        variables: values of the server's variables.
        arrays: how lists inside of `deepObject` parameters are written.
        limits: how hard the system may be leant on.
        documents: files that `document` refers to, by the relative path it names them by.
        mcp: address of a server of the Model Context Protocol, over streamable HTTP, which lists its tools itself; in
            place of a document and all that speaks of one.
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
    overlay: JsonObject | tuple[JsonObject, ...] | None = None
    server: str | None = None
    variables: dict[str, str] = Field(default_factory=dict)
    arrays: ArrayStyle = ArrayStyle.BRACKETS
    limits: ConnectorLimits = ConnectorLimits()
    documents: dict[str, JsonObject] = Field(default_factory=dict)
    mcp: str | None = None


class Fidelity(StrEnum):
    """How well an operation became a tool."""

    EXACT = "exact"
    DEGRADED = "degraded"
    REFUSED = "refused"


class OperationReport(Value):
    """What became of one operation at import.

    Attributes:
        operation: its name.
        method: HTTP method, upper case.
        path: its path template.
        tool: the tool it became; None where it was refused.
        fidelity: how well.
        notes: what was lost, or why it was refused.
        effect: what a call does to the world; None where it was refused.
        mend: operations of JSON Patch (RFC 6902) on the document that would mend it, where they can be told.
        drift: how many answers departed from what the document says of them.
        held: whether it stays as an older document has it, because the newer one breaks it.
    """

    operation: str
    method: str
    path: str
    tool: str | None
    fidelity: Fidelity
    notes: tuple[str, ...] = ()
    effect: Effect | None = None
    mend: tuple[JsonObject, ...] = ()
    drift: int = 0
    held: bool = False


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
        source: where the document was fetched from, if it was.
        held: how many breaking changes of the document wait for a decision.
        drift: how many answers departed from the document.
        refreshed: when the document was last looked at again.
        kind: what it is: a system with an OpenAPI document, or an MCP server, whose document is made of what it lists.
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
    source: str | None = None
    held: int = 0
    drift: int = 0
    refreshed: datetime | None = None
    kind: Literal["openapi", "mcp"] = "openapi"


class ConnectorReport(Value):
    """A registration and what became of each operation."""

    connector: Connector
    operations: tuple[OperationReport, ...]


class CheckReport(Value):
    """What would become of a document, without registering it.

    Attributes:
        title: the document's title.
        version: the document's version.
        base_url: where calls would go; None where neither the document nor the registration says it.
        operations: what would become of each operation.
        notes: what is to be said of the document as a whole.
    """

    title: str
    version: str
    base_url: str | None
    operations: tuple[OperationReport, ...]
    notes: tuple[str, ...] = ()


class ChangeKind(StrEnum):
    """What changed between two states of a document."""

    DESCRIPTION = "description"
    ADDED = "added"
    NEW_OPTIONAL = "new_optional"
    NEW_REQUIRED = "new_required"
    REMOVED = "removed"
    RETYPED = "retyped"


class Change(Value):
    """One difference between two states of a document.

    Attributes:
        kind: what changed.
        operation: name of the operation; empty where it is of the document as a whole.
        where: the place in it, such as `arguments.limit`; empty for the operation as a whole.
        before: what stood there.
        after: what stands there now.
        breaking: whether calls that were right may be wrong now, or do more than they did.
    """

    kind: ChangeKind
    operation: str
    where: str
    before: str | None = None
    after: str | None = None
    breaking: bool


class RefreshRequest(Value):
    """A wish to look at a system's document again.

    Attributes:
        document: the document as it is now, when the caller has it; None has the gateway fetch it from its source.
        documents: files that `document` refers to, by the relative path it names them by.
        overlay: takes the place of the overlay that is kept; an empty one takes it away, None leaves it.
        accept: whether breaking changes are put in force at once.
    """

    document: JsonObject | None = None
    documents: dict[str, JsonObject] = Field(default_factory=dict)
    overlay: JsonObject | tuple[JsonObject, ...] | None = None
    accept: bool = False


class AcceptRequest(Value):
    """A wish to put the changes that are held in force.

    Attributes:
        digest: SHA-256 of the document whose changes were looked at, as `RefreshReport.digest` said it.
    """

    digest: str


class RefreshReport(Value):
    """What the latest look at a system's document found.

    Attributes:
        connector: the registration as it is now.
        digest: SHA-256 of the document that was looked at, overlay included.
        changed: whether it says anything else than the one before.
        served: changes that are in force.
        held: breaking changes that wait for a decision; their operations are called as before until then.
    """

    connector: Connector
    digest: str
    changed: bool
    served: tuple[Change, ...] = ()
    held: tuple[Change, ...] = ()
