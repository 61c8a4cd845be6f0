"""Practice copies: the credential of a connector's copies, and which copies were begun for which episode."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for both."""
    op.add_column("connectors", sa.Column("practice_credential", sa.Text()))
    op.create_table(
        "practice_copies",
        sa.Column("episode", sa.String(length=40), nullable=False),
        sa.Column("connector", sa.String(length=31), nullable=False),
        sa.Column("released", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("episode", "connector", name=op.f("pk_practice_copies")),
    )


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
