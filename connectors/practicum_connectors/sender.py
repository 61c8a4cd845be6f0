"""The one place of the connectors that speaks HTTP.

It sends a request once, follows no redirect, keeps no cookies, reads no proxy or password from the environment, and
says how far the request came: whoever keeps the ledger must know `surely not sent` from `sent, answer lost`.
"""

import asyncio
import functools
import ssl
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from practicum_connectors.addresses import AddressError, public_address
from practicum_connectors.exchange import Delivery, Exchange, HttpRequest, HttpResponse, origin_of

MAX_RESPONSE_BYTES = 16 * 1024 * 1024
"""A longer body is cut there; what is shown to a model is far shorter."""

_CONNECT_SECONDS = 10.0
_KEEP_ALIVE_SECONDS = 3.0  # shorter than servers' own (uvicorn: 5), or a reused connection may be closing already
_ADDRESS_SECONDS = 60.0
_STARTED = ".send_request_headers.started"
_LIMITS = httpx.Limits(max_connections=64, max_keepalive_connections=16, keepalive_expiry=_KEEP_ALIVE_SECONDS)


@functools.cache
def _tls() -> ssl.SSLContext:
    """Made once, for it reads every certificate authority; SSL_CERT_FILE and SSL_CERT_DIR are honoured."""
    return httpx.create_ssl_context(trust_env=True)


@dataclass(slots=True)
class _Peer:
    """One origin: its connections, and the address they are bound to."""

    transport: httpx.AsyncHTTPTransport
    address: str | None = None
    until: float = 0.0


@dataclass(slots=True)
class _Progress:
    """How far a request came, told by the connection itself."""

    started: bool = False

    async def trace(self, event: str, _: dict[str, Any]) -> None:
        if event.endswith(_STARTED):
            self.started = True


@dataclass(slots=True)
class Sender:
    """Sends requests over connections that it keeps per origin.

    Attributes:
        private_network: whether private addresses may be reached.
        max_response_bytes: where a response's body is cut.
    """

    private_network: bool = False
    max_response_bytes: int = MAX_RESPONSE_BYTES
    _peers: dict[str, _Peer] = field(default_factory=dict[str, _Peer], repr=False)

    async def send(self, request: HttpRequest, *, timeout_seconds: float = 30.0) -> Exchange:
        """Send once; never raises for what the network or the system did.

        Args:
            request: the request, with its credentials.
            timeout_seconds: bound on the whole exchange.
        """
        progress = _Progress()
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._exchange(request, progress, timeout_seconds)
        except AddressError as error:
            mend = "Register the connector with `private_network` (--private-network) if it is meant to be reached."
            return Exchange(Delivery.NOT_SENT, reason=str(error), mend=mend)
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            return Exchange(Delivery.NOT_SENT, reason=f"The request is not valid HTTP ({type(error).__name__}).")
        except (httpx.TransportError, TimeoutError) as error:
            return _failure(request, progress, error, timeout_seconds)

    async def _exchange(self, request: HttpRequest, progress: _Progress, timeout_seconds: float) -> Exchange:
        peer = await self._peer(request)
        url = httpx.URL(request.url)
        extensions: dict[str, Any] = {
            "timeout": {
                "connect": min(_CONNECT_SECONDS, timeout_seconds),
                "read": timeout_seconds,
                "write": timeout_seconds,
                "pool": timeout_seconds,
            },
            "trace": progress.trace,
        }
        headers = [("Host", url.netloc.decode("ascii")), *request.headers, ("Accept-Encoding", "gzip, deflate")]
        if peer.address is not None:
            extensions["sni_hostname"] = url.host
            url = url.copy_with(host=peer.address)
        message = httpx.Request(request.method, url, headers=headers, content=request.body, extensions=extensions)
        response = await peer.transport.handle_async_request(message)
        try:
            return Exchange(Delivery.ANSWERED, await self._read(response))
        finally:
            await response.aclose()

    async def _read(self, response: httpx.Response) -> HttpResponse:
        headers = tuple((name.lower(), value) for name, value in response.headers.multi_items())
        body = bytearray()
        complete = True
        try:
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > self.max_response_bytes:
                    complete = False
                    break
        except httpx.DecodingError:  # answered, in an encoding that it does not keep to
            complete = False
        return HttpResponse(response.status_code, headers, bytes(body[: self.max_response_bytes]), complete)

    async def _peer(self, request: HttpRequest) -> _Peer:
        origin = origin_of(request.url)
        peer = self._peers.get(origin)
        if peer is None:
            transport = httpx.AsyncHTTPTransport(verify=_tls(), trust_env=False, limits=_LIMITS)
            peer = self._peers[origin] = _Peer(transport)
        if not self.private_network and time.monotonic() >= peer.until:
            url = httpx.URL(request.url)
            port = url.port or (443 if url.scheme == "https" else 80)
            peer.address = await public_address(url.host, port)
            peer.until = time.monotonic() + _ADDRESS_SECONDS
        return peer

    async def aclose(self) -> None:
        """Close all connections."""
        peers, self._peers = self._peers, {}
        for peer in peers.values():
            await peer.transport.aclose()


def _failure(request: HttpRequest, progress: _Progress, error: Exception, timeout_seconds: float) -> Exchange:
    timed_out = isinstance(error, TimeoutError | httpx.TimeoutException)
    if progress.started:
        happened = f"gave no answer within {timeout_seconds:g} s" if timed_out else "broke off before it had answered"
        return Exchange(Delivery.LOST, reason=f"The system at {request.origin} {happened}.")
    happened = "did not accept a connection in time" if timed_out else "cannot be reached"
    return Exchange(
        Delivery.NOT_SENT,
        reason=f"The system at {request.origin} {happened}.",
        mend="Check that it runs and that the connector's `base_url` is right.",
    )
