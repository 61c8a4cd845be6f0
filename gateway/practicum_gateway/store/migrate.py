"""Bring a store to the present schema, whatever released version wrote it.

A new one is made as it is at present, without going through its history; Alembic is loaded only where there is history.
"""

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from practicum_gateway.store.engine import Store
from practicum_gateway.store.metadata import metadata

if TYPE_CHECKING:
    from alembic.config import Config

# Any number that nothing else in the database uses as an advisory lock.
_LOCK = 7_305_124_001
_SCRIPTS = Path(__file__).parent / "migrations"
_REVISION = re.compile(r'^revision\b.* = "(\w+)"', re.MULTILINE)
_BEFORE = re.compile(r'^down_revision\b.* = "(\w+)"', re.MULTILINE)
_NOTE = (
    "CREATE TABLE alembic_version "
    "(version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)
"""As Alembic makes it."""


def configuration() -> "Config":
    """Alembic's configuration: where the migrations lie."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    return config


@functools.cache
def head() -> str:
    """The newest revision this version of the gateway knows."""
    scripts = [path.read_text() for path in (_SCRIPTS / "versions").glob("r*.py")]
    before = {found for script in scripts for found in _BEFORE.findall(script)}
    (newest,) = {found for script in scripts for found in _REVISION.findall(script)} - before
    return newest


async def migrate(store: Store) -> None:
    """Upgrade the store's schema to the newest revision, in one transaction; two processes take turns."""
    async with store.write() as session:
        connection = await session.connection()
        if connection.dialect.name == "postgresql":
            await session.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        await connection.run_sync(_upgrade)


def _upgrade(connection: Connection) -> None:
    tables = inspect(connection).get_table_names()
    if not tables:
        metadata.create_all(connection, checkfirst=False)
        connection.execute(text(_NOTE))
        connection.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": head()})
        return
    if "alembic_version" in tables and _present(connection) == [head()]:
        return
    from alembic import command

    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _present(connection: Connection) -> list[str]:
    return list(connection.scalars(text("SELECT version_num FROM alembic_version")))
