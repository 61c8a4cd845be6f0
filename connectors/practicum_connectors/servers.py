"""Where calls go: the registration's base URL, or the servers that the document names."""

import re
from urllib.parse import urljoin, urlsplit

from practicum.contracts.connectors import ConnectorSpec
from practicum.errors import DocumentError
from practicum_connectors.document import Document, Node, Operation
from practicum_connectors.document.pointers import as_list, as_node, text_of
from practicum_connectors.fetch import check_url, shown

_VARIABLE = re.compile(r"\{([^{}]+)\}")
_GIVE_BASE_URL = "Give `base_url` with the registration."


def base_url_of(spec: ConnectorSpec, document: Document) -> str:
    """Where a connector's calls go, without a slash at its end.

    Raises:
        DocumentError: neither the registration nor the document says it, or it is no web address.
    """
    if spec.base_url is not None:
        return clean_base_url(spec.base_url)
    servers = [as_node(server) for server in as_list(document.root.get("servers"))] or [{"url": "/"}]
    return _resolve(servers[0], document)


def operation_url(
    spec: ConnectorSpec, document: Document, operation: Operation, base_url: str
) -> tuple[str, tuple[str, ...]]:
    """Where the calls of one operation go, and what has to be said about it.

    Raises:
        DocumentError: its own server is no web address.
    """
    if not operation.servers:
        return base_url, ()
    if spec.base_url is not None:
        named = text_of(operation.servers[0].get("url"))
        usual = {text_of(as_node(server).get("url")) for server in as_list(document.root.get("servers"))}
        departs = bool(usual) and named not in usual
        return base_url, (f"Its own server {named!r} is replaced by `base_url`.",) if departs else ()
    return _resolve(operation.servers[0], document), ()


def _resolve(server: Node, document: Document) -> str:
    variables = as_node(server.get("variables"))

    def default(match: re.Match[str]) -> str:
        value = as_node(variables.get(match[1])).get("default")
        if value is None or value == "":
            raise DocumentError(f"The server's variable {match[1]!r} has no default.", mend=_GIVE_BASE_URL)
        return str(value)

    url = _VARIABLE.sub(default, text_of(server.get("url")).strip() or "/")
    if urlsplit(url).scheme:
        return clean_base_url(url)
    source = document.source or ""
    if urlsplit(source).scheme not in {"http", "https"}:
        raise DocumentError("The document does not say where the system listens.", mend=_GIVE_BASE_URL)
    return clean_base_url(urljoin(source, url))


def clean_base_url(url: str) -> str:
    """A base URL without a slash at its end.

    Raises:
        DocumentError: it is no web address, or more than a base.
    """
    check_url(url)
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        raise DocumentError(f"The base URL {shown(url)} has a query or fragment.", mend=_GIVE_BASE_URL)
    if {".", ".."} & set(parts.path.split("/")):
        raise DocumentError(f"The base URL {shown(url)} climbs (`..`).", mend=_GIVE_BASE_URL)
    return url.rstrip("/")
