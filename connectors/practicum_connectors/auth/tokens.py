"""OAuth 2 bearer tokens: one for all calls, fetched by whoever comes first."""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any, Protocol, TypeAlias, cast
from urllib.parse import quote_plus, urlencode

from practicum.errors import UpstreamError
from practicum_connectors.auth.credentials import Place, basic_header
from practicum_connectors.exchange import Delivery, HttpRequest, HttpResponse
from practicum_connectors.resilience import Clock
from practicum_connectors.sender import Sender

_TIMEOUT_SECONDS = 20.0
_UNKNOWN_LIFE_SECONDS = 300.0
_MARGIN_SECONDS = 30.0
_MARGIN_SHARE = 0.2
_REFUSALS = frozenset({400, 401})
_SETTLED = frozenset({"invalid_grant", "invalid_scope", "unsupported_grant_type"})
"""Errors by which the server says that it knew the client."""
_OK = range(200, 300)
_AUTHORIZATION: Place = ("header", "authorization")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where tokens are given.

    Attributes:
        url: its address.
        secret_in_body: whether the client's secret goes into the form at first, and not into the header.
    """

    url: str
    secret_in_body: bool = False


Endpoints: TypeAlias = Callable[[], Awaitable[Endpoint]]
"""Says where tokens are given; raises UpstreamError where that cannot be found out."""


class Grant(Protocol):
    """What a token is given for.

    Attributes:
        mend: what a person can do when the server refuses it.
    """

    mend: str

    def form(self) -> dict[str, str]:
        """The fields that stand for it."""
        ...

    def turn(self) -> AbstractAsyncContextManager[None]:
        """What a token is fetched within; it raises PracticumError where it cannot begin or end."""
        ...

    def taken(self, answer: Mapping[str, Any]) -> None:
        """Take over what the server answered for the next time."""
        ...

    async def keep(self) -> None:
        """Make sure that what was taken over outlives this process.

        Raises:
            PracticumError: it could not be stored.
        """
        ...

    def secrets(self) -> Iterable[str]:
        """Every value of it that must not be shown."""
        ...


@dataclass(frozen=True, slots=True)
class Client:
    """Who asks for tokens.

    Attributes:
        id: its name at the server.
        secret: its proof; a public client has none.
        scopes: what it asks for; empty leaves it to the server.
    """

    id: str
    secret: str | None = field(repr=False)
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Token:
    value: str = field(repr=False)
    until: float
    """When it should no longer be used, by the clock."""


class Tokens:
    """Fetches a token when there is none, before it expires, and once after the system refused it."""

    def __init__(
        self, client: Client, grant: Grant, endpoints: Endpoints, sender: Sender, clock: Clock | None = None
    ) -> None:
        """Fetch nothing yet.

        Args:
            client: who asks.
            grant: what for.
            endpoints: says where.
            sender: sends the request for a token.
            clock: the time.
        """
        self._client = client
        self._grant = grant
        self._endpoints = endpoints
        self._sender = sender
        self._clock = clock or Clock()
        self._token: _Token | None = None
        self._given: deque[str] = deque(maxlen=8)
        self._in_body: bool | None = None
        self._fetching: asyncio.Task[_Token] | None = None

    async def apply(self, request: HttpRequest) -> HttpRequest:
        """The request with a token that is good for a while.

        Raises:
            UpstreamError: the token server gives none.
            PracticumError: a refresh token that it replaced could not be stored.
        """
        return request.with_header("Authorization", f"Bearer {await self._current()}")

    def renew(self, refused: HttpRequest) -> bool:
        """Forget the token that was refused, unless another call has replaced it already."""
        if self._token is not None and refused.header("Authorization") == f"Bearer {self._token.value}":
            self._token = None
        return True

    def secrets(self) -> Iterable[str]:
        """The client's secret, what the grant holds, and the tokens of late."""
        if self._client.secret is not None:
            yield self._client.secret
            yield basic_header(self._client.id, self._client.secret).removeprefix("Basic ")
        yield from self._grant.secrets()
        yield from tuple(self._given)

    def places(self) -> frozenset[Place]:
        """The Authorization header."""
        return frozenset({_AUTHORIZATION})

    def tls(self) -> SSLContext | None:
        """The usual one."""
        return None

    async def _current(self) -> str:
        token = self._token
        if token is None or self._clock.now() >= token.until:
            if self._fetching is None:
                self._fetching = asyncio.create_task(self._fetch())
                self._fetching.add_done_callback(self._fetched)
            # Whoever waits may give up; a server that has replaced the refresh token must still be heard to its end.
            token = await asyncio.shield(self._fetching)
        await self._grant.keep()
        return token.value

    def _fetched(self, task: asyncio.Task[_Token]) -> None:
        self._fetching = None
        if not task.cancelled():
            task.exception()  # whoever waited has seen it; that nobody waited is no reason to complain

    async def _fetch(self) -> _Token:
        endpoint = await self._endpoints()
        async with self._grant.turn():
            return await self._fetch_at(endpoint)

    async def _fetch_at(self, endpoint: Endpoint) -> _Token:
        in_body = endpoint.secret_in_body if self._in_body is None else self._in_body
        response = await self._ask(endpoint.url, in_body=in_body)
        if self._client.secret is not None and response.status in _REFUSALS and _error(response) not in _SETTLED:
            # some servers take the secret only in the header, some only in the body
            response = await self._ask(endpoint.url, in_body=not in_body)
            if response.status in _OK:
                self._in_body = not in_body
        if response.status not in _OK:
            raise UpstreamError(
                f"The token server answered {response.status}{_reason(response)}.", mend=self._grant.mend
            )
        return self._read(response)

    async def _ask(self, url: str, *, in_body: bool) -> HttpResponse:
        form = self._grant.form()
        if self._client.scopes:
            form["scope"] = " ".join(self._client.scopes)
        headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Accept", "application/json"),
            ("User-Agent", "practicum"),
        ]
        if self._client.secret is None:
            form["client_id"] = self._client.id
        elif in_body:
            form |= {"client_id": self._client.id, "client_secret": self._client.secret}
        else:
            basic = basic_header(quote_plus(self._client.id), quote_plus(self._client.secret))
            headers.append(("Authorization", basic))
        request = HttpRequest("POST", url, tuple(headers), urlencode(form).encode())
        exchange = await self._sender.send(request, timeout_seconds=_TIMEOUT_SECONDS)
        if exchange.delivery is not Delivery.ANSWERED or exchange.response is None:
            raise UpstreamError(f"No token can be had: {exchange.reason}", mend=exchange.mend)
        return exchange.response

    def _read(self, response: HttpResponse) -> _Token:
        answer = _json_object(response)
        self._grant.taken(answer)
        value, life = answer.get("access_token"), answer.get("expires_in")
        if not isinstance(value, str) or not value or not value.isascii() or not value.isprintable():
            raise UpstreamError(
                "The token server's answer holds no usable `access_token`.", mend="Check the connector's token URL."
            )
        try:
            seconds = float(life) if isinstance(life, int | float | str) else _UNKNOWN_LIFE_SECONDS
        except ValueError:
            seconds = _UNKNOWN_LIFE_SECONDS
        margin = min(_MARGIN_SECONDS, seconds * _MARGIN_SHARE)
        self._token = _Token(value, self._clock.now() + seconds - margin)
        self._given.append(value)
        return self._token


def _json_object(response: HttpResponse) -> dict[str, Any]:
    try:
        answer: object = json.loads(response.body)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}


def _error(response: HttpResponse) -> str:
    """The standard error code, which names no secret; empty where there is none."""
    code = _json_object(response).get("error")
    return code if isinstance(code, str) and code.replace("_", "").isalpha() else ""


def _reason(response: HttpResponse) -> str:
    code = _error(response)
    return f" ({code})" if code else ""
