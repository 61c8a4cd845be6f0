"""Bring a store to the present schema, whatever released version wrote it."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from practicum_gateway.store.engine import Store

# Any number that nothing else in the database uses as an advisory lock.
_LOCK = 7_305_124_001


def configuration() -> Config:
    """Alembic's configuration: where the migrations lie."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


def head() -> str:
    """The newest revision this version of the gateway knows."""
    revision = ScriptDirectory.from_config(configuration()).get_current_head()
    assert revision is not None, "a package without migrations was built wrongly"  # noqa: S101
    return revision


async def migrate(store: Store) -> None:
    """Upgrade the store's schema to the newest revision, in one transaction; two processes take turns."""
    async with store.write() as session:
        connection = await session.connection()
        if connection.dialect.name == "postgresql":
            await session.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        await connection.run_sync(_upgrade)


def _upgrade(connection: Connection) -> None:
    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
