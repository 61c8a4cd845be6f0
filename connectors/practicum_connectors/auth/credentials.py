"""The fixed credentials, and what all credentials can do."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from practicum_connectors.exchange import HttpRequest


class Credentials(Protocol):
    """What a system wants to see before it answers."""

    async def apply(self, request: HttpRequest) -> HttpRequest:
        """The request with the credential in it.

        Raises:
            UpstreamError: no credential can be had.
        """
        ...

    def renew(self, refused: HttpRequest) -> bool:
        """Whether another try makes sense after the system refused the credential in a request with 401."""
        ...

    def secrets(self) -> Iterable[str]:
        """Every value that must not be shown."""
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


@dataclass(frozen=True, slots=True)
class FixedCredentials:
    """A value that always goes to the same place.

    Attributes:
        location: where it goes.
        name: header, query parameter or cookie.
        value: what is sent.
        hidden: every value that must not be shown.
    """

    location: Literal["header", "query", "cookie"]
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


def basic_header(username: str, password: str) -> str:
    """The value of an Authorization header of HTTP basic."""
    return f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"
