"""A connector, compiled once from a document and a registration: what the gateway holds and calls.

::

    document = await load_source(spec)  # taken over or fetched, parsed and checked
    connector = CompiledConnector.compile(spec, document)  # CPU only: a thread's work for big documents
    prepared = connector.prepare("crm_get_customer", {"id": 7})  # CallError when the arguments do not fit
    sent = await connector.send(prepared, idempotency_key="ep_1:0:0")  # raises nothing for what the system does
    observed = connector.shape(sent)  # what the model is told, and the bytes of its artifacts
"""

import json
import secrets
import time
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Self

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import Change, ConnectorSpec, OperationReport
from practicum.contracts.tools import CallStatus, Compensation, Observation, Tool
from practicum.errors import CallError, ForbiddenError, NotFoundError
from practicum_connectors.auth import REDACTED, Resolve, Rotated, Turn, credentials_for, unresolved
from practicum_connectors.calls import PreparedCall, Sent
from practicum_connectors.catalogue.plan import ToolPlan
from practicum_connectors.compensation import Made, Ways
from practicum_connectors.compiled import compile_document
from practicum_connectors.document import Document
from practicum_connectors.document.sources import DocumentSource
from practicum_connectors.exchange import HttpRequest, Payload
from practicum_connectors.fetch import read_document
from practicum_connectors.idempotency import key_for
from practicum_connectors.line import HttpLine, Line, ways_out
from practicum_connectors.mcp import KEY, Peer, read_tools
from practicum_connectors.practice import practice_of
from practicum_connectors.request.build import RequestBuilder, load_checks
from practicum_connectors.resilience import Repeat
from practicum_connectors.response.check import ResponseChecks
from practicum_connectors.response.handles import Handles
from practicum_connectors.response.json_values import parse_json
from practicum_connectors.response.observe import DEFAULT_LIMIT, Observed, Observer
from practicum_connectors.revision import Revision, Side, compiled_side, revised
from practicum_connectors.sender import Sender
from practicum_connectors.servers import base_url_of
from practicum_connectors.site import Site

_KEY_BYTES = 32
_MOST_OFFER_CHARACTERS = 2000


async def load_source(
    spec: ConnectorSpec,
    *,
    read: DocumentSource | None = None,
    resolve: Resolve = unresolved,
    known: Document | None = None,
) -> Document:
    """The document of a registration: the one it carries, the one fetched from its `source`, or what `mcp` lists.

    Args:
        spec: the registration.
        read: reads addresses; None fetches them, guarded against private ones.
        resolve: reads the parts of its credential that are kept outside, which an MCP server is shown.
        known: the document in force of that MCP server, which says where its tokens are given.

    Raises:
        DocumentError: it cannot be fetched or read; nothing else is raised.
    """
    return await (read_document(spec, read) if spec.mcp is None else read_tools(spec, resolve=resolve, known=known))


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
        served: what a newer state of the document changes and is in force.
        held: what it changes and waits.
        practice: its practice copies, if there are any.
    """

    def __init__(
        self,
        spec: ConnectorSpec,
        side: Side,
        revision: Revision | None,
        site: Site,
        handles: Handles,
        *,
        resolve: Resolve,
    ) -> None:
        """Take over what `compile` made.

        Args:
            spec: the registration.
            side: its document and the tools of it.
            revision: what is in force of it and a newer one, if there is a newer one.
            site: where it listens.
            handles: seal the way to next pages.
            resolve: reads the parts of credentials that are kept outside.

        Raises:
            DocumentError: the practice copies make no sense.
        """
        document, compiled = side.document, side.compiled
        self._spec = spec
        self.name: str = spec.name
        self.title = document.title
        self.version = document.version
        self.digest = document.digest
        self.base_url = compiled.base_url
        self.report: tuple[OperationReport, ...] = compiled.report if revision is None else revision.report
        self.served: tuple[Change, ...] = () if revision is None else revision.served
        self.held: tuple[Change, ...] = () if revision is None else revision.held
        self._sides = dict.fromkeys(compiled.plans, side) if revision is None else revision.sides
        self._plans = {name: side.compiled.plans[name] for name, side in self._sides.items()}
        self.tools: Mapping[str, Tool] = {name: plan.tool for name, plan in self._plans.items()}
        self._ways = Ways(self._plans)
        self._home = compiled.base_url
        self._builders: dict[str, RequestBuilder] = {}
        self._site = site
        self._line: Line = HttpLine(site) if spec.mcp is None else Peer(site, spec.mcp)
        self.practice = practice_of(spec, document, compiled.base_url, resolve)
        self._handles = handles
        self._observers = {id(side): Observer(ResponseChecks(side.document), handles) for side in self._sides.values()}

    @classmethod
    def compile(
        cls,
        spec: ConnectorSpec,
        document: Document,
        *,
        newer: Document | None = None,
        page_key: bytes | None = None,
        on_rotated: Rotated | None = None,
        turn: Turn | None = None,
        resolve: Resolve = unresolved,
    ) -> Self:
        """Turn each operation of a document into a tool.

        Args:
            spec: the registration.
            document: its document.
            newer: a newer state of the document, of which is taken what breaks no call; addresses and credentials stay
                as `document` has them.
            page_key: seals handles of next pages, 32 bytes; those with the same one open each other's, and with none
                they are good for this object alone.
            on_rotated: stores refresh tokens that the system's token server replaces.
            turn: what a refresh token is exchanged within, where another connector holds it too: the one of before, of
                which calls are still under way.
            resolve: reads the parts of credentials that are kept outside.

        Raises:
            DocumentError: the document says nowhere where the system listens, or the credential does not fit it.
        """
        load_checks()  # here, where it may take its time
        base_url = base_url_of(spec, document)
        sender = Sender(private_network=spec.private_network, connections=spec.limits.concurrent)
        keyring = credentials_for(
            spec.auth, document, base_url, sender, on_rotated=on_rotated, turn=turn, resolve=resolve
        )
        side = Side(document, compile_document(spec, document, base_url, keyring))
        revision = None if newer is None else revised(spec, side, compiled_side(spec, newer, keyring))
        site = Site(base_url, keyring, sender, spec.limits)
        handles = Handles(page_key or secrets.token_bytes(_KEY_BYTES))
        return cls(spec, side, revision, site, handles, resolve=resolve)

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
        there._line = HttpLine(site)  # noqa: SLF001
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
        return self._handles.step(self._plan(tool).tool, arguments).arguments

    def artifacts_of(self, tool: str, arguments: JsonObject) -> frozenset[str]:
        """Ids of the artifacts whose bytes `prepare` will want.

        Args:
            tool: exposed name of the tool.
            arguments: its arguments.

        Raises:
            NotFoundError: there is no such tool.
            CallError: the handle of a further page cannot be opened.
        """
        plan = self._plan(tool)
        return self._builder(plan).wants(self._handles.step(plan.tool, arguments).arguments)

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
        step = self._handles.step(plan.tool, arguments)
        builder = self._builder(plan)
        request = step.ask(self._placed(builder.build(step.arguments, files), builder.base_url))
        return PreparedCall(
            plan, step.arguments, request, step.query, step.skip, step.at, methodless=self._spec.mcp is not None
        )

    async def send(
        self,
        prepared: PreparedCall,
        *,
        idempotency_key: str | None = None,
        traceparent: str | None = None,
        timeout_seconds: float | None = None,
    ) -> Sent:
        """Put in the credential and send; again, within its time, only where that is harmless.

        A safe call is tried again when the system is down or busy; one with an effect only under the system's own
        idempotency key, and only after an answer by which nothing was done. A 401 that a fresh token may mend is
        answered by one more try.

        Args:
            prepared: the call.
            idempotency_key: forwarded where the system supports one.
            traceparent: W3C trace context to pass on.
            timeout_seconds: bound on the whole, where it is less than the connector's own.
        """
        request = prepared.request
        repeat = Repeat.FREELY if prepared.safe else Repeat.NEVER
        if idempotency_key is not None and prepared.plan.idempotency is not None:
            parameter = prepared.plan.idempotency
            request = request.with_header(parameter.name, key_for(parameter, idempotency_key))
            repeat = repeat if prepared.safe else Repeat.IF_DECLINED
        elif idempotency_key is not None and self._spec.mcp is not None:
            request = request.with_header(KEY, idempotency_key)  # for those who look; nobody says that it is recognised
        if traceparent is not None:
            request = request.with_header("traceparent", traceparent)
        bounds = (timeout_seconds, self._spec.limits.timeout_seconds)
        started = time.perf_counter()
        within = min(bound for bound in bounds if bound is not None)
        exchange = await self._line.send(prepared, request, within, repeat=repeat)
        return Sent(
            prepared=prepared,
            delivery=exchange.delivery,
            response=exchange.response,
            reason=exchange.reason,
            mend=exchange.mend,
            seconds=time.perf_counter() - started,
            attempts=exchange.attempts,
            retry_after=exchange.retry_after,
            payloads=exchange.payloads,
        )

    def shape(self, sent: Sent, limit: int = DEFAULT_LIMIT) -> Observed:
        """What came of a call: what the model is told, bounded, parseable and redacted, and the bytes beside it.

        Args:
            sent: what came of the call.
            limit: most characters of content.
        """
        side = self._sides[sent.prepared.tool.name]
        seen = self._observers[id(side)].observe(sent, limit)
        present = (seen.observation.content, *seen.observation.warnings)
        ways = [way for way in ways_out(self.name, self._site, sent) if not any(way in text for text in present)]
        warnings = (*seen.observation.warnings, *ways)
        told = seen.observation.model_copy(
            update={
                "content": self.redact(seen.observation.content),
                "warnings": tuple(self.redact(warning) for warning in warnings),
                "compensation": self._compensation(sent, seen.observation.status),
            }
        )
        return replace(seen, observation=told)

    def undoing(self, tool: str, arguments: JsonObject) -> Compensation | None:
        """How a call can be undone of which no answer is known; None where that takes the answer.

        Args:
            tool: exposed name of the tool.
            arguments: its arguments.
        """
        plan = self._plans.get(tool)
        return None if plan is None else self._offer(Made(plan, arguments))

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

    async def learn(self) -> None:
        """Read the parts of its credential that are kept outside, so that they are taken out of the first texts too."""
        await self._site.keyring.learn()

    async def aclose(self) -> None:
        """Close its connections."""
        await self._line.aclose()
        await self._site.sender.aclose()
        if self.practice is not None:
            await self.practice.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _compensation(self, sent: Sent, status: CallStatus) -> Compensation | None:
        """How a call that was made, or perhaps was, can be undone."""
        plan, arguments, response = sent.prepared.plan, sent.prepared.arguments, sent.response
        if status is CallStatus.IN_DOUBT:
            return self._offer(Made(plan, arguments))
        if status is not CallStatus.OK or response is None or not self._ways.may_undo(plan):
            return None
        parsed = parse_json(response.body) if response.body and response.complete else None
        body = None if parsed is None else parsed.value
        return self._offer(Made(plan, arguments, sent.prepared.request.url, response, body))

    def _offer(self, made: Made) -> Compensation | None:
        """The call that undoes one, where it can be made and holds nothing that is kept secret."""
        call = self._ways.undoing(made, self._sides[made.plan.tool.name].document.pointers)
        if call is None:
            return None
        written = json.dumps(call.arguments, ensure_ascii=False)
        if len(written) > _MOST_OFFER_CHARACTERS or REDACTED in written or self.redact(written) != written:
            return None
        try:
            written.encode()  # half a character cannot travel
            self.prepare(call.tool, call.arguments)
        except (UnicodeEncodeError, CallError, NotFoundError):
            return None
        return Compensation(tool=call.tool, arguments=call.arguments)

    def _builder(self, plan: ToolPlan) -> RequestBuilder:
        builder = self._builders.get(plan.tool.name)
        if builder is None:
            name = plan.tool.name
            compiled = self._sides[name].compiled
            builder = RequestBuilder(plan, compiled.base_of[name], compiled.routes, self._spec.arrays)
            self._builders[name] = builder
        return builder

    def _placed(self, request: HttpRequest, base_url: str) -> HttpRequest:
        """The request where this connector is; at practice that goes for operations with servers of their own too."""
        if self.base_url == self._home:
            return request
        return replace(request, url=f"{self.base_url}{request.url.removeprefix(base_url)}")

    def _plan(self, tool: str) -> ToolPlan:
        plan = self._plans.get(tool)
        if plan is None:
            raise NotFoundError(f"The connector {self.name} has no tool {tool!r}.", mend="List its tools.")
        return plan
