"""Reading a registration's document, and fetching one from a URL: bounded, guarded against private addresses."""

from collections.abc import Awaitable, Callable
from urllib.parse import urljoin, urlsplit

from practicum.contracts.connectors import ConnectorSpec
from practicum.errors import DocumentError
from practicum_connectors.document.limits import MAX_BYTES
from practicum_connectors.document.load import Document, load_document
from practicum_connectors.exchange import Delivery, HttpRequest
from practicum_connectors.sender import Sender

_ACCEPT = "application/vnd.oai.openapi+json, application/json, application/yaml, text/yaml, */*;q=0.5"
_MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OK = 200

DocumentSource = Callable[[str], Awaitable[bytes]]
"""Reads what stands at an absolute address; a DocumentError says why it cannot."""


async def read_document(spec: ConnectorSpec, read: DocumentSource | None = None) -> Document:
    """The document of a registration: the one it carries, or what stands at its `source`.

    Args:
        spec: the registration.
        read: reads addresses; None fetches them, guarded.

    Raises:
        DocumentError: it cannot be read; nothing else is raised.
    """
    if spec.document is not None:
        return load_document(spec.document, origin=spec.source)
    if spec.source is None:
        raise DocumentError("There is neither a document nor a source.", mend="Give `document` or `source`.")
    if read is not None:
        return load_document(await read(spec.source), origin=spec.source)
    return await fetch_document(spec.source, private_network=spec.private_network)


async def fetch_document(url: str, *, private_network: bool = False, timeout_seconds: float = 30.0) -> Document:
    """Fetch and read a document; no credential is sent for it.

    Args:
        url: where it lies.
        private_network: whether private addresses may be reached.
        timeout_seconds: bound on each request.

    Raises:
        DocumentError: it cannot be fetched or read.
    """
    sender = Sender(private_network=private_network, max_response_bytes=MAX_BYTES)
    try:
        return await _fetch(sender, url, timeout_seconds)
    finally:
        await sender.aclose()


async def _fetch(sender: Sender, url: str, timeout_seconds: float) -> Document:
    for _ in range(_MOST_REDIRECTS):
        check_url(url)
        request = HttpRequest("GET", url, (("Accept", _ACCEPT), ("User-Agent", "practicum")))
        exchange = await sender.send(request, timeout_seconds=timeout_seconds)
        response = exchange.response
        if exchange.delivery is not Delivery.ANSWERED or response is None:
            raise DocumentError(f"{shown(url)} cannot be fetched: {exchange.reason}", mend=exchange.mend)
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
        return load_document(response.body, origin=url)
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
