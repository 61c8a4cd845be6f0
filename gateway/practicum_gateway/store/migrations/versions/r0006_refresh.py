"""Refresh: a newer document beside the one in force, what the latest look found, how often answers departed; search."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for them."""
    op.add_column("connectors", sa.Column("newer_digest", sa.String(length=64)))
    op.add_column("connectors", sa.Column("refreshed", sa.DateTime(timezone=True)))
    op.add_column("connectors", sa.Column("look", sa.JSON(none_as_null=True)))
    op.add_column("documents", sa.Column("newer_origin", sa.Text()))
    op.add_column("documents", sa.Column("newer_content", sa.LargeBinary()))
    op.add_column("operations", sa.Column("drift", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("operations", sa.Column("operation", sa.Text(), nullable=False, server_default=""))
    operations = sa.table(
        "operations",
        sa.column("connector", sa.String()),
        sa.column("position", sa.Integer()),
        sa.column("operation", sa.Text()),
        sa.column("report", sa.JSON()),
    )
    connection = op.get_bind()
    present = sa.select(operations.c.connector, operations.c.position, operations.c.report)
    for connector, position, report in connection.execute(present).all():
        place = (operations.c.connector == connector) & (operations.c.position == position)
        connection.execute(operations.update().where(place).values(operation=report["operation"]))
    op.create_table(
        "word_indexes",
        sa.Column("identity", sa.String(length=64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("identity", name=op.f("pk_word_indexes")),
    )


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
