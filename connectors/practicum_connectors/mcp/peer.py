"""A server of the protocol, spoken to over a site: within its credentials, limits, guards and breaker.

The official client is not used here: it has connections, retries and streams of its own, so it could neither say
whether a request was surely not sent, nor keep to what a connector may reach and how much of an answer is read.
"""

import asyncio
import contextlib
import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final

from practicum.contracts.base import JsonObject
from practicum_connectors.auth import redact, redact_bytes
from practicum_connectors.calls import PreparedCall
from practicum_connectors.document.pointers import Node, as_list, as_node, text_of
from practicum_connectors.exchange import Delivery, Exchange, HttpRequest, HttpResponse, Pairs, Payload
from practicum_connectors.mcp.document import OF_TOOL
from practicum_connectors.mcp.events import waiting_for
from practicum_connectors.mcp.messages import (
    HANDSHAKES,
    MODERN,
    UNSUPPORTED_VERSION,
    Form,
    Message,
    found_in,
    greeting,
    header_text,
    message_of,
    parsed,
    supported,
    written,
)
from practicum_connectors.mcp.results import answer_of, error_answer
from practicum_connectors.resilience import Repeat, retried
from practicum_connectors.site import Site

KEY: Final = "practicum/idempotencyKey"
"""The member of `_meta` that carries the idempotency key; a Practicum gateway recognises it as a server."""
_CALL: Final = "tools/call"
_BYTES: Final = "application/octet-stream"
_OWN_HEADERS: Final = frozenset({"accept", "content-type", "user-agent"})
_REDIRECTS: Final = range(300, 400)
_CLIENT_ERRORS: Final = range(400, 500)
_OK: Final = range(200, 300)
_STAYS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS})
"""Refusals that another form of the protocol does not change."""
_SESSION: Final = re.compile(r"[\x21-\x7e]{1,1000}")
_GOODBYE_SECONDS: Final = 2.0
_TRIES: Final = 2
_MOST_SHOWN: Final = 200
_MOST_READ: Final = 1000
_READY_SECONDS: Final = 10.0
_NO_SESSION: Final = re.compile(
    rb"session[ _-]?id\b|session not found|(no|invalid|unknown|missing) (valid |mcp )?session|not initialized",
    re.IGNORECASE,
)
"""How servers say that they know a session no more; a tool that speaks of sessions of its own says more than that."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one request.

    Attributes:
        exchange: how far it came; a message that is none of the protocol counts as lost.
        message: what the server said, if it did.
    """

    exchange: Exchange
    message: Message | None = None


@dataclass(frozen=True, slots=True)
class Greeted:
    """What a server said of itself.

    Attributes:
        form: how it is spoken to.
        name: its name.
        version: its version.
    """

    form: Form
    name: str
    version: str


@dataclass(slots=True)
class Peer:
    """One server.

    Attributes:
        site: where it listens, with its credentials.
        url: its address to the letter; some servers mind a slash at its end.
    """

    site: Site
    url: str
    _greeted: Greeted | None = None
    _beginning: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1), repr=False)

    async def send(self, prepared: PreparedCall, request: HttpRequest, seconds: float, *, repeat: Repeat) -> Exchange:
        """Call a tool, again where that is harmless; its result is told as an answer of HTTP.

        Args:
            prepared: the call.
            request: its request as the document has it: the arguments are its body, what else it carries its headers.
            seconds: bound on the whole.
            repeat: how far it may be repeated.
        """
        told = as_node(prepared.plan.operation.extensions.get(OF_TOOL))
        arguments = json.loads(request.body or b"{}")
        meta = {name: value for name, value in request.headers if name.lower() not in _OWN_HEADERS}
        params: JsonObject = {"name": text_of(told.get("name")), "arguments": arguments, "_meta": {**meta}}
        headers = (*_trace(request), *_mirrored(told, arguments))

        async def attempt(left: float) -> Exchange:
            answer = await self.ask(_CALL, params, left, headers=headers)
            return self._translated(answer)

        return await retried(
            attempt, repeat, attempts=self.site.limits.attempts, seconds=seconds, clock=self.site.clock
        )

    async def ask(self, method: str, params: Mapping[str, Any], seconds: float, *, headers: Pairs = ()) -> Answer:
        """Ask once; a second time only where the server did not take it because of how it was spoken to.

        Args:
            method: the method of the protocol.
            params: its parameters.
            seconds: bound on the whole, the handshake included.
            headers: what goes besides.
        """
        end = self.site.clock.now() + seconds
        answer = Answer(Exchange(Delivery.NOT_SENT))
        for _ in range(_TRIES):
            begun = await self.begin(end - self.site.clock.now())
            if isinstance(begun, Answer):
                return _not_begun(begun)
            answer = await self._once(begun.form, method, params, end - self.site.clock.now(), headers)
            if not _forgotten(answer, begun.form):
                break
            if self._greeted is begun:  # else another call has begun anew already
                self._greeted = None
        return answer

    async def begin(self, seconds: float) -> Greeted | Answer:
        """How the server is spoken to, found out once: by the present revision, else by a handshake.

        Args:
            seconds: the longest that it may take.

        Returns:
            What it said of itself, or the answer by which that failed.
        """
        if self._greeted is not None:
            return self._greeted
        end = self.site.clock.now() + seconds
        try:
            async with asyncio.timeout(seconds):
                await self._beginning.acquire()
        except TimeoutError:
            reason = f"The MCP server at {self.site.base_url} did not say in time how it is spoken to."
            return Answer(Exchange(Delivery.NOT_SENT, reason=reason, tried=False))
        try:
            if self._greeted is None:
                found = await self._discovered(end - self.site.clock.now())
                found = found or await self._shaken(end - self.site.clock.now())
                if isinstance(found, Answer):
                    return found
                self._greeted = found
            return self._greeted
        finally:
            self._beginning.release()

    async def aclose(self) -> None:
        """Tell a server that keeps a session for us that it need not; the connections stay its site's."""
        form = None if self._greeted is None else self._greeted.form
        self._greeted = None
        if form is not None and form.session is not None:
            headers = (("MCP-Protocol-Version", form.version), ("Mcp-Session-Id", form.session))
            await self.site.send(HttpRequest("DELETE", self.url, headers), _GOODBYE_SECONDS)

    async def _discovered(self, seconds: float) -> Greeted | Answer | None:
        """What the server says of itself in the present revision; None where it speaks an older one."""
        answer = await self._once(Form(MODERN), "server/discover", {}, seconds)
        response, message = answer.exchange.response, answer.message
        if message is not None and message.result is not None:
            if MODERN not in as_list(message.result.get("supportedVersions")):
                return None
            about = as_node(as_node(message.result.get("_meta")).get("io.modelcontextprotocol/serverInfo"))
            return _greeted(Form(MODERN), about or as_node(message.result.get("serverInfo")))
        if message is not None and message.code == UNSUPPORTED_VERSION and message.error is not None:
            named = supported(message.error)
            return answer if named and not set(named) & set(HANDSHAKES) else None
        if response is None and answer.exchange.delivery is Delivery.NOT_SENT:
            return answer
        stays = response is not None and (response.status in _STAYS or response.status not in _older())
        return answer if stays else None

    async def _shaken(self, seconds: float) -> Greeted | Answer:
        """What the server says of itself in a handshake."""
        end = self.site.clock.now() + seconds
        answer = await self._once(Form(HANDSHAKES[0]), "initialize", greeting(), seconds)
        result, response = (None if answer.message is None else answer.message.result), answer.exchange.response
        if result is None or response is None:
            return answer
        version = text_of(result.get("protocolVersion"))
        if version not in HANDSHAKES:
            reason = f"The server at {self.site.base_url} speaks no known revision of MCP, but {version[:40]!r}."
            return Answer(Exchange(Delivery.NOT_SENT, reason=reason))
        session = response.header("mcp-session-id") or ""
        form = Form(version, session if _SESSION.fullmatch(session) else None)
        ready = written(self.url, form, None, "notifications/initialized", {})
        left = max(0.0, end - self.site.clock.now())
        await self.site.send(ready, min(_READY_SECONDS, left / 2))  # nothing is waited for that it may say to this
        return _greeted(form, as_node(result.get("serverInfo")))

    async def _once(
        self, form: Form, method: str, params: Mapping[str, Any], seconds: float, headers: Pairs = ()
    ) -> Answer:
        number = next(self._numbers)
        request = written(self.url, form, number, method, params, headers=headers)
        watch = waiting_for(lambda text: message_of(text, number) is not None)
        exchange = await self.site.send(request, max(0.0, seconds), watch=watch)
        response = exchange.response
        if response is None:
            return Answer(exchange)
        message = found_in(response, number)
        if message is None and response.status in _OK:
            return Answer(replace(exchange, delivery=Delivery.LOST, response=response, reason=self._odd(response)))
        return Answer(exchange, message if message is None or method == _CALL else self._cleaned(message))

    def _cleaned(self, message: Message) -> Message:
        """A message without the credentials' values, however they were escaped in it."""
        secrets = tuple(self.site.keyring.secrets())
        given = json.dumps([message.result, message.error], ensure_ascii=False)
        clean = redact(given, secrets)
        if clean == given:
            return message
        parts = [*as_list(parsed(clean)), None, None]
        return replace(message, result=as_node(parts[0]) or None, error=as_node(parts[1]) or None)

    def _odd(self, response: HttpResponse) -> str:
        """Why what came back with success is no answer."""
        if len(response.body) >= self.site.sender.max_response_bytes:
            return f"The MCP server at {self.site.base_url} answered with more bytes than are read of an answer."
        if response.media_type == "text/event-stream" and not response.complete:
            return f"The MCP server at {self.site.base_url} began a stream and gave no answer in it."
        kind = response.media_type or "nothing"
        return f"The MCP server at {self.site.base_url} answered with {kind[:80]} that is no message of the protocol."

    def _translated(self, answer: Answer) -> Exchange:
        """What came of a call, as it comes of a request: the result in place of the message round it."""
        exchange, message = answer.exchange, answer.message
        if message is None:
            return replace(exchange, response=None) if exchange.delivery is Delivery.LOST else exchange
        if message.error is not None and exchange.response is not None:
            status = _meant(message, exchange.response.status)
            told = error_answer(message.error, status)
            kept = tuple(pair for pair in exchange.response.headers if pair[0] == "retry-after")
            return replace(exchange, response=self.site.cleaned(replace(told, headers=(*told.headers, *kept))))
        response, payloads = answer_of(message.result or {})
        secrets = tuple(self.site.keyring.secrets())
        clean = tuple(_clean(each, secrets) for each in payloads)
        return replace(exchange, response=self.site.cleaned(response), payloads=clean if secrets else payloads)


def _older() -> frozenset[int]:
    """What servers of older revisions answer to a request that they do not know."""
    return frozenset({*_OK, *_CLIENT_ERRORS, HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.NOT_IMPLEMENTED})


def _greeted(form: Form, about: Node) -> Greeted:
    title, version = about.get("title") or about.get("name"), about.get("version")
    return Greeted(form, _shown(title), _shown(version))


def _shown(value: object) -> str:
    """A text as people are shown it."""
    return "".join(sign for sign in text_of(value)[:_MOST_SHOWN] if sign.isprintable())


def _not_begun(answer: Answer) -> Answer:
    """Nothing of a call was sent where no way to speak was found; only a refusal is worth telling as it is."""
    exchange = answer.exchange
    status = 0 if exchange.response is None else exchange.response.status
    if status in _CLIENT_ERRORS or status in _REDIRECTS:
        return answer
    said = f"It answered {status} when it was greeted." if status else exchange.reason
    return Answer(replace(exchange, delivery=Delivery.NOT_SENT, response=None, reason=said))


def _forgotten(answer: Answer, form: Form) -> bool:
    """Whether the server surely did nothing because it knows the session or the revision no more."""
    response, message = answer.exchange.response, answer.message
    if response is None or answer.exchange.delivery is not Delivery.ANSWERED:
        return False
    if message is not None and message.code == UNSUPPORTED_VERSION:
        return True
    if message is not None and message.own and not message.refuses:
        return False
    said = response.body[:_MOST_READ]
    no_session = form.session is not None and _NO_SESSION.search(said) is not None
    if response.status == HTTPStatus.BAD_REQUEST:
        return b"protocol version" in said.lower() or no_session
    return (
        response.status == HTTPStatus.NOT_FOUND
        and form.session is not None
        and (message is None or not message.own or no_session)
    )


def _meant(message: Message, status: int) -> int:
    """The status that says what an error means; a code of the tool's own may follow a deed, whatever status it has."""
    if status in _OK or (status in _CLIENT_ERRORS and status not in _STAYS and message.own and not message.refuses):
        return message.status
    return status


def _clean(payload: Payload, secrets: tuple[str, ...]) -> Payload:
    name = None if payload.name is None else redact(payload.name, secrets)
    kind = payload.media_type if redact(payload.media_type, secrets) == payload.media_type else _BYTES
    return replace(payload, media_type=kind, name=name, content=redact_bytes(payload.content, secrets))


def _trace(request: HttpRequest) -> Pairs:
    value = request.header("traceparent")
    return () if value is None else (("traceparent", value),)


def _mirrored(told: Node, arguments: Node) -> Pairs:
    """The arguments that a tool wants to see in headers too, for those who route by them."""
    found: list[tuple[str, str]] = []
    for entry in as_list(told.get("headers")):
        value: Any = arguments
        for step in as_list(as_node(entry).get("path")):
            value = as_node(value).get(step)
        if isinstance(value, str | int):
            with contextlib.suppress(ValueError):  # a number too long to be written
                text = str(value).lower() if isinstance(value, bool) else str(value)
                found.append((f"Mcp-Param-{text_of(as_node(entry).get('header'))}", header_text(text)))
    return tuple(found)
