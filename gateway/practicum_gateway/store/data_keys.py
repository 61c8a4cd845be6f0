"""The data keys of a store: made at its first opening, sealed under the master key, exchanged on demand."""

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from practicum.contracts.base import utc_now
from practicum_gateway.store.engine import Store, new_id
from practicum_gateway.store.secret_tables import DataKeyRow
from practicum_gateway.store.vault import LocalMasterKey, MasterKey, Sealer, Vault, new_key

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

    async def open(self) -> None:
        """Take the store's keys up; those that a former master key sealed are sealed under the present one.

        Raises:
            ConfigurationError: they were sealed under another master key.
        """
        async with self._store.write() as session:
            rows = list(await session.scalars(select(DataKeyRow).order_by(DataKeyRow.created, DataKeyRow.id)))
            if not rows:
                rows = self._first()
                session.add_all(rows)
            for row in rows:
                key, formerly = self._master.unwrap(row.wrapped, _context(row.id))
                if formerly:
                    row.wrapped = self._master.wrap(key, _context(row.id))
                if row.purpose == _NAMES:
                    self._vault.take_names(key)
                else:
                    self._vault.take(Sealer(key), seals=True)
        if isinstance(self._master, LocalMasterKey):
            for sealer in self._master.sealers:
                self._vault.take(sealer, seals=False)

    async def renew(self) -> str:
        """A new key seals from now on; the id by which its seals are told. What others sealed still opens."""
        key = new_key()
        async with self._store.write() as session:
            session.add(self._row(_SEAL, key))
        self._vault.take(Sealer(key), seals=True)
        return self._vault.key_id

    async def forget_all_but_latest(self) -> None:
        """Forget keys that nothing is sealed under any more."""
        async with self._store.write() as session:
            kept = await _latest(session)
            await session.execute(delete(DataKeyRow).where(DataKeyRow.purpose == _SEAL, DataKeyRow.id != kept))

    def _first(self) -> list[DataKeyRow]:
        names = self._master.names if isinstance(self._master, LocalMasterKey) else new_key() + new_key()
        return [self._row(_SEAL, new_key()), self._row(_NAMES, names)]

    def _row(self, purpose: str, key: bytes) -> DataKeyRow:
        identity = new_id("dk")
        wrapped = self._master.wrap(key, _context(identity))
        return DataKeyRow(id=identity, purpose=purpose, wrapped=wrapped, created=utc_now())


async def _latest(session: AsyncSession) -> str | None:
    newest = select(DataKeyRow.id).where(DataKeyRow.purpose == _SEAL)
    return await session.scalar(newest.order_by(DataKeyRow.created.desc(), DataKeyRow.id.desc()).limit(1))


def _context(identity: str) -> str:
    return f"data key {identity}"
