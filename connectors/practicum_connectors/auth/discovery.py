"""OpenID Connect discovery: the provider's own description says where tokens are given."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

from practicum.errors import DocumentError, UpstreamError
from practicum_connectors.auth.tokens import Endpoint
from practicum_connectors.exchange import HttpRequest
from practicum_connectors.fetch import check_url, shown
from practicum_connectors.resilience import Clock
from practicum_connectors.sender import Sender

_WELL_KNOWN = "/.well-known/openid-configuration"
_GOOD_FOR_SECONDS = 3600.0
_TIMEOUT_SECONDS = 20.0
_OK = 200
_GIVE_TOKEN_URL = "Check the document's `openIdConnectUrl`, or give `token_url` with the credential."  # noqa: S105 (advice)


class Discovery:
    """Finds the token endpoint of a provider, and remembers it for an hour."""

    def __init__(self, url: str, allow: Callable[[str], None], sender: Sender, clock: Clock | None = None) -> None:
        """Ask nothing yet.

        Args:
            url: the document's `openIdConnectUrl`.
            allow: refuses, as DocumentError, an address to which the secret must not go.
            sender: sends the request; no credential goes with it.
            clock: the time.
        """
        self._url = url if _WELL_KNOWN in url else f"{url.rstrip('/')}{_WELL_KNOWN}"
        self._allow = allow
        self._sender = sender
        self._clock = clock or Clock()
        self._found: Endpoint | None = None
        self._until = 0.0
        self._asking = asyncio.Lock()

    async def endpoint(self) -> Endpoint:
        """Where tokens are given.

        Raises:
            UpstreamError: the provider cannot be reached, says nothing usable, or speaks for another.
        """
        async with self._asking:
            if self._found is None or self._clock.now() >= self._until:
                self._found = self._read(await self._ask())
                self._until = self._clock.now() + _GOOD_FOR_SECONDS
            return self._found

    async def _ask(self) -> dict[str, Any]:
        request = HttpRequest("GET", self._url, (("Accept", "application/json"), ("User-Agent", "practicum")))
        exchange = await self._sender.send(request, timeout_seconds=_TIMEOUT_SECONDS)
        response = exchange.response
        if response is None:
            raise UpstreamError(
                f"The OpenID provider at {shown(self._url)} says nothing: {exchange.reason}", mend=exchange.mend
            )
        if response.status != _OK:
            raise UpstreamError(
                f"The OpenID provider at {shown(self._url)} answered {response.status}.", mend=_GIVE_TOKEN_URL
            )
        try:
            answer: object = json.loads(response.body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise UpstreamError(f"What lies at {shown(self._url)} describes no OpenID provider.", mend=_GIVE_TOKEN_URL)
        return cast("dict[str, Any]", answer)

    def _read(self, described: dict[str, Any]) -> Endpoint:
        issuer, url = described.get("issuer"), described.get("token_endpoint")
        if not isinstance(issuer, str) or issuer.rstrip("/") != self._url.partition(_WELL_KNOWN)[0]:
            raise UpstreamError(
                f"The OpenID provider at {shown(self._url)} speaks for another issuer.", mend=_GIVE_TOKEN_URL
            )
        try:
            check_url(url if isinstance(url, str) else "")
            self._allow(cast("str", url))
        except DocumentError as error:
            raise UpstreamError(
                f"The OpenID provider at {shown(self._url)} names no usable token endpoint: {error.detail}",
                mend=_GIVE_TOKEN_URL,
            ) from None
        methods = described.get("token_endpoint_auth_methods_supported")
        offered = cast("list[object]", methods) if isinstance(methods, list) else ["client_secret_basic"]
        return Endpoint(cast("str", url), secret_in_body="client_secret_basic" not in offered)
