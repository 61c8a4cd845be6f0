"""The migrations build exactly the schema that the code believes in, from whichever release wrote the store."""

from datetime import UTC, datetime
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, MetaData, func, inspect, select, text

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


def upgraded(connection: Connection, revision: str) -> None:
    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def filled_at(connection: Connection, revision: str) -> set[str]:
    upgraded(connection, revision)
    return fill(connection)


async def test_the_migrations_and_the_tables_say_the_same(store: Store) -> None:
    async with store.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


def shape(connection: Connection) -> dict[str, Any]:
    """What a database knows of its tables, but for the order of columns and for what it would put into one that nobody
    names: every insertion names them all."""
    found = inspect(connection)
    return {
        table: (
            {column["name"]: (str(column["type"]), column["nullable"]) for column in found.get_columns(table)},
            found.get_pk_constraint(table),
            *(
                sorted(({**each, "dialect_options": str(options(each))} for each in kind(table)), key=str)
                for kind in (found.get_foreign_keys, found.get_unique_constraints, found.get_indexes)
            ),
            sorted(found.get_check_constraints(table), key=str),
        )
        for table in found.get_table_names()
    }


def options(constraint: Any) -> dict[str, str]:
    return {name: str(value) for name, value in constraint.get("dialect_options", {}).items()}


async def test_a_new_store_is_made_as_its_history_would_have_made_it(empty_url: str, store: Store) -> None:
    """`store` was made at once, the other one comes through every release."""
    other = Store(empty_url)
    async with other.write() as session:
        await (await session.connection()).run_sync(upgraded, REVISIONS[0])
    await migrate(other)
    async with store.engine.connect() as new, other.engine.connect() as old:
        assert await new.run_sync(shape) == await old.run_sync(shape)
    await other.close()
    assert head() == SCRIPTS.get_current_head()


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
