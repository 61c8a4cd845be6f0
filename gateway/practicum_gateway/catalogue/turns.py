"""Whose turn it is to exchange a refresh token: a connector and the one of before its refresh hold the same one."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from practicum.errors import NotFoundError
from practicum_gateway.catalogue.registrations import Registrations
from practicum_gateway.store.engine import Store


@dataclass(slots=True)
class Turns:
    """Of one registration, from its beginning until it is removed.

    A token server that replaces refresh tokens takes each one once, and may take back all that it gave where one comes
    twice. So they are exchanged one after the other, each time the one that is stored.
    """

    name: str
    registrations: Registrations
    store: Store
    ended: bool = False
    _taken: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    @contextlib.asynccontextmanager
    async def take(self, scheme: str) -> AsyncGenerator[str]:
        """The refresh token in force; while the block lasts nobody else, of whatever gateway, exchanges it.

        Args:
            scheme: the security scheme that it is for; empty for a single credential.

        Raises:
            NotFoundError: the connector was removed; what another of its name is given is not for this one.
            ConfigurationError: the credential was sealed under another master key.
        """
        async with self.store.turn(f"refresh {self.name}"):
            token = await self.registrations.refresh_token(self.name, scheme)
            self._require_present()
            self._taken[scheme] = token
            yield token

    async def rotated(self, scheme: str, refresh_token: str) -> None:
        """Store the one that replaces it.

        Raises:
            NotFoundError: the connector was removed, or holds another credential by now.
            ConfigurationError: the credential was sealed under another master key.
        """
        self._require_present()
        await self.registrations.rotate(self.name, scheme, refresh_token, self._taken[scheme])
        self._taken[scheme] = refresh_token

    def _require_present(self) -> None:
        if self.ended:
            raise NotFoundError(f"The connector '{self.name}' was removed.")
