"""Sends calls over httpx, blocking or not; adds the key and, inside a span, the trace."""

import ssl
import sys
import time
from collections.abc import AsyncGenerator, Generator
from importlib.metadata import version
from typing import Any

import httpx

from practicum.client.address import Address
from practicum.client.call import Call, T
from practicum.client.faults import parsed, refusal, typed_faults
from practicum.client.stream import EventBuffer
from practicum.contracts.base import Value
from practicum.contracts.tenants import TENANT_HEADER
from practicum.errors import RequestError


def trace_headers() -> dict[str, str]:
    """W3C trace headers of the active span; none when OpenTelemetry was never loaded or no span is active."""
    # A span can only be active if the application loaded OpenTelemetry: looking it up saves the import.
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return {}
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    parent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"
    state = context.trace_state.to_header()
    return {"traceparent": parent, **({"tracestate": state} if state else {})}


def _written(body: Value) -> bytes:
    """A body as JSON.

    Raises:
        RequestError: it holds what UTF-8 cannot carry.
    """
    try:
        return body.model_dump_json().encode()
    except ValueError:
        raise RequestError(
            "What is sent holds half of a character (a lone surrogate, such as `\\ud83d`), which no text can carry.",
            mend="Leave it out, or write the whole character.",
        ) from None


class _Connection:
    """What both transports share: how a call becomes a request."""

    def __init__(self, address: Address, timeout: float, connect_timeout: float) -> None:
        self.address = address
        self.timeout = timeout
        self.limits = httpx.Timeout(timeout, connect=connect_timeout)

    def options(self) -> dict[str, Any]:
        """Options of an httpx client."""
        return {
            "base_url": self.address.url,
            "timeout": self.limits,
            "trust_env": not self.address.loopback,
            # Plain HTTP checks no certificate: the authorities, slow to load, are left out, and none is trusted.
            "verify": True if self.address.encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            "headers": {
                "authorization": f"Bearer {self.address.api_key}",
                "user-agent": f"practicum-sdk/{version('practicum')}",
                **({} if self.address.tenant is None else {TENANT_HEADER: self.address.tenant}),
            },
        }

    def request(self, call: Call[Any], client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """A call as httpx sends it.

        Raises:
            RequestError: its body holds what UTF-8 cannot carry.
        """
        headers = trace_headers()
        if call.body is not None:
            headers["content-type"] = "application/json"
        content = None if call.body is None else _written(call.body)
        return client.build_request(call.method, call.path, params=call.query or None, content=content, headers=headers)

    def stream_request(self, call: Call[Any], client: httpx.Client | httpx.AsyncClient, quiet: float) -> httpx.Request:
        """A call whose answer is a stream that may be quiet for `quiet` seconds."""
        request = self.request(call, client)
        request.headers["accept"] = "text/event-stream"
        request.extensions["timeout"] = {**self.limits.as_dict(), "read": quiet}
        return request

    def answer(self, call: Call[T], response: httpx.Response) -> T:
        """What a whole response says, or its error."""
        if not response.is_success:
            raise refusal(self.address, call, response.status_code, response.content)
        return parsed(self.address, call, response.content)


class Transport(_Connection):
    """Sends calls and waits."""

    def __init__(self, address: Address, *, timeout: float, connect_timeout: float) -> None:
        """Open a pool of connections.

        Args:
            address: the gateway.
            timeout: seconds that an answer may take.
            connect_timeout: seconds that a connection may take.
        """
        super().__init__(address, timeout, connect_timeout)
        self._http = httpx.Client(**self.options())

    def send(self, call: Call[T]) -> T:
        """The answer to a call.

        Raises:
            PracticumError: the typed error of whatever went wrong.
        """
        with typed_faults(self.address, call):
            response = self._http.send(self.request(call, self._http))
        return self.answer(call, response)

    def stream(self, call: Call[T], *, deadline: float | None = None) -> Generator[T | None]:
        """The values of a server-sent stream; None first and for each sign of life without a value.

        It ends when the server ends it, or is quiet for the timeout, or at the deadline.

        Args:
            call: what to read.
            deadline: `time.monotonic()` at which to stop.
        """
        quiet = self.timeout if deadline is None else max(0.01, min(self.timeout, deadline - time.monotonic()))
        buffer = EventBuffer()
        with typed_faults(self.address, call):
            response = self._http.send(self.stream_request(call, self._http, quiet), stream=True)
            try:
                if not response.is_success:
                    response.read()
                    self.answer(call, response)
                yield None
                for piece in response.iter_bytes():
                    for data in buffer.feed(piece):
                        yield parsed(self.address, call, data)
                    yield None
            except httpx.ReadTimeout:
                return
            finally:
                response.close()

    def lines(self, call: Call[bytes]) -> Generator[bytes]:
        """The lines of an answer as they arrive, without their ends.

        Raises:
            PracticumError: the typed error of whatever went wrong, before the first line or later.
        """
        rest = b""
        with typed_faults(self.address, call):
            response = self._http.send(self.request(call, self._http), stream=True)
            try:
                if not response.is_success:
                    response.read()
                    self.answer(call, response)
                for piece in response.iter_bytes():
                    *lines, rest = (rest + piece).split(b"\n")
                    yield from lines
            finally:
                response.close()
        if rest:
            yield rest

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class AsyncTransport(_Connection):
    """Sends calls without blocking."""

    def __init__(self, address: Address, *, timeout: float, connect_timeout: float) -> None:
        """Prepare a pool of connections; arguments as for `Transport`."""
        super().__init__(address, timeout, connect_timeout)
        self._http = httpx.AsyncClient(**self.options())

    async def send(self, call: Call[T]) -> T:
        """The answer to a call; errors as for `Transport.send`."""
        with typed_faults(self.address, call):
            response = await self._http.send(self.request(call, self._http))
        return self.answer(call, response)

    async def stream(self, call: Call[T]) -> AsyncGenerator[T | None]:
        """The values of a server-sent stream, as `Transport.stream`."""
        buffer = EventBuffer()
        with typed_faults(self.address, call):
            response = await self._http.send(self.stream_request(call, self._http, self.timeout), stream=True)
            try:
                if not response.is_success:
                    await response.aread()
                    self.answer(call, response)
                yield None
                async for piece in response.aiter_bytes():
                    for data in buffer.feed(piece):
                        yield parsed(self.address, call, data)
                    yield None
            except httpx.ReadTimeout:
                return
            finally:
                await response.aclose()

    async def lines(self, call: Call[bytes]) -> AsyncGenerator[bytes]:
        """The lines of an answer as they arrive, as `Transport.lines`."""
        rest = b""
        with typed_faults(self.address, call):
            response = await self._http.send(self.request(call, self._http), stream=True)
            try:
                if not response.is_success:
                    await response.aread()
                    self.answer(call, response)
                async for piece in response.aiter_bytes():
                    *lines, rest = (rest + piece).split(b"\n")
                    for line in lines:
                        yield line
            finally:
                await response.aclose()
        if rest:
            yield rest

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
