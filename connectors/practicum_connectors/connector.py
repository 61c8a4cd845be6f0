"""A connector, compiled once from a document and a registration: what the gateway holds and calls.

document = await load_source(spec)                        # fetch or take over, parse, check
connector = CompiledConnector.compile(spec, document)     # CPU only: run it in a thread for big documents
prepared = connector.prepare("crm_get_customer", {"id": 7})          # CallError when the arguments do not fit
sent = await connector.send(prepared, idempotency_key="ep_1:0:0")    # never raises for what the system did
observation = connector.observe(sent)                                # what the model is told
"""

from collections.abc import Mapping
from typing import Self

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ConnectorSpec, OperationReport
from practicum.contracts.tools import Observation, Tool
from practicum_connectors.document import Document
from practicum_connectors.exchange import Delivery, HttpRequest, HttpResponse


async def load_source(spec: ConnectorSpec) -> Document:
    """The document of a registration: the one it carries, or the one fetched from its `source`.

    Raises:
        DocumentError: it cannot be fetched or read; nothing else is raised.
    """
    raise NotImplementedError


class PreparedCall:
    """A call that fits its tool and its document, not yet sent and without credentials.

    Attributes:
        tool: the tool.
        arguments: what was asked for.
        request: the HTTP request without credentials and without idempotency key (frozen; safe to record).
        safe: reads only and by a safe method: may be repeated at will.
    """

    tool: Tool
    arguments: JsonObject
    request: HttpRequest
    safe: bool

    @property
    def repeatable(self) -> bool:
        """May be sent again with the same idempotency key: safe, or the system itself recognises the key."""
        raise NotImplementedError


class Sent:
    """What came of sending a prepared call.

    Attributes:
        prepared: the call.
        delivery: `ANSWERED`; `NOT_SENT` (surely nothing reached the system); `LOST` (sent, the answer was lost).
        response: the answer, only when answered.
        reason: why there is none, in words, secrets redacted.
        seconds: wall seconds it took.
    """

    prepared: PreparedCall
    delivery: Delivery
    response: HttpResponse | None
    reason: str | None
    seconds: float

    @property
    def in_doubt(self) -> bool:
        """Whether an unsafe call may have taken effect: the ledger must never repeat it silently."""
        raise NotImplementedError


class CompiledConnector:
    """A registered system, ready to be called. Holds connections: close it with `aclose` or `async with`.

    Attributes:
        name: the connector's name.
        title: the document's title.
        version: the document's version.
        base_url: where calls go.
        digest: SHA-256 of the document.
        tools: its tools, by exposed name.
        report: what became of each operation.
    """

    name: str
    title: str
    version: str
    base_url: str
    digest: str
    tools: Mapping[str, Tool]
    report: tuple[OperationReport, ...]

    @classmethod
    def compile(cls, spec: ConnectorSpec, document: Document) -> Self:
        """Turn each operation of a document into a tool.

        Raises:
            DocumentError: the document says nowhere where the system listens, or the credential does not fit it.
        """
        raise NotImplementedError

    def prepare(self, tool: str, arguments: JsonObject) -> PreparedCall:
        """Build the request of a call and prove that it says what was asked for.

        Raises:
            NotFoundError: there is no such tool.
            CallError: the arguments do not fit; its text and `errors` are written for the model.
        """
        raise NotImplementedError

    async def send(
        self,
        prepared: PreparedCall,
        *,
        idempotency_key: str | None = None,
        traceparent: str | None = None,
        timeout_seconds: float = 30.0,
    ) -> Sent:
        """Inject credentials and send, once (a 401 refreshes an OAuth token and sends a second time).

        Args:
            prepared: the call.
            idempotency_key: forwarded where the system supports one.
            traceparent: W3C trace context to pass on.
            timeout_seconds: bound on the whole exchange.
        """
        raise NotImplementedError

    def observe(self, sent: Sent) -> Observation:
        """What the model is told: bounded, parseable, redacted."""
        raise NotImplementedError

    def redact(self, text: str) -> str:
        """The text without this connector's credential values."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close its connections."""
        raise NotImplementedError
