"""Compensation: which call undoes which."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for it."""
    op.add_column("invocations", sa.Column("compensates", sa.String(length=40), nullable=True))
    op.create_index(op.f("ix_invocations_compensates"), "invocations", ["compensates"])


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
