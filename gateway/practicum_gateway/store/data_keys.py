"""The data keys of a store: made at its first opening, sealed under the master key, exchanged on demand."""

import asyncio
from contextlib import AbstractAsyncContextManager

from sqlalchemy import delete, func, select, update

from practicum.contracts.base import utc_now
from practicum_gateway.store.engine import Store, new_id
from practicum_gateway.store.notices import Topic, tell
from practicum_gateway.store.secret_tables import DataKeyRow
from practicum_gateway.store.vault import MasterKey, Sealer, Vault, new_key

_SEAL = "seal"
_NAMES = "names"


class DataKeys:
    """Opens a vault with the keys of a store."""

    def __init__(self, store: Store, vault: Vault, master: MasterKey) -> None:
        """Keep the keys in a store, sealed under a master key.

        Args:
            store: where.
            vault: takes the keys up.
            master: seals them.
        """
        self._store = store
        self._vault = vault
        self._master = master
        self._sealing: str | None = None
        self._following = asyncio.Lock()

    async def open(self) -> None:
        """Take the store's keys up; those that a former master key sealed are sealed under the present one.

        Raises:
            ConfigurationError: they were sealed under another master key.
            SecretSourceError: the master key is kept outside and cannot be asked.
        """
        async with self._store.read() as session:
            rows = list(await session.scalars(select(DataKeyRow).order_by(DataKeyRow.created, DataKeyRow.id)))
        # The master key may be asked over a network: no transaction waits for it.
        opened = [(row, await self._master.unwrap(row.wrapped, _context(row.id))) for row in rows]
        keys = [(row.purpose, key) for row, (key, _) in opened]
        anew = {row.id: await self._master.wrap(key, _context(row.id)) for row, (key, formerly) in opened if formerly}
        if not rows:
            keys = [(_SEAL, new_key()), (_NAMES, self._master.names or new_key() + new_key())]
            rows = [await self._row(purpose, key) for purpose, key in keys]
            async with self._store.write() as session:
                session.add_all(rows)
        elif anew:
            async with self._store.write() as session:
                for identity, wrapped in anew.items():
                    await session.execute(update(DataKeyRow).where(DataKeyRow.id == identity).values(wrapped=wrapped))
        for row, (purpose, key) in zip(rows, keys, strict=True):
            if purpose == _NAMES:
                self._vault.take_names(key)
            else:
                self._vault.take(Sealer(key), seals=True)
                self._sealing = row.id
        for sealer in self._master.sealers:
            self._vault.take(sealer, seals=False)

    async def renew(self) -> str:
        """A new key seals from now on; the id by which its seals are told. What others sealed still opens."""
        key = new_key()
        row = await self._row(_SEAL, key)
        async with self._store.write() as session:
            session.add(row)
            await tell(session, Topic.SEALS, row.id)
        self._vault.take(Sealer(key), seals=True)
        self._sealing = row.id
        return self._vault.key_id

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Nobody else on the store takes its keys up or exchanges them while the block lasts."""
        return self._store.turn("data keys")

    async def tell(self) -> None:
        """Have every gateway seal under the key that seals here."""
        async with self._store.write() as session:
            await tell(session, Topic.SEALS, self._sealing or "")

    async def follow(self, identity: str) -> None:
        """Seal under a key that another gateway has made, from now on.

        Args:
            identity: the key by its id.

        Raises:
            ConfigurationError: it is under another master key.
            SecretSourceError: the master key is kept outside and cannot be asked.
        """
        async with self._following:  # the one told last is the one that seals
            async with self._store.read() as session:
                row = await session.get(DataKeyRow, identity)
            if row is None:  # another has taken its place since, and was told, too
                return
            key, _ = await self._master.unwrap(row.wrapped, _context(row.id))
            self._vault.take(Sealer(key), seals=True)
            self._sealing = row.id

    async def are_several(self) -> bool:
        """Whether there is more than one key to seal with: an exchange broke off."""
        found = select(func.count()).select_from(DataKeyRow).where(DataKeyRow.purpose == _SEAL)
        async with self._store.read() as session:
            return (await session.scalar(found) or 0) > 1

    async def forget_all_but_latest(self) -> None:
        """Forget keys that nothing is sealed under any more: all but the one that seals, whatever the clocks said."""
        async with self._store.write() as session:
            others = (DataKeyRow.purpose == _SEAL, DataKeyRow.id != self._sealing)
            await session.execute(delete(DataKeyRow).where(*others))

    async def _row(self, purpose: str, key: bytes) -> DataKeyRow:
        identity = new_id("dk")
        wrapped = await self._master.wrap(key, _context(identity))
        return DataKeyRow(id=identity, purpose=purpose, wrapped=wrapped, created=utc_now())


def _context(identity: str) -> str:
    return f"data key {identity}"
