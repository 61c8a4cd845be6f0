"""Reads what a registration is made of: its document, or the list of its MCP server."""

from practicum.contracts.connectors import ConnectorSpec, RefreshRequest
from practicum.errors import RequestError
from practicum_connectors.auth import references_in
from practicum_connectors.connector import load_source
from practicum_connectors.document import Document
from practicum_gateway.catalogue.registrations import Registrations
from practicum_gateway.secrets.source import Secrets


async def document_of(
    spec: ConnectorSpec, secrets: Secrets, registrations: Registrations, *, accept: bool = False
) -> Document:
    """The document of a registration.

    Where the tokens of an MCP server are given stays as it was registered until somebody accepts another place.

    Args:
        spec: the registration.
        secrets: reads the parts of its credential that are kept outside; an MCP server is shown it to list its tools.
        registrations: hold what is in force of it.
        accept: whether all that the system says now is to be put in force.

    Raises:
        DocumentError: it cannot be read, or the MCP server cannot be reached or understood.
        ConfigurationError: a part of that credential is not there.
    """
    known = None
    if spec.mcp is not None:
        await secrets.require(references_in(spec))
        if not accept and await registrations.find(spec.name) is not None:
            kept, documents = await registrations.load(spec.name)
            known = documents.present if kept.mcp == spec.mcp else None
    return await load_source(spec, resolve=secrets.resolve, known=known)


def require_place(spec: ConnectorSpec, request: RefreshRequest) -> None:
    """Go on only if there is a place where a document can be looked at again, one and no more.

    Args:
        spec: the registration.
        request: the wish, with a newer document perhaps.

    Raises:
        RequestError: there is none, or one too many.
    """
    name = spec.name
    if spec.mcp is not None and (request.document is not None or request.documents):
        raise RequestError(
            f"'{name}' is an MCP server, which lists its tools itself: no document can be handed over for it.",
            mend=f"Have the gateway ask it: `practicum connectors refresh {name}`.",
        )
    if request.document is None and spec.source is None and spec.mcp is None:
        raise RequestError(
            f"The document of '{name}' was handed over and not fetched: there is no place to look at it again.",
            mend=f"Hand over the document as it is now: `practicum connectors refresh {name} FILE`.",
        )
