"""The migrations build exactly the schema that the code believes in, from whichever release wrote the store."""

from datetime import UTC, datetime
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, MetaData, func, select, text

from practicum_gateway.store.engine import Base, Store
from practicum_gateway.store.metadata import metadata
from practicum_gateway.store.migrate import configuration, head, migrate

SCRIPTS = ScriptDirectory.from_config(configuration())
REVISIONS = [script.revision for script in reversed(list(SCRIPTS.walk_revisions()))]
VALUES: dict[type, Any] = {
    str: "one",
    int: 1,
    float: 0.5,
    bool: False,
    bytes: b"one",
    datetime: datetime(2026, 3, 1, tzinfo=UTC),
    object: {},
}
SPOKEN: dict[tuple[str, str], Any] = {
    ("models", "spec"): {"alias": "one", "provider": "litellm", "target": "openai/x"},
    ("operations", "report"): {"operation": "one", "status": "tool"},
}
"""What a migration looks into."""


def differences(connection: Connection) -> list[str]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return [str(difference) for difference in compare_metadata(context, metadata)]


def value(column: Column[Any]) -> Any:
    return SPOKEN.get((column.table.name, column.name), VALUES[column.type.python_type])


def fill(connection: Connection) -> set[str]:
    """Write a row into every table there is; returns their names."""
    present = MetaData()
    present.reflect(connection)
    tables = [table for table in present.sorted_tables if table.name != "alembic_version"]
    for table in tables:
        connection.execute(table.insert().values({column.name: value(column) for column in table.columns}))
    return {table.name for table in tables}


def filled_at(connection: Connection, revision: str) -> set[str]:
    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
    return fill(connection)


async def test_the_migrations_and_the_tables_say_the_same(store: Store) -> None:
    async with store.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_migrating_twice_changes_nothing(store: Store) -> None:
    await migrate(store)
    async with store.read() as session:
        assert (await session.execute(text("SELECT version_num FROM alembic_version"))).scalars().all() == [head()]


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_store_of_any_release_comes_forward_with_its_rows(revision: str, empty_url: str) -> None:
    store = Store(empty_url)
    async with store.write() as session:
        filled = await (await session.connection()).run_sync(filled_at, revision)
    await migrate(store)
    async with store.engine.connect() as connection:
        assert await connection.run_sync(differences) == []
    async with store.read() as session:
        for mapper in Base.registry.mappers:
            (await session.scalars(select(mapper.class_))).all()  # whatever was written reads as what it is now
        counted = {name: await session.scalar(select(func.count()).select_from(text(name))) for name in filled}
    assert counted == dict.fromkeys(filled, 1)
    await store.close()
