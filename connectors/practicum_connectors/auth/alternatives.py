"""Which credential an operation gets: its `security` is a choice of alternatives, each a set of schemes."""

from collections.abc import Iterable, Mapping, Sequence
from ssl import SSLContext
from typing import TypeAlias

from practicum_connectors.auth.credentials import Credentials, NoCredentials, Place
from practicum_connectors.auth.referenced import Referenced
from practicum_connectors.exchange import HttpRequest

Security: TypeAlias = tuple[tuple[str, ...], ...]
"""Alternatives, of which one suffices, each the names of schemes that are all needed."""

_NOTHING = NoCredentials()


class Combined:
    """Several credentials that are needed together."""

    def __init__(self, parts: Sequence[Credentials]) -> None:
        """Apply these, in this order."""
        self._parts = tuple(parts)

    async def apply(self, request: HttpRequest) -> HttpRequest:
        """The request with all of them in it.

        Raises:
            PracticumError: one of them cannot be had.
        """
        for part in self._parts:
            request = await part.apply(request)
        return request

    def renew(self, refused: HttpRequest) -> bool:
        """Whether one of them can be had anew."""
        return any([part.renew(refused) for part in self._parts])  # noqa: C419 (each is to be told)

    def secrets(self) -> Iterable[str]:
        """Those of all."""
        for part in self._parts:
            yield from part.secrets()

    def places(self) -> frozenset[Place]:
        """Those of all."""
        return frozenset[Place]().union(*(part.places() for part in self._parts))

    def tls(self) -> SSLContext | None:
        """The first one's that brings its own."""
        return next((tls for part in self._parts if (tls := part.tls()) is not None), None)


class Keyring:
    """The credentials of one connector, by the schemes that they stand for."""

    def __init__(
        self, held: Mapping[str, Credentials], usual: Credentials, *, single: bool = True, unbound: bool = False
    ) -> None:
        """Hold these.

        Args:
            held: by the document's name of the scheme.
            usual: for operations of which the document says nothing.
            single: whether one credential was registered, for all of these schemes: what goes to two places at once
                is two credentials, so it does not stand for both.
            unbound: whether the usual one goes wherever any is asked for, because the document describes none of its
                kind and whoever registered it knows better.
        """
        self._held = held
        self._usual = usual
        self._single = single
        self._unbound = unbound
        self._chosen: dict[Security, Credentials | None] = {}

    def for_operation(self, security: Security | None) -> Credentials | None:
        """What is sent with an operation; None where it asks for what is not held.

        Where an operation may be called with or without a credential, it is called with one.

        Args:
            security: its alternatives, the document's where it has none of its own; None where neither says anything.
        """
        if security is None:
            return self._usual
        if security not in self._chosen:
            self._chosen[security] = self._choose(security)
        return self._chosen[security]

    def shows(self, security: Security | None) -> bool:
        """Whether an operation is sent a credential, in the request or with the connection."""
        return not isinstance(self.for_operation(security), NoCredentials | None)

    def lacking(self, security: Security | None) -> tuple[str, ...]:
        """The schemes that an operation asks for and nothing is held for, of the alternative that lacks least."""
        if not security or self.for_operation(security) is not None:
            return ()
        missing = [tuple(name for name in needed if name not in self._held) or needed[1:] for needed in security]
        return min(missing, key=len)

    async def learn(self) -> None:
        """Read the values that are kept outside, so that they are known before a call needs them."""
        for credentials in self._all():
            if isinstance(credentials, Referenced):
                await credentials.learn()

    def secrets(self) -> Iterable[str]:
        """Every value that must not be shown."""
        for credentials in self._all():
            yield from credentials.secrets()

    def places(self) -> frozenset[Place]:
        """Where any of the credentials goes."""
        return frozenset[Place]().union(*(credentials.places() for credentials in self._all()))

    def _all(self) -> Iterable[Credentials]:
        return {id(one): one for one in (self._usual, *self._held.values())}.values()

    def _choose(self, security: Security) -> Credentials | None:
        for needed in security:
            if needed and all(name in self._held for name in needed):
                parts = {id(self._held[name]): self._held[name] for name in needed}
                if len(parts) == 1:
                    return next(iter(parts.values()))
                if not self._single:
                    return Combined(tuple(parts.values()))
        if not security or () in security:
            return _NOTHING
        return self._usual if self._unbound else None
