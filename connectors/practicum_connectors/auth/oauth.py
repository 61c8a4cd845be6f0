"""OAuth 2 client credentials: one token for all calls, fetched by whoever comes first."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote_plus, urlencode

from practicum.errors import UpstreamError
from practicum_connectors.auth.credentials import basic_header
from practicum_connectors.exchange import Delivery, HttpRequest, HttpResponse
from practicum_connectors.sender import Sender

_TIMEOUT_SECONDS = 20.0
_UNKNOWN_LIFE_SECONDS = 300.0
_MARGIN_SECONDS = 30.0
_MARGIN_SHARE = 0.2
_REFUSALS = frozenset({400, 401})
_OK = range(200, 300)


@dataclass(frozen=True, slots=True)
class _Token:
    value: str = field(repr=False)
    until: float
    """When it should no longer be used, by the clock."""


class ClientCredentials:
    """Fetches a token when there is none, before it expires, and once after the system refused it."""

    def __init__(
        self,
        *,
        client_id: str,
        client_secret: str,
        token_url: str,
        scopes: tuple[str, ...],
        sender: Sender,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Fetch nothing yet.

        Args:
            client_id: who asks.
            client_secret: the proof.
            token_url: where tokens are given.
            scopes: what is asked for; empty leaves it to the server.
            sender: sends the request for a token.
            clock: seconds from some moment on.
        """
        self._client_id = client_id
        self._client_secret = client_secret
        self._token_url = token_url
        self._scopes = scopes
        self._sender = sender
        self._clock = clock
        self._token: _Token | None = None
        self._given: deque[str] = deque(maxlen=8)
        self._secret_in_body = False
        self._lock = asyncio.Lock()

    async def apply(self, request: HttpRequest) -> HttpRequest:
        """The request with a token that is good for a while.

        Raises:
            UpstreamError: the token server gives none.
        """
        return request.with_header("Authorization", f"Bearer {await self._current()}")

    def renew(self, refused: HttpRequest) -> bool:
        """Forget the token that was refused, unless another call has replaced it already."""
        if self._token is not None and refused.header("Authorization") == f"Bearer {self._token.value}":
            self._token = None
        return True

    def secrets(self) -> Iterable[str]:
        """The client's secret and the tokens of late."""
        yield self._client_secret
        yield basic_header(self._client_id, self._client_secret).removeprefix("Basic ")
        yield from tuple(self._given)

    async def _current(self) -> str:
        async with self._lock:
            if self._token is None or self._clock() >= self._token.until:
                self._token = await self._fetch()
                self._given.append(self._token.value)
            return self._token.value

    async def _fetch(self) -> _Token:
        response = await self._ask(secret_in_body=self._secret_in_body)
        if response.status in _REFUSALS:  # some servers take the secret only in the header, some only in the body
            response = await self._ask(secret_in_body=not self._secret_in_body)
            if response.status in _OK:
                self._secret_in_body = not self._secret_in_body
        if response.status not in _OK:
            raise UpstreamError(
                f"The token server answered {response.status}{_reason(response)}.",
                mend="Check the connector's client id, client secret, scopes and token URL.",
            )
        return self._read(response)

    async def _ask(self, *, secret_in_body: bool) -> HttpResponse:
        form = {"grant_type": "client_credentials"}
        if self._scopes:
            form["scope"] = " ".join(self._scopes)
        headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Accept", "application/json"),
            ("User-Agent", "practicum"),
        ]
        if secret_in_body:
            form |= {"client_id": self._client_id, "client_secret": self._client_secret}
        else:
            basic = basic_header(quote_plus(self._client_id), quote_plus(self._client_secret))
            headers.append(("Authorization", basic))
        request = HttpRequest("POST", self._token_url, tuple(headers), urlencode(form).encode())
        exchange = await self._sender.send(request, timeout_seconds=_TIMEOUT_SECONDS)
        if exchange.delivery is not Delivery.ANSWERED or exchange.response is None:
            raise UpstreamError(f"No token can be had: {exchange.reason}", mend=exchange.mend)
        return exchange.response

    def _read(self, response: HttpResponse) -> _Token:
        answer = _json_object(response)
        value, life = answer.get("access_token"), answer.get("expires_in")
        if not isinstance(value, str) or not value or not value.isascii() or not value.isprintable():
            raise UpstreamError(
                "The token server's answer holds no usable `access_token`.", mend="Check the connector's token URL."
            )
        try:
            seconds = float(life) if isinstance(life, int | float | str) else _UNKNOWN_LIFE_SECONDS
        except ValueError:
            seconds = _UNKNOWN_LIFE_SECONDS
        return _Token(value, self._clock() + seconds - min(_MARGIN_SECONDS, seconds * _MARGIN_SHARE))


def _json_object(response: HttpResponse) -> dict[str, Any]:
    try:
        answer: object = json.loads(response.body)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}


def _reason(response: HttpResponse) -> str:
    """The standard error code, which names no secret."""
    code = _json_object(response).get("error")
    return f" ({code})" if isinstance(code, str) and code.replace("_", "").isalpha() else ""
