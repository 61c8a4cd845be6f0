"""Reading a registration's document and all it refers to: bounded, guarded against private addresses."""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urljoin, urlsplit

from practicum.contracts.connectors import ConnectorSpec
from practicum.errors import DocumentError
from practicum_connectors.document.bundle import bundled
from practicum_connectors.document.limits import MAX_BYTES
from practicum_connectors.document.load import (
    Document,
    address_of,
    as_object,
    document_of,
    load_document,
    owned,
)
from practicum_connectors.document.overlay import apply_overlay
from practicum_connectors.document.parse import parse
from practicum_connectors.document.pointers import Node
from practicum_connectors.document.sources import NOWHERE, DocumentSource, given
from practicum_connectors.exchange import Delivery, Exchange, HttpRequest, origin_of
from practicum_connectors.sender import Sender

_ACCEPT = "application/vnd.oai.openapi+json, application/json, application/yaml, text/yaml, */*;q=0.5"
_UNREACHED = "Check the address and that a server answers there, or give the document as a file."
_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OK = 200
_SECONDS = 30.0
_SECONDS_OF_ALL = 120.0
_OUTSIDE = re.compile(rb"""\$ref["']?\s*:(?!\s*["']?\#)""")

_Send = Callable[[HttpRequest, float], Awaitable[Exchange]]


async def read_document(spec: ConnectorSpec, read: DocumentSource | None = None) -> Document:
    """The document of a registration, with what it refers to elsewhere taken in and its overlay applied.

    It is the one that the registration carries, or what stands at its `source`. Documents that it refers to are taken
    from `documents`, or read; on the private network only from where the document or the system is. What takes long
    runs in threads.

    Args:
        spec: the registration.
        read: reads addresses; None fetches them, guarded.

    Raises:
        DocumentError: it cannot be read, or the overlay does not fit; nothing else is raised.
    """
    fetcher = _Fetcher(spec.private_network)
    try:
        if spec.document is not None:
            origin = spec.source
            root = as_object(await asyncio.to_thread(owned, spec.document))
            data = await asyncio.to_thread(lambda: json.dumps(root).encode())
        elif spec.source is None:
            raise DocumentError("There is neither a document nor a source.", mend="Give `document` or `source`.")
        else:
            if read is None:
                data, origin = await fetcher.first(spec.source)
            else:
                data, origin = await read(spec.source), spec.source
            root = as_object(await asyncio.to_thread(parse, data))
        notes: tuple[str, ...] = ()
        if _OUTSIDE.search(data):
            fetcher.trust(origin, spec.base_url)
            root, notes = await _whole(spec, root, origin, read or fetcher)
    finally:
        await fetcher.aclose()
    return await asyncio.to_thread(finished, spec, root, origin, notes)


async def _whole(
    spec: ConnectorSpec, root: Node, origin: str | None, read: DocumentSource
) -> tuple[Node, tuple[str, ...]]:
    base = address_of(root, origin) or NOWHERE
    try:
        return await bundled(root, base, read, given(spec.documents, base))
    except RecursionError:
        raise DocumentError("The document nests too deep.", mend="Flatten it.") from None


def finished(spec: ConnectorSpec, root: Node, origin: str | None, notes: tuple[str, ...]) -> Document:
    """A parsed document that is whole, with the registration's overlay applied.

    Args:
        spec: the registration.
        root: the parsed document, not to be changed by anybody else.
        origin: where it came from.
        notes: what is already to be said about it.

    Raises:
        DocumentError: it cannot be used, or the overlay does not fit.
    """
    document = document_of(root, origin, notes)
    if spec.overlay is None:
        return document
    changed, said = apply_overlay(document.root, spec.overlay)
    return document_of(changed, document.source, (*notes, *said))


async def fetch_document(url: str, *, private_network: bool = False, timeout_seconds: float = _SECONDS) -> Document:
    """Fetch and read one document as it stands; no credential is sent for it.

    Args:
        url: where it lies.
        private_network: whether private addresses may be reached.
        timeout_seconds: bound on each request.

    Raises:
        DocumentError: it cannot be fetched or read.
    """
    fetcher = _Fetcher(private_network)
    try:
        data, address = await fetcher.first(url, timeout_seconds)
    finally:
        await fetcher.aclose()
    return load_document(data, origin=address)


class _Fetcher:
    """Fetches a document and, within a bound on the time of all together, those that it refers to."""

    def __init__(self, private_network: bool) -> None:
        self._private_network = private_network
        self._private = Sender(private_network=True, max_response_bytes=MAX_BYTES)
        self._public = Sender(private_network=False, max_response_bytes=MAX_BYTES)
        self._trusted: frozenset[str] = frozenset()
        self._end = time.monotonic() + _SECONDS_OF_ALL

    async def first(self, url: str, timeout_seconds: float = _SECONDS) -> tuple[bytes, str]:
        """The document itself and its final address; it may stand in a private network if that is allowed at all."""
        sender = self._private if self._private_network else self._public
        return await _fetched(
            lambda request, seconds: sender.send(request, timeout_seconds=seconds), url, timeout_seconds
        )

    def trust(self, *addresses: str | None) -> None:
        """What stands at the origins of these may be in a private network, if that is allowed at all."""
        webs = [address for address in addresses if urlsplit(address or "").scheme in {"http", "https"}]
        self._trusted = frozenset(origin_of(address) for address in webs if address and self._private_network)

    async def __call__(self, address: str) -> bytes:
        """What a document refers to; every redirect is looked at anew."""
        if urlsplit(address).scheme == "file":  # beside a document that came without it
            raise DocumentError("it was not handed over with the document.")
        left = self._end - time.monotonic()
        if left <= 0:
            raise DocumentError(f"all documents together took longer than {_SECONDS_OF_ALL:.0f} s.")

        async def send(request: HttpRequest, seconds: float) -> Exchange:
            sender = self._private if request.origin in self._trusted else self._public
            return await sender.send(request, timeout_seconds=seconds)

        data, _ = await _fetched(send, address, min(left, _SECONDS))
        return data

    async def aclose(self) -> None:
        await self._private.aclose()
        await self._public.aclose()


async def _fetched(send: _Send, url: str, timeout_seconds: float) -> tuple[bytes, str]:
    for _ in range(_MOST_REDIRECTS):
        check_url(url)
        request = HttpRequest("GET", url, (("Accept", _ACCEPT), ("User-Agent", "practicum")))
        exchange = await send(request, timeout_seconds)
        response = exchange.response
        if exchange.delivery is not Delivery.ANSWERED or response is None:
            mend = _UNREACHED if exchange.tried else exchange.mend or _UNREACHED
            raise DocumentError(f"{shown(url)} cannot be fetched: {exchange.reason}", mend=mend)
        location = response.header("location")
        if response.status in _REDIRECTS and location:
            url = urljoin(url, location)
            continue
        if response.status != _OK:
            raise DocumentError(
                f"{shown(url)} cannot be fetched: the server answered {response.status}.",
                mend="Check the address; a document behind a login can be given as a file.",
            )
        if not response.complete:
            raise DocumentError(f"The document at {shown(url)} is larger than {MAX_BYTES} bytes.", mend="Split it.")
        return response.body, url
    raise DocumentError(f"{shown(url)} redirects more than {_MOST_REDIRECTS} times.", mend="Give the final address.")


def check_url(url: str) -> None:
    """Refuse what is not a plain web address.

    Raises:
        DocumentError: another scheme, no host, or a password in it.
    """
    try:
        parts = urlsplit(url)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        raise DocumentError(f"{shown(url)!r} is not an address.", mend="Give an http or https address.") from None
    if not fits:
        raise DocumentError(f"{shown(url)!r} is not a web address.", mend="Give an http or https address.")
    if parts.username is not None or parts.password is not None:
        raise DocumentError("The address holds a user name or password.", mend="Give the credential as `auth`.")


def shown(url: str) -> str:
    """An address as it may be shown: without query, which may hold a key, and without a password."""
    bare = url.partition("?")[0].partition("#")[0]
    scheme, mark, rest = bare.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"
