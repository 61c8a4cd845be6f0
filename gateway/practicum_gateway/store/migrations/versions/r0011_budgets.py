"""Budgets: what was spent, from which pot."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for it."""
    op.create_table(
        "spendings",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("budget", sa.String(length=64), nullable=False),
        sa.Column("pot", sa.String(length=120), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("amount", sa.Float(precision=53), nullable=False),
        sa.Column("invocation", sa.String(length=40)),
        sa.Column("returnable", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_spendings")),
    )
    op.create_index(op.f("ix_spendings_budget"), "spendings", ["budget", "pot", "at"])
    op.create_index(op.f("ix_spendings_invocation"), "spendings", ["invocation"])


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
