"""The data keys of a store: made at its first opening, sealed under the master key, exchanged on demand."""

from sqlalchemy import delete, select, update

from practicum.contracts.base import utc_now
from practicum_gateway.store.engine import Store, new_id
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
        self._vault.take(Sealer(key), seals=True)
        self._sealing = row.id
        return self._vault.key_id

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
