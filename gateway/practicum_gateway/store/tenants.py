"""Where the stores of tenants are: a folder or a schema each. Which there are is which tenants there are."""

import asyncio
import re
import secrets
import shutil
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from practicum_gateway.store.engine import Store
from practicum_gateway.store.notices import SCHEMA, schema_of
from practicum_gateway.store.outage import outage_of

_FOLDER = "tenants"
_FILE = "gateway.sqlite3"
_DOOMED = ".removed-"
_TRIES = 5
"""How often a schema is dropped until whoever still works on its tables has let go of them."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")


class TenantStores:
    """Makes, finds and drops the stores of tenants beside the one of the main tenant."""

    def __init__(self, main: Store, url: str, data_dir: Path) -> None:
        """Keep them where the main tenant's store is.

        Args:
            main: the main tenant's store.
            url: its URL.
            data_dir: the gateway's folder.
        """
        self._main = main
        self._url = url
        self._folder = data_dir / _FOLDER

    async def names(self) -> list[str]:
        """The tenants that have a store, sorted."""
        if self._main.is_embedded:
            found = await asyncio.to_thread(lambda: [path.parent.name for path in self._folder.glob(f"*/{_FILE}")])
        else:
            async with self._main.read() as session:
                schemas = await session.scalars(text("SELECT schema_name FROM information_schema.schemata"))
                found = [name.removeprefix(SCHEMA) for name in schemas if name.startswith(SCHEMA)]
        return sorted(name for name in found if _NAME.fullmatch(name))

    async def make(self, tenant: str) -> None:
        """Make room for a tenant's store; nothing is in it yet."""
        if self._main.is_embedded:
            await asyncio.to_thread(self._at(tenant).parent.mkdir, mode=0o700, parents=True, exist_ok=True)
            return
        async with self._main.write() as session:
            await session.execute(text(f'CREATE SCHEMA IF NOT EXISTS "{schema_of(_checked(tenant))}"'))

    def store(self, tenant: str) -> Store:
        """A tenant's store; nothing is opened before the first session."""
        if self._main.is_embedded:
            return Store(f"sqlite+aiosqlite:///{self._at(tenant)}")
        return Store(self._url, schema=schema_of(_checked(tenant)), name=self._main.name, lost=self._main.lost)

    async def drop(self, tenant: str) -> None:
        """Destroy a tenant's store with all that is in it."""
        if self._main.is_embedded:
            await asyncio.to_thread(self._destroy, self._at(tenant).parent)
            return
        for left in reversed(range(_TRIES)):
            try:
                async with self._main.write() as session:
                    await session.execute(text(f'DROP SCHEMA IF EXISTS "{schema_of(_checked(tenant))}" CASCADE'))
            except DBAPIError as error:  # what was under way at another gateway waits for the same tables, as a rule
                if not left or outage_of(error) is None:
                    raise
            else:
                return

    def _at(self, tenant: str) -> Path:
        return self._folder / _checked(tenant) / _FILE

    def _destroy(self, folder: Path) -> None:
        # Renamed first: a tenant is there or it is not, also when the machine stops in between.
        doomed = folder.with_name(f"{_DOOMED}{secrets.token_hex(8)}")
        folder.rename(doomed)
        for path in self._folder.glob(f"{_DOOMED}*"):
            shutil.rmtree(path)


def _checked(tenant: str) -> str:
    if not _NAME.fullmatch(tenant):
        raise ValueError(f"{tenant!r} is no name of a tenant")
    return tenant
