"""The fixed credentials, and what all credentials can do."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Literal, Protocol, TypeAlias

from practicum_connectors.exchange import HttpRequest

Location: TypeAlias = Literal["header", "query", "cookie"]
Place: TypeAlias = tuple[Location, str]
"""Where a credential stands in a request: the location and the name, in lower case."""


class Credentials(Protocol):
    """What a system wants to see before it answers."""

    async def apply(self, request: HttpRequest) -> HttpRequest:
        """The request with the credential in it.

        Raises:
            PracticumError: no credential can be had.
        """
        ...

    def renew(self, refused: HttpRequest) -> bool:
        """Whether another try makes sense after the system refused the credential in a request with 401."""
        ...

    def secrets(self) -> Iterable[str]:
        """Every value that must not be shown."""
        ...

    def places(self) -> frozenset[Place]:
        """Where it stands in a request."""
        ...

    def tls(self) -> SSLContext | None:
        """What connections are made with, where it takes more than the usual."""
        ...


class NoCredentials:
    """The system asks for none."""

    async def apply(self, request: HttpRequest) -> HttpRequest:
        """The request as it is."""
        return request

    def renew(self, refused: HttpRequest) -> bool:
        """There is nothing to renew."""
        del refused
        return False

    def secrets(self) -> Iterable[str]:
        """There are none."""
        return ()

    def places(self) -> frozenset[Place]:
        """It stands nowhere."""
        return frozenset()

    def tls(self) -> SSLContext | None:
        """The usual."""
        return None


@dataclass(frozen=True, slots=True)
class FixedCredentials:
    """A value that always goes to the same place.

    Attributes:
        location: where it goes.
        name: header, query parameter or cookie.
        value: what is sent.
        hidden: every value that must not be shown.
    """

    location: Location
    name: str
    value: str = field(repr=False)
    hidden: tuple[str, ...] = field(repr=False)

    async def apply(self, request: HttpRequest) -> HttpRequest:
        """The request with the value in its place."""
        if self.location == "query":
            return request.with_query(self.name, self.value)
        if self.location == "cookie":
            return request.with_cookie(self.name, self.value)
        return request.with_header(self.name, self.value)

    def renew(self, refused: HttpRequest) -> bool:
        """A fixed value does not change."""
        del refused
        return False

    def secrets(self) -> Iterable[str]:
        """The value and its parts."""
        return self.hidden

    def places(self) -> frozenset[Place]:
        """Where the value goes."""
        return frozenset({(self.location, self.name.lower())})

    def tls(self) -> SSLContext | None:
        """The usual."""
        return None


def basic_header(username: str, password: str) -> str:
    """The value of an Authorization header of HTTP basic."""
    return f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"
