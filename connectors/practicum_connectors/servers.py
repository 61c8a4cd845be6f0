"""Where calls go: the registration's base URL, or the servers that the document names."""

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urljoin, urlsplit

from practicum.contracts.connectors import ConnectorSpec
from practicum.errors import DocumentError
from practicum_connectors.document import Document, Node, Operation
from practicum_connectors.document.pointers import as_list, as_node, text_of
from practicum_connectors.document.structure import held
from practicum_connectors.fetch import check_url, shown

_VARIABLE = re.compile(r"\{([^{}]+)\}")
_GIVE_BASE_URL = "Give `base_url` with the registration."


def base_url_of(spec: ConnectorSpec, document: Document) -> str:
    """Where a connector's calls go, without a slash at its end.

    Raises:
        DocumentError: neither the registration nor the document says it, the registration says what the document does
            not know, or it is no web address.
    """
    if spec.base_url is not None:
        if spec.server is not None or spec.variables:
            raise DocumentError(
                "The registration gives `base_url` and also one of the document's servers or their variables.",
                mend="Give either `base_url`, or `server` and `variables`.",
            )
        return clean_base_url(spec.base_url)
    servers = [as_node(server) for server in as_list(document.root.get("servers"))] or [{"url": "/"}]
    server = _chosen(spec, servers)
    if server is None:
        names = ", ".join(f"`{text_of(found.get('name')) or text_of(found.get('url'))}`" for found in servers)
        raise DocumentError(f"The document has no server {spec.server!r}.", mend=f"It has {names}.")
    _check_variables(spec, document)
    return _resolve(server, spec, document)


def operation_url(
    spec: ConnectorSpec, document: Document, operation: Operation, base_url: str
) -> tuple[str, tuple[str, ...]]:
    """Where the calls of one operation go, and what has to be said about it.

    An operation's own server holds, unless the registration gives `base_url`: that is the caller's choice for all.

    Raises:
        DocumentError: its own server is no web address, or a variable of it has no value.
    """
    if not operation.servers or spec.base_url is not None:
        return base_url, ()
    server = _chosen(spec, operation.servers)
    if server is not None:
        return _resolve(server, spec, document), ()
    own = operation.servers[0]
    note = f"It has servers of its own, none of which is {spec.server!r}; the first is used."
    return _resolve(own, spec, document), (note,)


def _chosen(spec: ConnectorSpec, servers: Sequence[Node]) -> Node | None:
    """The first server, or the one that the registration names by name or URL."""
    if spec.server is None:
        return servers[0]
    wanted = spec.server.rstrip("/")
    for server in servers:
        if spec.server == text_of(server.get("name")) or wanted == text_of(server.get("url")).strip().rstrip("/"):
            return server
    return None


def _check_variables(spec: ConnectorSpec, document: Document) -> None:
    if not spec.variables:
        return
    known = {name for server in _servers(document) for name in as_node(server.get("variables"))}
    known |= {name for server in _servers(document) for name in _VARIABLE.findall(text_of(server.get("url")))}
    for name in spec.variables:
        if name not in known:
            there = ", ".join(f"`{other}`" for other in sorted(known))
            mend = f"It has {there}." if there else "Leave it out."
            raise DocumentError(f"The document's servers have no variable {name!r}.", mend=mend)


def _servers(document: Document) -> Iterator[Node]:
    """All servers of the document, its paths and its operations."""
    yield from map(as_node, as_list(document.root.get("servers")))
    for item in as_node(document.root.get("paths")).values():
        yield from map(as_node, as_list(as_node(item).get("servers")))
        for kind, node, _ in held("path_item", as_node(item)):
            if kind == "operation":
                yield from map(as_node, as_list(as_node(node).get("servers")))


def _resolve(server: Node, spec: ConnectorSpec, document: Document) -> str:
    variables = as_node(server.get("variables"))

    def value_of(match: re.Match[str]) -> str:
        name, described = match[1], as_node(variables.get(match[1]))
        value = spec.variables.get(name, described.get("default"))
        if value is None or value == "":
            raise DocumentError(
                f"The server's variable {name!r} has no default.",
                mend=f"Give it with the registration (`variables`, --set {name}=VALUE), or give `base_url`.",
            )
        allowed = [str(item) for item in as_list(described.get("enum"))]
        if allowed and name in spec.variables and value not in allowed:
            raise DocumentError(
                f"The server's variable {name!r} cannot be {value!r}.", mend=f"It can be {', '.join(allowed)}."
            )
        return str(value)

    url = _VARIABLE.sub(value_of, text_of(server.get("url")).strip() or "/")
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
