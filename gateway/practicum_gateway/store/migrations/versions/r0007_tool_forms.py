"""Episodes remember how their tools are offered: whether they exceed a budget, and in which provider's form.

Those that began before go on as they began: all their tools written out, in the tools' own form.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for both."""
    op.add_column("episodes", sa.Column("tool_budget", sa.Integer()))
    op.add_column("episodes", sa.Column("tool_profile", sa.String(length=40)))


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
