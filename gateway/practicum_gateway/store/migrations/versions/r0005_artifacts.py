"""Artifacts: bytes that systems answered, kept for a while for the episode that asked."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for them."""
    op.create_table(
        "artifacts",
        sa.Column("scope", sa.String(length=200), nullable=False),
        sa.Column("id", sa.String(length=60), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("name", sa.Text()),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("scope", "id", name=op.f("pk_artifacts")),
    )
    op.create_index(op.f("ix_artifacts_expires"), "artifacts", ["expires"])


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
