"""Keys that seal: opened with the house, exchanged while it works."""

from collections.abc import Awaitable, Callable, Sequence

from practicum.contracts.access import SealReport
from practicum_gateway.store.data_keys import DataKeys

SealAnew = Callable[[], Awaitable[int]]
"""Seals anew what an older key sealed; says how many credentials that were."""


async def _nobody() -> None:
    """Nobody else has to hear."""


class Rotation:
    """Opens the data keys and exchanges them; whoever keeps credentials seals them anew."""

    def __init__(
        self, keys: DataKeys, keepers: Sequence[SealAnew], all_heard: Callable[[], Awaitable[None]] = _nobody
    ) -> None:
        """Put the parts together.

        Args:
            keys: the store's data keys.
            keepers: each seals anew what it keeps.
            all_heard: returns once every other gateway has heard what was told.
        """
        self._keys = keys
        self._keepers = tuple(keepers)
        self._all_heard = all_heard

    async def open(self) -> None:
        """Take the keys up, and seal anew what a former master key or an exchange that broke off left.

        Raises:
            ConfigurationError: the store was sealed under another master key.
        """
        async with self._keys.turn():
            await self._keys.open()
            if await self._keys.are_several():
                await self._keys.tell()
                await self._all_heard()
            await self._seal_anew()

    async def follow(self, identity: str) -> None:
        """Seal under a key that another gateway has made; raises as `DataKeys.follow`.

        Args:
            identity: the key by its id.
        """
        await self._keys.follow(identity)

    async def rotate(self) -> SealReport:
        """Seal everything under a new data key; calls go on meanwhile, and another exchange waits for its end.

        Raises:
            ConfigurationError: a credential does not open; it and its key stay as they are.
        """
        # One forgets all keys but the latest: nothing may be sealed under any other by then.
        async with self._keys.turn():
            key_id = await self._keys.renew()
            await self._all_heard()
            return SealReport(key_id=key_id, credentials=await self._seal_anew())

    async def _seal_anew(self) -> int:
        count = sum([await keeper() for keeper in self._keepers])
        await self._keys.forget_all_but_latest()
        return count
