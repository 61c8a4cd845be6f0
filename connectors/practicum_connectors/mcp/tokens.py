"""Where an MCP server's tokens are given: as its own metadata says (RFC 9728) and its token server's (RFC 8414)."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from practicum.contracts.base import JsonObject
from practicum.errors import DocumentError
from practicum_connectors.document.pointers import Node, as_list, as_node, text_of
from practicum_connectors.exchange import HttpRequest
from practicum_connectors.fetch import check_url, shown
from practicum_connectors.sender import Sender

_SECONDS: Final = 20.0
_MOST_BYTES: Final = 1024 * 1024
_MEND: Final = "Give `token_url` with the credential."


async def token_schemes(url: str, sender: Sender) -> JsonObject:
    """The security scheme that says where client credentials are exchanged for tokens, by its name.

    Args:
        url: where the server listens.
        sender: asks; no credential goes with it.

    Raises:
        DocumentError: it cannot be found out.
    """
    resource = await _first(_well_known(url, "oauth-protected-resource"), sender)
    issuers = [text_of(issuer) for issuer in as_list(resource.get("authorization_servers"))]
    if not issuers or not issuers[0]:
        raise DocumentError(f"The MCP server at {shown(url)} does not say where its tokens are given.", mend=_MEND)
    check_url(issuers[0])
    addresses = (*_well_known(issuers[0], "oauth-authorization-server"), *_openid(issuers[0]))
    described = await _first(addresses, sender)
    token_url = text_of(described.get("token_endpoint"))
    if text_of(described.get("issuer")).rstrip("/") != issuers[0].rstrip("/") or not token_url:
        raise DocumentError(
            f"What lies at {shown(issuers[0])} describes another authorization server, or none.", mend=_MEND
        )
    check_url(token_url)
    flow: JsonObject = {"tokenUrl": token_url, "scopes": {}}
    return {"oauth": {"type": "oauth2", "flows": {"clientCredentials": flow}}}


async def _first(addresses: Iterator[str] | tuple[str, ...], sender: Sender) -> Node:
    """The first of some places where an object lies; nothing where none is."""
    for address in addresses:
        headers = (("Accept", "application/json"), ("User-Agent", "practicum"))
        exchange = await sender.send(HttpRequest("GET", address, headers), timeout_seconds=_SECONDS)
        response = exchange.response
        if response is None or response.status != HTTPStatus.OK or len(response.body) > _MOST_BYTES:
            continue
        try:
            found: object = json.loads(response.body)
        except (ValueError, RecursionError):
            continue
        if as_node(found):
            return as_node(found)
    return {}


def _well_known(url: str, name: str) -> tuple[str, ...]:
    """Before the path of an address, and at the root of its host."""
    parts = urlsplit(url)
    root, path = f"{parts.scheme}://{parts.netloc}/.well-known/{name}", parts.path.rstrip("/")
    return (f"{root}{path}", root) if path else (root,)


def _openid(issuer: str) -> tuple[str, ...]:
    return (f"{issuer.rstrip('/')}/.well-known/openid-configuration",)
