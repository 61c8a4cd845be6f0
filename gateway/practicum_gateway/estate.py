"""The estate: a house for each tenant, with a store of its own, so that nothing of one is in reach of another."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from practicum.contracts.access import IssuedKey, KeyRequest, Role
from practicum.contracts.episodes import EpisodeStatus
from practicum.contracts.tenants import MAIN
from practicum.errors import ConflictError, NotFoundError, PracticumError
from practicum_gateway.access.principals import Principal
from practicum_gateway.house import House
from practicum_gateway.store.tenants import TenantStores

logger = logging.getLogger("practicum_gateway")

Opener = Callable[[str], AbstractAsyncContextManager[House]]
"""Opens the house of a tenant for as long as the block lasts."""

_AT_A_TIME = 1000


class Estate:
    """The houses of a running gateway.

    Attributes:
        main: the house of the main tenant.
    """

    def __init__(self, main: House, stores: TenantStores, opener: Opener) -> None:
        """Begin with the main tenant's house; the others are opened by `open`.

        Args:
            main: its house, open already.
            stores: where the others' stores are.
            opener: opens the house of a tenant.
        """
        self.main = main
        self._stores = stores
        self._opener = opener
        self._houses: dict[str, House] = {}
        self._open: dict[str, AbstractAsyncContextManager[House]] = {}
        self._changing = asyncio.Lock()

    @property
    def tenants(self) -> tuple[str, ...]:
        """Names of the tenants, the main one first."""
        return MAIN, *sorted(self._houses)

    @property
    def houses(self) -> tuple[House, ...]:
        """The houses of all tenants, the main one's first."""
        return self.main, *self._houses.values()

    def house(self, tenant: str) -> House | None:
        """The house of a tenant, if there is one."""
        return self.main if tenant == MAIN else self._houses.get(tenant)

    async def open(self) -> None:
        """Open the houses of all tenants that have a store."""
        for tenant in await self._stores.names():
            await self._enter(tenant)

    async def create(self, tenant: str, admin: str) -> IssuedKey:
        """Make a tenant; returns the key of its first administrator.

        Args:
            tenant: its name.
            admin: the administrator's name.

        Raises:
            ConflictError: there is one of that name.
        """
        async with self._changing:
            if self.house(tenant) is not None:
                raise ConflictError(f"There is a tenant '{tenant}' already.", mend="Choose another name.")
            await self._stores.make(tenant)
            await self._enter(tenant)
        return await self.admin_key(tenant, admin)

    async def admin_key(self, tenant: str, admin: str) -> IssuedKey:
        """Another key of an administrator of a tenant, for one that lost theirs.

        Raises:
            NotFoundError: there is no such tenant.
        """
        return await self._found(tenant).keys.issue(KeyRequest(principal=admin, role=Role.ADMIN))

    async def remove(self, tenant: str) -> None:
        """End a tenant's episodes and destroy all that is kept of it.

        Raises:
            NotFoundError: there is no such tenant.
            ConflictError: it is the main one.
        """
        if tenant == MAIN:
            raise ConflictError("The main tenant stays.", mend="Remove the installation instead.")
        async with self._changing:
            house = self._found(tenant)
            await _end_episodes(house)
            await self._leave(tenant)
            await self._stores.drop(tenant)

    @property
    def calls(self) -> int:
        """How many tool calls are under way, whether or not somebody still waits for their answers."""
        return sum(house.pipeline.calls for house in self.houses)

    def end_soon(self) -> None:
        """Long answers end: the gateway is about to stop."""
        for house in self.houses:
            house.closing.set()

    def end_now(self) -> None:
        """Calls under way are not waited for when the houses close: the next start settles what became of them."""
        for house in self.houses:
            house.pipeline.patience = 0.0

    async def close(self) -> None:
        """Close every house but the main one."""
        for tenant in tuple(self._open):
            await self._leave(tenant)

    def _found(self, tenant: str) -> House:
        house = self.house(tenant)
        if house is None:
            raise NotFoundError(f"There is no tenant '{tenant}'.")
        return house

    async def _enter(self, tenant: str) -> None:
        opened = self._opener(tenant)
        self._houses[tenant] = await opened.__aenter__()
        self._open[tenant] = opened

    async def _leave(self, tenant: str) -> None:
        self._houses.pop(tenant)
        await self._open.pop(tenant).__aexit__(None, None, None)


async def _end_episodes(house: House) -> None:
    """Cancel what still runs, each once; a workflow that cannot be told finds no tenant any more and ends of that."""
    operator = Principal(name="operator", role=Role.ADMIN, key_id="")
    running = (EpisodeStatus.RUNNING, EpisodeStatus.WAITING)
    tried: set[str] = set()
    while True:
        listed = await house.episodes.list(operator, statuses=running, limit=_AT_A_TIME)
        episodes = [episode.id for episode in listed if episode.id not in tried]
        if not episodes:
            return
        tried.update(episodes)
        for episode in episodes:
            try:
                await house.episodes.cancel(operator, episode)
            except PracticumError as error:
                logger.warning("Removing its tenant, %s could not be ended in order: %s", episode, error.detail)
