"""Credentials whose values are kept outside: read when a call needs them, and again when they were exchanged there."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from ssl import SSLContext
from typing import Any, TypeAlias

from practicum.contracts.connectors import (
    ApiKeyAuth,
    AuthorizationCodeAuth,
    BasicAuth,
    BearerAuth,
    ClientCertificateAuth,
    ClientCredentialsAuth,
    ConnectorSpec,
    NoAuth,
    SchemeAuth,
    SchemesAuth,
)
from practicum.contracts.secrets import is_reference
from practicum.errors import ConfigurationError, DocumentError, PracticumError, UpstreamError
from practicum_connectors.auth.credentials import Credentials, Place
from practicum_connectors.exchange import HttpRequest
from practicum_connectors.resilience import Clock

Resolve: TypeAlias = Callable[[str, bool], Awaitable[str]]
"""The value of a reference; with True it is read anew. It raises PracticumError, which never holds the value."""

_PAUSE_SECONDS = 5.0
"""The least time between two refusals upon which values are read anew."""
_FORMER = 8
_FIELDS: Mapping[type[Any], tuple[str, ...]] = {
    ApiKeyAuth: ("value",),
    BearerAuth: ("token",),
    BasicAuth: ("username", "password"),
    ClientCredentialsAuth: ("client_id", "client_secret"),
    AuthorizationCodeAuth: ("client_id", "client_secret"),
    ClientCertificateAuth: ("certificate", "private_key"),
}


def references_of(auth: SchemeAuth) -> dict[str, str]:
    """The references in a credential, by field.

    Raises:
        DocumentError: its refresh token is one.
    """
    if isinstance(auth, AuthorizationCodeAuth) and is_reference(auth.refresh_token):
        raise DocumentError(
            "A refresh token cannot be a reference: the token server may replace it, and the gateway has to keep it.",
            mend="Give the refresh token itself, or another kind of credential.",
        )
    values = {name: getattr(auth, name) for name in _FIELDS[type(auth)]}
    return {name: value for name, value in values.items() if isinstance(value, str) and is_reference(value)}


async def unresolved(reference: str, fresh: bool) -> str:
    """Where nothing reads references.

    Raises:
        ConfigurationError: always.
    """
    del fresh
    raise ConfigurationError(f"Nothing here reads {reference}.", mend="Call the tool through a gateway.")


class Referenced:
    """A credential that is made of values which are kept outside, and made again when they change."""

    def __init__(
        self,
        references: Mapping[str, str],
        make: Callable[[Mapping[str, str]], Credentials],
        resolve: Resolve,
        places: frozenset[Place],
        clock: Clock | None = None,
    ) -> None:
        """Read nothing yet.

        Args:
            references: by the field that they stand in.
            make: the credential of the values, by field.
            resolve: reads them.
            places: where the credential stands in a request.
            clock: the time.
        """
        self._references = dict(references)
        self._make = make
        self._resolve = resolve
        self._places = places
        self._clock = clock or Clock()
        self._values: dict[str, str] = {}
        self._made: Credentials | None = None
        self._former: deque[Credentials] = deque(maxlen=_FORMER)
        self._reading = asyncio.Lock()
        self._stale = False
        self._refused = float("-inf")

    async def apply(self, request: HttpRequest) -> HttpRequest:
        """The request with the credential in it, of the values as they are now.

        Raises:
            PracticumError: they cannot be read, or no credential can be had with them.
        """
        made = await self._current(fresh=self._stale)
        try:
            return await made.apply(request)
        except UpstreamError:
            # A token server may refuse a secret that was exchanged since.
            if not self._may_read_anew():
                raise
            again = await self._current(fresh=True)
            if again is made:
                raise
            return await again.apply(request)

    async def learn(self) -> None:
        """Read the values before a call needs them, so that they can be taken out of texts; failing does no harm."""
        with contextlib.suppress(PracticumError):
            await self._current(fresh=False)

    def renew(self, refused: HttpRequest) -> bool:
        """Whether another try makes sense: with another token, or with values that are read anew."""
        renewed = self._made is not None and self._made.renew(refused)
        if not self._may_read_anew():
            return renewed
        self._stale = True
        return True

    def secrets(self) -> Iterable[str]:
        """Those of the present values and of the ones of late."""
        for made in (*self._former, self._made):
            if made is not None:
                yield from made.secrets()

    def places(self) -> frozenset[Place]:
        """Where it stands in a request."""
        return self._places

    def tls(self) -> SSLContext | None:
        """The credential's, once it was applied."""
        return None if self._made is None else self._made.tls()

    def _may_read_anew(self) -> bool:
        now = self._clock.now()
        if now - self._refused < _PAUSE_SECONDS:
            return False
        self._refused = now
        return True

    async def _current(self, *, fresh: bool) -> Credentials:
        async with self._reading:
            values = {name: await self._resolve(text, fresh) for name, text in self._references.items()}
            self._stale = False
            if self._made is None or values != self._values:
                made = self._make(values)
                if self._made is not None:
                    self._former.append(self._made)
                self._made, self._values = made, values
            return self._made


def references_in(spec: ConnectorSpec) -> Iterator[str]:
    """Every reference in the credentials of a registration.

    Raises:
        DocumentError: a refresh token is one.
    """
    for auth in (spec.auth, NoAuth() if spec.practice is None else spec.practice.auth):
        parts = auth.schemes.values() if isinstance(auth, SchemesAuth) else () if isinstance(auth, NoAuth) else (auth,)
        for part in parts:
            yield from references_of(part).values()
