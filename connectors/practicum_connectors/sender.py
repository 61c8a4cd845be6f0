"""The one place of the connectors that speaks HTTP.

It sends a request once, follows no redirect, keeps no cookies, reads no proxy or password from the environment, and
says how far the request came: whoever keeps the ledger must know `surely not sent` from `sent, answer lost`.
"""

import asyncio
import contextlib
import functools
import math
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import httpx

from practicum_connectors.addresses import AddressError, public_address
from practicum_connectors.exchange import Delivery, Exchange, HttpRequest, HttpResponse, Stream, Watch, origin_of
from practicum_connectors.wire import STARTED, Transport

MAX_RESPONSE_BYTES = 16 * 1024 * 1024
"""A longer body is cut there; what is shown to a model is far shorter."""

_CONNECT_SECONDS = 10.0
_KEEP_ALIVE_SECONDS = 3.0  # shorter than servers' own (uvicorn: 5), or a reused connection may be closing already
_ADDRESS_SECONDS = 60.0
_CONNECTIONS = 64
_TO_ANSWER_SECONDS = 0.25
_ENCODINGS = ("gzip", "deflate")
_SLICE_BYTES = 4096


def new_tls() -> ssl.SSLContext:
    """What connections are made with; SSL_CERT_FILE and SSL_CERT_DIR are honoured."""
    return httpx.create_ssl_context(trust_env=True)


@functools.cache
def _tls() -> ssl.SSLContext:
    """Made once, for it reads every certificate authority."""
    return new_tls()


_Way: TypeAlias = tuple[str, ssl.SSLContext | None]
"""An origin, and what connections to it are made with."""


@dataclass(slots=True)
class _Peer:
    """One origin: its connections, and the address they are bound to."""

    transport: Transport
    address: str | None = None
    until: float = 0.0


@dataclass(slots=True)
class _Progress:
    """How far a request came, told by the connection itself."""

    started: bool = False

    def start(self) -> None:
        self.started = True


@dataclass(slots=True)
class Sender:
    """Sends requests over connections that it keeps per origin.

    Attributes:
        private_network: whether private addresses may be reached.
        max_response_bytes: where a response's body is cut.
        connections: most connections to one origin.
    """

    private_network: bool = False
    max_response_bytes: int = MAX_RESPONSE_BYTES
    connections: int = _CONNECTIONS
    _peers: dict[_Way, _Peer] = field(default_factory=dict[_Way, _Peer], repr=False)

    async def send(
        self,
        request: HttpRequest,
        *,
        timeout_seconds: float = 30.0,
        tls: ssl.SSLContext | None = None,
        watch: Watch | None = None,
    ) -> Exchange:
        """Send once; never raises for what the network or the system did.

        Args:
            request: the request, with its credentials.
            timeout_seconds: bound on the whole exchange.
            tls: what its connection is made with, where it takes more than the usual.
            watch: says of an answer whether and how far it is read as a stream.
        """
        progress = _Progress()
        try:
            async with asyncio.timeout(timeout_seconds) as bound:
                return await self._exchange(request, progress, tls=tls, watch=watch, bound=bound)
        except AddressError as error:
            return Exchange(Delivery.NOT_SENT, reason=str(error), mend=error.mend, tried=False)
        except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            return _invalid(error)
        except ValueError as error:  # a header that is not ASCII, a port or a host that is none
            if progress.started:
                raise
            return _invalid(error)
        except (httpx.TransportError, TimeoutError) as error:
            return _failure(request, progress, error, timeout_seconds)

    async def _exchange(
        self,
        request: HttpRequest,
        progress: _Progress,
        *,
        tls: ssl.SSLContext | None,
        watch: Watch | None,
        bound: asyncio.Timeout,
    ) -> Exchange:
        url = httpx.URL(request.url)
        peer = await self._peer(request, url, tls)
        extensions: dict[str, Any] = {STARTED: progress.start}
        headers = [("Host", url.netloc.decode("ascii")), *request.headers, ("Accept-Encoding", ", ".join(_ENCODINGS))]
        if peer.address is not None:
            extensions["sni_hostname"] = url.host
            url = url.copy_with(host=peer.address)
        message = httpx.Request(request.method, url, headers=headers, content=request.body, extensions=extensions)
        response = await peer.transport.handle_async_request(message)
        try:
            stream = None if watch is None else watch(response.headers.get("content-type", ""))
            if stream is None:
                return Exchange(Delivery.ANSWERED, await self._read(response))
            return Exchange(Delivery.ANSWERED, await self._read_stream(response, stream, bound.when()))
        finally:
            await response.aclose()

    async def _read(self, response: httpx.Response) -> HttpResponse:
        body = bytearray()
        complete = True
        try:
            async for chunk in _chunks(response):
                body += chunk
                if len(body) > self.max_response_bytes:
                    complete = False
                    break
        except httpx.DecodingError:  # answered, in an encoding that it does not keep to
            complete = False
        return self._answer(response, body, complete=complete)

    async def _read_stream(self, response: httpx.Response, stream: Stream, until: float | None) -> HttpResponse:
        """What has come of a stream when it is enough, breaks off, or its time is over: answered, if not whole."""
        body = bytearray()
        complete = False
        now = asyncio.get_running_loop().time()
        end = min(now + stream.seconds, (until or math.inf) - _TO_ANSWER_SECONDS)
        with contextlib.suppress(TimeoutError, httpx.TransportError, httpx.DecodingError):
            async with asyncio.timeout_at(end):
                async for chunk in _chunks(response):
                    body += chunk
                    if stream.enough(chunk) or len(body) > self.max_response_bytes:
                        break
                else:
                    complete = True
        return self._answer(response, body, complete=complete)

    def _answer(self, response: httpx.Response, body: bytearray, *, complete: bool) -> HttpResponse:
        headers = tuple((name.lower(), value) for name, value in response.headers.multi_items())
        return HttpResponse(response.status_code, headers, bytes(body[: self.max_response_bytes]), complete)

    async def _peer(self, request: HttpRequest, url: httpx.URL, tls: ssl.SSLContext | None) -> _Peer:
        way = (origin_of(request.url), tls)
        peer = self._peers.get(way)
        if peer is None:
            transport = Transport(
                tls=tls or _tls(),
                connections=self.connections,
                keep_alive=_KEEP_ALIVE_SECONDS,
                connect_seconds=_CONNECT_SECONDS,
            )
            peer = self._peers[way] = _Peer(transport)
        if not self.private_network and time.monotonic() >= peer.until:
            port = url.port or (443 if url.scheme == "https" else 80)
            peer.address = await public_address(url.host, port)
            peer.until = time.monotonic() + _ADDRESS_SECONDS
        return peer

    async def aclose(self) -> None:
        """Close all connections."""
        peers, self._peers = self._peers, {}
        for peer in peers.values():
            await peer.transport.aclose()


class _Sliced(httpx.AsyncByteStream):
    """A stream in pieces of which none can be unpacked to more than a few megabytes at once."""

    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            for at in range(0, len(chunk), _SLICE_BYTES):
                yield chunk[at : at + _SLICE_BYTES]

    async def aclose(self) -> None:
        await self._stream.aclose()


def _chunks(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body, unpacked where it is in the one or the other encoding that was asked for.

    Raises:
        DecodingError: it was packed more than once: a few bytes of that may be gigabytes.
    """
    stream = cast("httpx.AsyncByteStream", response.stream)
    codings = [name for name in response.headers.get("content-encoding", "").lower().split(",") if name.strip()]
    if len(codings) > 1:
        raise httpx.DecodingError("It is packed more than once.")
    if codings and codings[0].strip() in _ENCODINGS:
        response.stream = _Sliced(stream)
        return response.aiter_bytes()
    return aiter(stream)


def _invalid(error: Exception) -> Exchange:
    reason = f"The request is not valid HTTP ({type(error).__name__})."  # its own words may quote a secret
    return Exchange(Delivery.NOT_SENT, reason=reason, tried=False)


def _failure(request: HttpRequest, progress: _Progress, error: Exception, timeout_seconds: float) -> Exchange:
    timed_out = isinstance(error, TimeoutError | httpx.TimeoutException)
    if progress.started:
        happened = (
            f"gave no answer within {round(timeout_seconds, 1):g} s"
            if timed_out
            else "broke off before it had answered"
        )
        return Exchange(Delivery.LOST, reason=f"The system at {request.origin} {happened}.")
    happened = "did not accept a connection in time" if timed_out else "cannot be reached"
    return Exchange(
        Delivery.NOT_SENT,
        reason=f"The system at {request.origin} {happened}.",
        mend="Check that it runs and that the connector's `base_url` is right.",
    )
