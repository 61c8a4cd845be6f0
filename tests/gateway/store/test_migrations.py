"""The migrations build exactly the schema that the code believes in."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from practicum_gateway.store.engine import Store
from practicum_gateway.store.metadata import metadata
from practicum_gateway.store.migrate import head, migrate


def differences(connection: Connection) -> list[str]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return [str(difference) for difference in compare_metadata(context, metadata)]


async def test_the_migrations_and_the_tables_say_the_same(store: Store) -> None:
    async with store.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_migrating_twice_changes_nothing(store: Store) -> None:
    await migrate(store)
    async with store.read() as session:
        assert (await session.execute(text("SELECT version_num FROM alembic_version"))).scalars().all() == [head()]
