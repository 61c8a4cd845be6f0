"""A connector, compiled once from a document and a registration: what the gateway holds and calls.

::

    document = await load_source(spec)  # taken over or fetched, parsed and checked
    connector = CompiledConnector.compile(spec, document)  # CPU only: a thread's work for big documents
    prepared = connector.prepare("crm_get_customer", {"id": 7})  # CallError when the arguments do not fit
    sent = await connector.send(prepared, idempotency_key="ep_1:0:0")  # raises nothing for what the system does
    observed = connector.shape(sent)  # what the model is told, and the bytes of its artifacts
"""

import time
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import Self

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import (
    CheckReport,
    Connector,
    ConnectorReport,
    ConnectorSpec,
    Mode,
    OperationReport,
)
from practicum.contracts.tools import Observation, Tool
from practicum.errors import DocumentError, ForbiddenError, NotFoundError
from practicum_connectors.auth import credentials_for
from practicum_connectors.calls import PreparedCall, Sent
from practicum_connectors.catalogue.plan import ToolPlan
from practicum_connectors.compiled import Compiled, compile_document
from practicum_connectors.document import Document
from practicum_connectors.exchange import HttpRequest, Payload
from practicum_connectors.fetch import DocumentSource, read_document
from practicum_connectors.idempotency import key_for
from practicum_connectors.practice import Practice
from practicum_connectors.request.build import RequestBuilder
from practicum_connectors.response.check import ResponseChecks
from practicum_connectors.response.observe import DEFAULT_LIMIT, Observed, Observer
from practicum_connectors.sender import Sender
from practicum_connectors.servers import base_url_of
from practicum_connectors.site import Site

_UNKNOWN = "https://unknown.invalid"
"""Stands for the place where a checked system listens while nobody has said it."""


async def load_source(spec: ConnectorSpec, *, read: DocumentSource | None = None) -> Document:
    """The document of a registration: the one it carries, or the one fetched from its `source`.

    Args:
        spec: the registration.
        read: reads addresses; None fetches them, guarded against private ones.

    Raises:
        DocumentError: it cannot be fetched or read; nothing else is raised.
    """
    return await read_document(spec, read)


def check(spec: ConnectorSpec, document: Document) -> CheckReport:
    """What would become of a document, without a system to call: CPU only, seconds of it for the largest.

    Args:
        spec: the registration as it would be.
        document: its document.

    Raises:
        DocumentError: the credential does not fit the document.
    """
    base_url, notes = None, list[str]()
    try:
        base_url = base_url_of(spec, document)
    except DocumentError as error:
        spec = spec.model_copy(update={"base_url": _UNKNOWN})
        notes.extend(text for text in (error.detail, error.mend) if text)
    compiled = compile_document(spec, document)
    return CheckReport(
        title=document.title,
        version=document.version,
        base_url=base_url,
        operations=compiled.report,
        notes=tuple(notes),
    )


class CompiledConnector:
    """A registered system, ready to be called. It holds connections: close it with `aclose` or `async with`.

    Attributes:
        name: the connector's name.
        title: the document's title.
        version: the document's version.
        base_url: where calls go.
        digest: SHA-256 of the document.
        tools: its tools, by exposed name.
        report: what became of each operation.
        practice: its practice copies, if there are any.
    """

    def __init__(self, spec: ConnectorSpec, document: Document, compiled: Compiled) -> None:
        """Take over what `compile` made.

        Args:
            spec: the registration.
            document: its document.
            compiled: its tools.

        Raises:
            DocumentError: the credential does not fit the document.
        """
        self._spec = spec
        self.name: str = spec.name
        self.title = document.title
        self.version = document.version
        self.digest = document.digest
        self.base_url = compiled.base_url
        self.report: tuple[OperationReport, ...] = compiled.report
        self.tools: Mapping[str, Tool] = {name: plan.tool for name, plan in compiled.plans.items()}
        self._compiled = compiled
        self._builders: dict[str, RequestBuilder] = {}
        sender = Sender(private_network=spec.private_network)
        credentials = credentials_for(spec.auth, document, compiled.base_url, sender)
        self._site = Site(compiled.base_url, credentials, sender)
        self.practice = _practice(spec, document, compiled.base_url)
        self._observer = Observer(ResponseChecks(document))

    @classmethod
    def compile(cls, spec: ConnectorSpec, document: Document) -> Self:
        """Turn each operation of a document into a tool.

        Raises:
            DocumentError: the document says nowhere where the system listens, or the credential does not fit it.
        """
        return cls(spec, document, compile_document(spec, document))

    def describe(self, created: datetime) -> ConnectorReport:
        """The registration as it is reported.

        Args:
            created: when it was registered.
        """
        connector = Connector(
            name=self.name,
            title=self.title,
            version=self.version,
            base_url=self.base_url,
            mode=self._spec.mode,
            practice=None if self.practice is None else self.practice.base_url,
            auth=self._spec.auth.kind,
            tools=len(self.tools),
            created=created,
            digest=self.digest,
        )
        return ConnectorReport(connector=connector, operations=self.report)

    def at_practice(self, copy_name: str) -> Self:
        """This connector as it reaches a practice copy and nothing else: the same tools, nothing compiled again.

        It shares this one's connections and ends with it; only this one is closed.

        Args:
            copy_name: the copy, whether it was begun or not.

        Raises:
            ForbiddenError: the connector has no practice copies.
        """
        if self.practice is None:
            raise ForbiddenError(
                f"The connector '{self.name}' has no practice copies.", mend="Register it with `practice`."
            )
        there, site = copy(self), self.practice.site(copy_name)
        there.base_url, there._site = site.base_url, site  # noqa: SLF001 (another of this class)
        return there

    def expand(self, tool: str, arguments: JsonObject) -> JsonObject:
        """The arguments with the handle of a further page opened: what access rules decide about.

        Args:
            tool: exposed name of the tool.
            arguments: its arguments as they were given.

        Raises:
            NotFoundError: there is no such tool.
            CallError: the handle cannot be opened.
        """
        self._plan(tool)
        return arguments

    def artifacts_of(self, tool: str, arguments: JsonObject) -> frozenset[str]:
        """Ids of the artifacts whose bytes `prepare` will want.

        Args:
            tool: exposed name of the tool.
            arguments: its arguments.

        Raises:
            NotFoundError: there is no such tool.
        """
        self._plan(tool)
        del arguments  # bodies are JSON: no tool takes a file
        return frozenset()

    def prepare(self, tool: str, arguments: JsonObject, files: Mapping[str, Payload] = {}) -> PreparedCall:
        """Build the request of a call and prove that it says what was asked for.

        Args:
            tool: exposed name of the tool.
            arguments: its arguments.
            files: bytes of the artifacts that `artifacts_of` names, by id.

        Raises:
            NotFoundError: there is no such tool.
            CallError: the arguments do not fit; its text and `errors` are written for the model.
        """
        plan = self._plan(tool)
        builder = self._builders.get(tool)
        if builder is None:
            builder = RequestBuilder(plan, self._compiled.base_of[tool], self._compiled.routes)
            self._builders[tool] = builder
        return PreparedCall(plan, arguments, self._placed(builder.build(arguments, files), builder.base_url))

    async def send(
        self,
        prepared: PreparedCall,
        *,
        idempotency_key: str | None = None,
        traceparent: str | None = None,
        timeout_seconds: float = 30.0,
    ) -> Sent:
        """Put in the credential and send, once; a 401 that a fresh token may mend is answered by one more try.

        Args:
            prepared: the call.
            idempotency_key: forwarded where the system supports one.
            traceparent: W3C trace context to pass on.
            timeout_seconds: bound on each exchange.
        """
        request = prepared.request
        if idempotency_key is not None and prepared.plan.idempotency is not None:
            parameter = prepared.plan.idempotency
            request = request.with_header(parameter.name, key_for(parameter, idempotency_key))
        if traceparent is not None:
            request = request.with_header("traceparent", traceparent)
        started = time.perf_counter()
        exchange = await self._site.send(request, timeout_seconds)
        return Sent(
            prepared=prepared,
            delivery=exchange.delivery,
            response=exchange.response,
            reason=exchange.reason,
            mend=exchange.mend,
            seconds=time.perf_counter() - started,
        )

    def shape(self, sent: Sent, limit: int = DEFAULT_LIMIT) -> Observed:
        """What came of a call: what the model is told, bounded, parseable and redacted, and the bytes beside it.

        Args:
            sent: what came of the call.
            limit: most characters of content.
        """
        seen = self._observer.observe(sent, limit)
        told = seen.observation.model_copy(
            update={
                "content": self.redact(seen.observation.content),
                "warnings": tuple(self.redact(warning) for warning in seen.observation.warnings),
            }
        )
        return replace(seen, observation=told)

    def observe(self, sent: Sent, limit: int = DEFAULT_LIMIT) -> Observation:
        """What the model is told, for those who keep no artifacts.

        Args:
            sent: what came of the call.
            limit: most characters of content.
        """
        return self.shape(sent, limit).observation

    def redact(self, text: str) -> str:
        """The text without this connector's credential values."""
        return self._site.redact(text)

    async def aclose(self) -> None:
        """Close its connections."""
        await self._site.sender.aclose()
        if self.practice is not None:
            await self.practice.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _placed(self, request: HttpRequest, base_url: str) -> HttpRequest:
        """The request where this connector is; at practice that goes for operations with servers of their own too."""
        if self.base_url == self._compiled.base_url:
            return request
        return replace(request, url=f"{self.base_url}{request.url.removeprefix(base_url)}")

    def _plan(self, tool: str) -> ToolPlan:
        plan = self._compiled.plans.get(tool)
        if plan is None:
            raise NotFoundError(f"The connector {self.name} has no tool {tool!r}.", mend="List its tools.")
        return plan


def _practice(spec: ConnectorSpec, document: Document, base_url: str) -> Practice | None:
    if spec.practice is None:
        return None
    if spec.mode is Mode.PRACTICE:
        raise DocumentError(
            "A practice connector has no practice copies: training reaches it as it is.",
            mend="Register it with mode=live and its copies, or leave `practice` away.",
        )
    practice = Practice(spec.practice, document)
    if practice.base_url == base_url:
        raise DocumentError("The practice copies are at the address of the live system.", mend="Give their own.")
    return practice
