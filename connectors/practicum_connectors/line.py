"""The seam between kinds of systems: how a prepared call is sent, and what helps where nothing comes of it.

A connector is tools with the way from their arguments to a request (`catalogue`, `request`), a line over which the
request goes, and the reading of an answer (`response`). An OpenAPI system and an MCP server differ in where their
document comes from and in their line, and in nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

from practicum_connectors.calls import PreparedCall, Sent
from practicum_connectors.exchange import Exchange, HttpRequest
from practicum_connectors.resilience import Repeat
from practicum_connectors.response.streams import watch
from practicum_connectors.site import Site


class Line(Protocol):
    """How one kind of system is spoken to."""

    async def send(self, prepared: PreparedCall, request: HttpRequest, seconds: float, *, repeat: Repeat) -> Exchange:
        """Put in the credential and send, again where that is harmless; what comes back shows no credential.

        Args:
            prepared: the call.
            request: its request, with what goes along: the idempotency key, the trace.
            seconds: bound on the whole, waiting included.
            repeat: how far it may be repeated.
        """
        ...

    async def aclose(self) -> None:
        """End what was begun for the calls; the connections stay."""
        ...


@dataclass(frozen=True, slots=True)
class HttpLine:
    """To a system that takes requests as its document describes them.

    Attributes:
        site: where it listens.
    """

    site: Site

    async def send(self, prepared: PreparedCall, request: HttpRequest, seconds: float, *, repeat: Repeat) -> Exchange:
        """The request as it is."""
        return await self.site.send(request, seconds, security=prepared.plan.security, repeat=repeat, watch=watch)

    async def aclose(self) -> None:
        """Nothing was begun."""


def ways_out(name: str, site: Site, sent: Sent) -> Iterator[str]:
    """What helps where nothing came of a call that the model cannot mend.

    Args:
        name: the connector.
        site: where the call went.
        sent: what came of it.
    """
    if sent.response is None and sent.mend:
        yield sent.mend
    status = 0 if sent.response is None else sent.response.status
    if status not in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return
    calling = "Calling again does not help: whoever runs it"
    if not site.shows_credential(sent.prepared.request, sent.prepared.plan.security):
        yield f"The connector {name} sends no credential with this. {calling} can register it with one."
    elif status == HTTPStatus.UNAUTHORIZED:
        yield f"The system does not take the credential of {name}. {calling} has to give it a valid one."
    else:
        yield f"The credential of {name} may not do this. {calling} can have its rights widened."
