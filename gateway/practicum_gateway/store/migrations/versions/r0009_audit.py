"""The audit log. It begins with this release: of what was done before, nothing is made up."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for it."""
    op.create_table(
        "audit",
        sa.Column("sequence", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("key", sa.String(length=60), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("outcome", sa.String(length=40), nullable=False),
        sa.Column("episode", sa.String(length=40)),
        sa.Column("trace", sa.String(length=32)),
        sa.Column("details", sa.Text()),
        sa.Column("salt", sa.String(length=32)),
        sa.Column("details_hash", sa.String(length=64), nullable=False),
        sa.Column("previous", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_audit")),
    )
    for column in ("actor", "episode", "subject"):
        op.create_index(op.f(f"ix_audit_{column}_sequence"), "audit", [column, "sequence"])


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
