"""Calls about connectors."""

from practicum.client.call import Call, nothing, path, read
from practicum.contracts.connectors import Connector, ConnectorReport, ConnectorSpec


def add(spec: ConnectorSpec) -> Call[ConnectorReport]:
    """Register a system; the same name with the same content is no error.

    Raises:
        ConflictError: the name is in use with other content.
        DocumentError: the OpenAPI document cannot be used.
    """
    return Call("POST", "/v1/connectors", read(ConnectorReport), body=spec)


def fetch_all() -> Call[list[Connector]]:
    """The registered systems, newest first."""
    return Call("GET", "/v1/connectors", read(list[Connector]))


def get(name: str) -> Call[ConnectorReport]:
    """One registered system and what became of each of its operations.

    Raises:
        NotFoundError: there is none of this name.
    """
    return Call("GET", path("/v1/connectors/{}", name), read(ConnectorReport))


def remove(name: str) -> Call[None]:
    """Remove a system, its tools and its credential.

    Raises:
        NotFoundError: there is none of this name.
    """
    return Call("DELETE", path("/v1/connectors/{}", name), nothing)
