"""The tools of a server, read page by page: bounded, within the connector's credentials and guards."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ClientCredentialsAuth, ConnectorSpec
from practicum.errors import DocumentError
from practicum_connectors.auth import Resolve, credentials_for, schemes_of, unresolved
from practicum_connectors.document import Document
from practicum_connectors.document.limits import MAX_BYTES
from practicum_connectors.document.load import document_of
from practicum_connectors.document.pointers import Node, as_list, text_of
from practicum_connectors.fetch import finished
from practicum_connectors.mcp.document import document_for
from practicum_connectors.mcp.peer import Answer, Peer
from practicum_connectors.mcp.spec import require_fitting
from practicum_connectors.mcp.tokens import token_schemes
from practicum_connectors.sender import Sender
from practicum_connectors.servers import clean_base_url
from practicum_connectors.site import Site

MOST_TOOLS: Final = 5_000
"""Of one server."""
_MOST_PAGES: Final = 500
_SECONDS: Final = 30.0
_SECONDS_OF_ALL: Final = 120.0
_REDIRECTS: Final = range(300, 400)
_MOST_SHOWN: Final = 300


async def read_tools(spec: ConnectorSpec, *, resolve: Resolve = unresolved, known: Document | None = None) -> Document:
    """The document of an MCP server: what it lists, with the registration's overlay applied.

    Args:
        spec: the registration, with `mcp`.
        resolve: reads the parts of its credential that are kept outside.
        known: the document in force; where tokens are given stays as it says, whatever the server says by now: a
            client's secret goes nowhere else before somebody has looked at the change.

    Raises:
        DocumentError: the server cannot be reached or understood, lists too much, or the overlay does not fit.
    """
    url = require_fitting(spec)
    base_url = clean_base_url(url)
    sender = Sender(private_network=spec.private_network)
    try:
        async with asyncio.timeout(_SECONDS_OF_ALL):
            wants = isinstance(spec.auth, ClientCredentialsAuth) and spec.auth.token_url is None
            schemes = await token_schemes(url, sender) if wants else {}
            empty = document_of(document_for("", "", base_url, (), schemes), url)
            says_where = known if known is not None and schemes_of(known) else empty
            keyring = credentials_for(spec.auth, says_where, base_url, sender, resolve=resolve)
            await keyring.learn()
            peer = Peer(Site(base_url, keyring, sender, spec.limits), url)
            try:
                root = await _read(peer, base_url, schemes, min(_SECONDS, spec.limits.timeout_seconds))
            finally:
                await peer.aclose()
    except TimeoutError:
        raise DocumentError(
            f"The MCP server at {base_url} took longer than {_SECONDS_OF_ALL:.0f} s to list its tools.",
            mend="Look at what it does, or register one that is faster.",
        ) from None
    finally:
        await sender.aclose()
    return await asyncio.to_thread(finished, spec, root, url, ())


async def _read(peer: Peer, base_url: str, schemes: JsonObject, seconds: float) -> JsonObject:
    begun = await peer.begin(seconds)
    if isinstance(begun, Answer):
        raise _failure(begun, base_url, "cannot be asked for its tools")
    tools: list[object] = []
    cursor: str | None = None
    seen: set[str] = set()
    size = 0
    for _ in range(_MOST_PAGES):
        page, length = await _page(peer, base_url, cursor, seconds)
        tools += as_list(page.get("tools"))
        size += length
        if len(tools) > MOST_TOOLS or size > MAX_BYTES:
            raise DocumentError(
                f"The MCP server at {base_url} lists more than {MOST_TOOLS} tools or {MAX_BYTES} bytes of them.",
                mend="Register a server that lists fewer.",
            )
        cursor = text_of(page.get("nextCursor")) or None
        if cursor is None:
            return await asyncio.to_thread(document_for, begun.name, begun.version, base_url, tools, schemes)
        if cursor in seen:
            raise DocumentError(
                f"The list of the MCP server at {base_url} leads back to a page that was read.",
                mend="Its `nextCursor` has to come to an end.",
            )
        seen.add(cursor)
    raise DocumentError(f"The MCP server at {base_url} lists more than {_MOST_PAGES} pages.", mend="List more on each.")


async def _page(peer: Peer, base_url: str, cursor: str | None, seconds: float) -> tuple[Node, int]:
    """A page of the list, and how many bytes it took."""
    params: Mapping[str, Any] = {} if cursor is None else {"cursor": cursor}
    answer = await peer.ask("tools/list", params, seconds)
    result = None if answer.message is None else answer.message.result
    if result is None or answer.exchange.response is None:
        raise _failure(answer, base_url, "does not list its tools")
    if not isinstance(result.get("tools"), list):
        raise DocumentError(
            f"The MCP server at {base_url} lists its tools in no list.", mend="Its `tools/list` has to give `tools`."
        )
    return result, len(answer.exchange.response.body)


def _failure(answer: Answer, base_url: str, what: str) -> DocumentError:
    """Why a server could not be read, and what helps."""
    exchange, message = answer.exchange, answer.message
    response = exchange.response
    if message is not None and message.error is not None:
        said = text_of(message.error.get("message"))[:_MOST_SHOWN]
        return DocumentError(
            f"The MCP server at {base_url} {what}: {said} ({message.code}).", mend="Check the address and the server."
        )
    if response is None or answer.exchange.reason is not None:
        mend = exchange.mend or "Check the address: an MCP server answers there over streamable HTTP."
        return DocumentError(f"The MCP server at {base_url} {what}: {exchange.reason}", mend=mend)
    if response.status in _REDIRECTS:
        there = (response.header("location") or "another place")[:_MOST_SHOWN]
        return DocumentError(
            f"The MCP server at {base_url} {what}: it points to {there}, and redirects are not followed.",
            mend="Register the address that it points to, if you trust it.",
        )
    mend = "Check the address: an MCP server answers there over streamable HTTP."
    if response.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        mend = "Give it a credential that it takes (`auth`, --auth)."
    return DocumentError(f"The MCP server at {base_url} {what}: it answered {response.status}.", mend=mend)
