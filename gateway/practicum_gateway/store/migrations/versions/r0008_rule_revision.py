"""Approvals are bound to the revision of the rule that asked; those that are open are asked once more."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for it."""
    op.add_column("approvals", sa.Column("rule_revision", sa.String(length=64), nullable=False, server_default=""))


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
