"""The estate: a house for each tenant, with a store of its own, so that nothing of one is in reach of another.

It follows what other gateways on the same database tell. Whatever cannot be followed ends this gateway, as if it had
lost its hold: it would go on with what is no longer so.
"""

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from sqlalchemy.exc import SQLAlchemyError

from practicum.contracts.access import IssuedKey, KeyRequest, Role
from practicum.contracts.episodes import EpisodeStatus
from practicum.contracts.tenants import MAIN
from practicum.errors import ConflictError, NotFoundError, PracticumError
from practicum_gateway.access.principals import Principal
from practicum_gateway.hearing import follow
from practicum_gateway.house import House
from practicum_gateway.store.notices import Notice, Topic, tell
from practicum_gateway.store.tenants import TenantStores

logger = logging.getLogger("practicum_gateway")

Opener = Callable[[str], AbstractAsyncContextManager[House]]
"""Opens the house of a tenant for as long as the block lasts."""

_AT_A_TIME = 1000
_TROUBLE_SECONDS = 5.0
"""How long until what could not be taken up is tried again."""


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
        self._entering: dict[str, list[Notice]] = {}
        self._changing = asyncio.Lock()
        self._following: dict[asyncio.Future[None], str] = {}

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
            await self._unless_removed(self._enter(tenant), tenant)

    async def create(self, tenant: str, admin: str) -> IssuedKey:
        """Make a tenant; returns the key of its first administrator.

        Args:
            tenant: its name.
            admin: the administrator's name.

        Raises:
            ConflictError: there is one of that name.
        """
        async with self._changing, self.main.store.turn("tenants"):
            if self.house(tenant) is not None or tenant in await self._stores.names():
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
        async with self._changing, self.main.store.turn("tenants"):
            house = self._found(tenant)
            await _end_episodes(house)
            await self._leave(tenant)
            async with self.main.store.write() as session:
                await tell(session, Topic.LEAVING, tenant)
            await self._stores.drop(tenant)

    def heed(self, notice: Notice) -> None:
        """Follow what another gateway tells; what takes longer than a moment goes on in the background."""
        house = self.house(notice.tenant)
        if notice.topic == Topic.TENANTS:
            self._follow(self._reconcile(), notice)
        elif notice.topic == Topic.LEAVING:
            self._follow(self._reconcile(without=notice.subject), notice)
        elif notice.tenant in self._entering:
            self._entering[notice.tenant].append(notice)
        elif house is not None and (further := follow(house, notice)) is not None:
            self._follow(self._unless_removed(further, notice.tenant), notice)

    async def take_up(self) -> None:
        """Take up what gateways leave behind, whenever one has gone; until cancelled."""
        departed = self.main.replica.departed
        while True:
            await departed.wait()
            departed.clear()
            try:
                await self._reconcile()
                for house in self.houses:
                    await house.pipeline.recover()
                    await resume(house)
            except (SQLAlchemyError, PracticumError, OSError) as error:
                logger.warning("what a gateway left behind is not taken up yet: %s", type(error).__name__)
                departed.set()
                await asyncio.sleep(_TROUBLE_SECONDS)

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
        await self._follow_no_more(*self._following.values())
        for tenant in tuple(self._open):
            await self._leave(tenant)

    def _found(self, tenant: str) -> House:
        house = self.house(tenant)
        if house is None:
            raise NotFoundError(f"There is no tenant '{tenant}'.")
        return house

    async def _reconcile(self, *, without: str | None = None) -> None:
        """Open the houses of tenants that came, and close those of tenants that are gone, or about to be."""
        async with self._changing:
            names = set(await self._stores.names()) - {without}
            for tenant in self._houses.keys() - names:
                try:
                    await self._leave(tenant)
                except SQLAlchemyError as error:  # its tables may have gone before the last of it was written
                    logger.info("the house of a removed tenant was closed in haste: %s", type(error).__name__)
            for tenant in sorted(names - self._houses.keys()):
                await self._unless_removed(self._enter(tenant), tenant)

    async def _unless_removed(self, doing: Awaitable[None], tenant: str) -> None:
        """Do something for a tenant; that it cannot be done is no trouble where another gateway has removed it."""
        try:
            await doing
        except (SQLAlchemyError, PracticumError) as error:
            async with self.main.store.turn("tenants"):  # whoever is removing it has done so then
                if tenant == MAIN or tenant in await self._stores.names():
                    raise
            logger.info("a removed tenant was worked on to the last: %s", type(error).__name__)

    def _follow(self, further: Awaitable[None], notice: Notice) -> None:
        # In a context of its own: nobody's request is the reason for it.
        following = contextvars.Context().run(asyncio.ensure_future, further)
        self._following[following] = notice.tenant

        def ended(done: asyncio.Future[None]) -> None:
            del self._following[done]
            if not done.cancelled() and (error := done.exception()) is not None:
                logger.error("a change of %s could not be followed: %s", notice.topic, type(error).__name__)
                self.main.replica.lost.set()

        following.add_done_callback(ended)

    async def _follow_no_more(self, *tenants: str) -> None:
        """Have nothing under way that others told of these tenants: it would go on in houses that are closed."""
        ending = [following for following, tenant in self._following.items() if tenant in tenants]
        for following in ending:
            following.cancel()
        if ending:
            await asyncio.wait(ending)

    async def _enter(self, tenant: str) -> None:
        opened = self._opener(tenant)
        told = self._entering[tenant] = []
        try:
            house = await opened.__aenter__()
        finally:
            del self._entering[tenant]
        self._houses[tenant], self._open[tenant] = house, opened
        for notice in told:
            self.heed(notice)

    async def _leave(self, tenant: str) -> None:
        self._houses.pop(tenant)
        await self._follow_no_more(tenant)
        await self._open.pop(tenant).__aexit__(None, None, None)


async def resume(house: House) -> None:
    """Hand over what an earlier process could not; Temporal may be down, and the gateway serves all the same."""
    try:
        await house.episodes.resume()
    except PracticumError as error:
        logger.warning("episodes not handed over yet: %s", error.detail)


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
