"""Model calls whose answer was given before, and what checks of models found."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for it; what was recorded before was drawn."""
    op.add_column("model_calls", sa.Column("cached", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("model_versions", sa.Column("checked", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
