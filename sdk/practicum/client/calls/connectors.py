"""Calls about connectors."""

from collections.abc import Mapping, Sequence

from practicum.client.call import Call, build, nothing, path, query, read
from practicum.contracts.base import JsonObject
from practicum.contracts.comparison import ConnectorComparison
from practicum.contracts.connectors import (
    AcceptRequest,
    Connector,
    ConnectorReport,
    ConnectorSpec,
    RefreshReport,
    RefreshRequest,
)
from practicum.contracts.declared import Declared

_MOST = 1000
"""Systems that the gateway lists at once."""


def add(spec: ConnectorSpec) -> Call[ConnectorReport]:
    """Register a system; the same name with the same content is no error.

    Raises:
        ConflictError: the name is in use with other content.
        DocumentError: the OpenAPI document cannot be used.
    """
    return Call("POST", "/v1/connectors", read(ConnectorReport), body=spec)


def fetch_all() -> Call[list[Connector]]:
    """The registered systems, newest first, the first thousand of them."""
    return Call("GET", "/v1/connectors", read(list[Connector]), query=query(limit=_MOST))


def get(name: str) -> Call[ConnectorReport]:
    """One registered system and what became of each of its operations.

    Raises:
        NotFoundError: there is none of this name.
    """
    return Call("GET", path("/v1/connectors/{}", name), read(ConnectorReport))


def declared(name: str) -> Call[Declared]:
    """What a system's registration would say in a declaration; a credential that the gateway keeps is None.

    Raises:
        NotFoundError: there is none.
    """
    return Call("GET", path("/v1/connectors/{}/declared", name), read(Declared))


def compare(spec: ConnectorSpec) -> Call[ConnectorComparison]:
    """How a registration differs from the one of its name; it is seen to be usable, and nothing is changed.

    Raises:
        DocumentError: it could not be registered.
    """
    return Call("POST", path("/v1/connectors/{}/compare", spec.name), read(ConnectorComparison), body=spec)


def replace(spec: ConnectorSpec, *, accept: bool = False) -> Call[RefreshReport]:
    """Put another registration in the place of the one of its name, at once: no call finds none.

    Args:
        spec: the new one.
        accept: whether it may break calls that were right.

    Raises:
        NotFoundError: there is none of this name.
        DocumentError: it could not be registered; everything stays as it was.
        ConflictError: it breaks calls, or somebody else changed it meanwhile.
    """
    accepting = query(accept="true") if accept else ()
    return Call("PUT", path("/v1/connectors/{}", spec.name), read(RefreshReport), body=spec, query=accepting)


def remove(name: str) -> Call[None]:
    """Remove a system, its tools and its credential.

    Raises:
        NotFoundError: there is none of this name.
    """
    return Call("DELETE", path("/v1/connectors/{}", name), nothing)


def refresh(
    name: str,
    document: JsonObject | None = None,
    *,
    documents: Mapping[str, JsonObject] | None = None,
    overlay: JsonObject | Sequence[JsonObject] | None = None,
    accept: bool = False,
) -> Call[RefreshReport]:
    """Look at a system's document again: what breaks no call is put in force, what does is held for a decision.

    Args:
        name: the system.
        document: the document as it is now; None has the gateway fetch it from where it came from.
        documents: files that `document` refers to, by the relative path it names them by.
        overlay: takes the place of the overlay that is kept; an empty one takes it away, None leaves it.
        accept: whether breaking changes are put in force at once.

    Raises:
        NotFoundError: there is no system of this name.
        DocumentError: the document cannot be fetched or used; everything stays as it was.
    """
    body = build(
        RefreshRequest,
        "refresh",
        document=document,
        documents=dict(documents or {}),
        overlay=overlay,
        accept=accept,
    )
    return Call("POST", path("/v1/connectors/{}/refresh", name), read(RefreshReport), body=body)


def changes(name: str) -> Call[RefreshReport]:
    """What the latest look at a system's document found.

    Raises:
        NotFoundError: there is no system of this name.
    """
    return Call("GET", path("/v1/connectors/{}/changes", name), read(RefreshReport))


def accept(name: str, digest: str) -> Call[RefreshReport]:
    """Put the changes that are held in force.

    Args:
        name: the system.
        digest: of the document whose changes were looked at, from the report.

    Raises:
        NotFoundError: there is no system of this name.
        ConflictError: nothing is held, or the document has changed again since.
    """
    body = build(AcceptRequest, "decision", digest=digest)
    return Call("POST", path("/v1/connectors/{}/accept", name), read(RefreshReport), body=body)
