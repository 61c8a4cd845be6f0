"""Servers that speak OpenAI's chat completions, asked directly: vLLM, SGLang, llama.cpp's, Ollama, a company's proxy.

litellm would send them the same body, for more CPU than all else about a call takes together. Each request is sent once
and no redirect is followed; whoever asks bounds the time.
"""

import asyncio
import contextlib
import functools
import json
import re
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from urllib.request import getproxies, proxy_bypass

import httpx
from pydantic import TypeAdapter, ValidationError

from practicum.codecs.bodies import arriving, sent
from practicum.contracts.base import JsonObject
from practicum.contracts.models import ModelSpec
from practicum.errors import ModelProviderError
from practicum_connectors.wire import Transport
from practicum_gateway.content import without_keys
from practicum_gateway.models.chat_format import body_of
from practicum_gateway.models.openai_answer import StreamedAnswer, UnreadableError, read_answer, said_in, start_of
from practicum_gateway.models.provider import Completed, Prompt
from practicum_gateway.models.provider_errors import provider_errors

_SPOKEN = re.compile(r"hosted_vllm/|openai/(?!o\d|gpt-\d|chatgpt|responses/)")
"""Targets asked directly where they have a base URL. What OpenAI's own models take differs by model: litellm knows."""
_CHAT, VECTORS = "/chat/completions", "/embeddings"
_CONNECTIONS = 1024
_CONNECT_SECONDS = 10.0
_KEEP_ALIVE_SECONDS = 3.0  # shorter than servers' own (uvicorn: 5), or a reused connection may be closing already
_LINGER_SECONDS = 1.0
"""How long the end of a stream is waited for once it has said that it is done, so that its connection can be kept."""
_TAIL_SECONDS = 5.0
"""How long the tokens and the end are waited for once the turn has ended; both follow it at once."""
_MOST_BYTES = 64 * 1024 * 1024
"""The longest answer, or line of a stream: far longer than any with token ids and logprobs."""
_MOST_STREAMED = 8 * _MOST_BYTES
"""The longest stream: a server that never ends fills no memory."""
_MOST_REFUSED = 64 * 1024
"""As much of a refusal is read."""
_PIECE = 64 * 1024
_PLAIN, _ANY_HEADER = "identity", 32
_SHOWN = 40
_BOM = b"\xef\xbb\xbf"
_DONE = b"[DONE]"
_EVENT = b"data:"
_OBJECT: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)


def asked_directly(spec: ModelSpec) -> bool:
    """Whether a registered model is a server that speaks OpenAI's form, at a URL of its own."""
    return spec.base_url is not None and _SPOKEN.match(spec.target) is not None


class OpenAIServers:
    """Asks them, over connections that are kept."""

    def __init__(self) -> None:
        """Connect to nothing yet."""
        self._servers: dict[str, Server] = {}

    async def complete(self, prompt: Prompt) -> Completed:
        """The model's turn.

        Raises:
            ModelProviderError: the server is down, overloaded, or answered what is no answer.
            RequestError: the server refuses what it was asked; asking again will not help.
        """
        body = arriving(body_of(prompt))
        with provider_errors(prompt):
            async with self._server(prompt).asked(_CHAT, body, prompt.api_key) as response:
                said = await whole(response)
            return replace(read_answer(said, where=prompt.spec.alias), sent=sent(prompt.spec, body))

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completed]:
        """The model's turn in pieces of text, and last the whole of it; what arrived together is one piece.

        Raises:
            ModelProviderError: as for `complete`; also when the stream stops before its end.
            RequestError: as for `complete`.
        """
        body, answer = arriving(body_of(prompt)), StreamedAnswer(where=prompt.spec.alias)
        wish: JsonObject = {**body, "stream": True, "stream_options": {"include_usage": True}}
        with provider_errors(prompt):
            async with self._server(prompt).asked(_CHAT, wish, prompt.api_key) as response:
                arrived = events_in(response)
                while (events := await _more(arrived, answer)) is not None:
                    if text := "".join([answer.add(event) or "" for event in events if event != _DONE]):
                        yield text
                    if _DONE in events:
                        break
                if not answer.finished:
                    raise _broken_off(answer, response, prompt.api_key)
                yield replace(answer.whole(), sent=sent(prompt.spec, body))
                with contextlib.suppress(TimeoutError, httpx.RequestError):
                    async with asyncio.timeout(_LINGER_SECONDS):
                        await anext(arrived, None)

    async def embed(self, prompt: Prompt, texts: Sequence[str]) -> JsonObject:
        """The vectors of texts as the server answers them, in OpenAI's form.

        Raises:
            ModelProviderError: as for `complete`.
            RequestError: as for `complete`; also when the model makes no vectors.
        """
        with provider_errors(prompt):
            return await self._server(prompt).vectors(prompt.spec.target.partition("/")[2], texts, prompt.api_key)

    async def close(self) -> None:
        """Close the connections that nobody uses; those in use end with their answers."""
        servers, self._servers = self._servers, {}
        for server in servers.values():
            await server.transport.aclose()

    def _server(self, prompt: Prompt) -> "Server":
        base = prompt.spec.base_url or ""
        server = self._servers.get(base)
        if server is None:
            url = httpx.URL(base)
            paths = {path: url.copy_with(path=url.path.rstrip("/") + path) for path in (_CHAT, VECTORS)}
            server = self._servers[base] = Server(paths, transport_to(url))
        return server


@dataclass(frozen=True, slots=True)
class Server:
    """One server.

    Attributes:
        urls: where it answers, by what is asked.
        transport: connections to it.
    """

    urls: Mapping[str, httpx.URL]
    transport: httpx.AsyncBaseTransport

    @asynccontextmanager
    async def asked(self, path: str, body: JsonObject, key: str | None) -> AsyncGenerator[httpx.Response]:
        """An answer whose head is there, and which is no refusal.

        Raises:
            RefusalError: it is one.
            httpx.TransportError: there is none.
        """
        headers = {"Content-Type": "application/json", "Accept": "*/*", "User-Agent": "practicum"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        asking = httpx.Request("POST", self.urls[path], headers=headers, content=content)
        response = await self.transport.handle_async_request(asking)
        try:
            if not response.is_success:
                raise RefusalError(await _beginning(response), response)
            yield response
        finally:
            await response.aclose()

    async def vectors(self, named: str, texts: Sequence[str], key: str | None) -> JsonObject:
        """The vectors of texts as it answers them, in OpenAI's form.

        Raises:
            RefusalError: it answers none.
            UnreadableError: what it answers is no JSON.
            httpx.TransportError: it does not answer.
        """
        body: JsonObject = {"model": named, "input": [*texts], "encoding_format": "float"}
        async with self.asked(VECTORS, body, key) as response:
            said = await whole(response)
        try:
            return _OBJECT.validate_json(said)
        except ValidationError:
            raise UnreadableError(f"its answer is not JSON with vectors: {start_of(said)}") from None


class RefusalError(Exception):
    """A server does not answer; `provider_errors` makes one of the house's errors of it."""

    def __init__(self, body: bytes, response: httpx.Response) -> None:
        try:
            said = said_in(_OBJECT.validate_json(body))
        except ValidationError:
            said = start_of(body)
        super().__init__(said)
        self.status_code = response.status_code
        self.response = response


async def _more(arrived: AsyncGenerator[list[bytes]], answer: StreamedAnswer) -> list[bytes] | None:
    """The next events; where the turn has ended, nobody is waited for long who does not say that this was all."""
    if not answer.finished:
        return await anext(arrived, None)
    with contextlib.suppress(TimeoutError, httpx.TransportError):
        async with asyncio.timeout(_TAIL_SECONDS):
            return await anext(arrived, None)
    return None


def _broken_off(answer: StreamedAnswer, response: httpx.Response, key: str | None) -> ModelProviderError:
    if answer.begun:
        return ModelProviderError(f"The model '{answer.where}' stopped in the middle of its answer.")
    told = response.headers.get("content-type", "something that does not say what it is")
    kind = without_keys(told, key)[:_SHOWN]
    return ModelProviderError(f"The model '{answer.where}' streamed no answer, but {kind}.", quoted=kind)


async def whole(response: httpx.Response) -> bytes:
    """The body of an answer.

    Raises:
        UnreadableError: it is longer than any answer.
    """
    body = bytearray()
    async for chunk in _chunks(response):
        body += chunk
        if len(body) > _MOST_BYTES:
            raise UnreadableError(f"its answer is longer than {_MOST_BYTES} bytes")
    return bytes(body)


async def _beginning(response: httpx.Response) -> bytes:
    """As much of a refusal as is read."""
    body = bytearray()
    async for chunk in _chunks(response):
        body += chunk
        if len(body) > _MOST_REFUSED:
            break
    return bytes(body)


async def events_in(response: httpx.Response) -> AsyncGenerator[list[bytes]]:
    """The data of the events of a stream, as many at a time as have arrived.

    Raises:
        UnreadableError: a line is longer than any answer.
    """
    begun: list[bytes] = []
    length = came = 0
    async for chunk in _chunks(response):
        came += len(chunk)
        *lines, rest = (chunk.removeprefix(_BOM) if came == len(chunk) else chunk).split(b"\n")
        if lines:
            lines[0] = b"".join((*begun, lines[0]))
            begun, length = [], 0
        begun.append(rest)
        length += len(rest)
        if length > _MOST_BYTES or came > _MOST_STREAMED:
            raise UnreadableError(
                f"its stream is longer than {_MOST_STREAMED} bytes, or a line of it than {_MOST_BYTES}"
            )
        if events := [line[len(_EVENT) :].strip() for line in lines if line.startswith(_EVENT)]:
            yield events
    rest = b"".join(begun)
    if rest.startswith(_EVENT):
        yield [rest[len(_EVENT) :].strip()]


def _chunks(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body as it comes, unpacked where it is packed, which nobody asked for."""
    came: AsyncIterator[bytes] = aiter(response.stream)  # pyright: ignore[reportArgumentType]
    return _unpacked(came) if response.headers.get("content-encoding", _PLAIN) != _PLAIN else came


async def _unpacked(came: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """What gzip or deflate packed, in pieces of a size that is known, for little may be much when it is unpacked."""
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | _ANY_HEADER)
    async for chunk in came:
        rest = chunk
        while rest:
            yield unpacking.decompress(rest, _PIECE)
            rest = unpacking.unconsumed_tail


def transport_to(url: httpx.URL) -> httpx.AsyncBaseTransport:
    """Connections to a server: through a proxy, where the environment names one for it."""
    proxy = getproxies().get(url.scheme)
    if proxy is not None and not proxy_bypass(url.host):
        return httpx.AsyncHTTPTransport(verify=_tls(), proxy=proxy, limits=_LIMITS)
    return Transport(
        tls=_tls() if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        connections=_CONNECTIONS,
        keep_alive=_KEEP_ALIVE_SECONDS,
        connect_seconds=_CONNECT_SECONDS,
    )


@functools.cache
def _tls() -> ssl.SSLContext:
    """Made once, for it reads every certificate authority; SSL_CERT_FILE and SSL_CERT_DIR are honoured."""
    return httpx.create_ssl_context(trust_env=True)


_LIMITS = httpx.Limits(max_connections=_CONNECTIONS, keepalive_expiry=_KEEP_ALIVE_SECONDS)
