"""Run by Alembic: migrate over the connection that `practicum_gateway.store.migrate` hands in."""

from alembic import context

from practicum_gateway.store.metadata import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    # SQLite cannot alter most of a table in place; batch mode rebuilds it.
    render_as_batch=True,
)
context.run_migrations()
