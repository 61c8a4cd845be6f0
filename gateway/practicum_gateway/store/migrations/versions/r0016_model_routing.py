"""Models: several versions behind an alias by weight, and who is asked where one cannot answer."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for them."""
    op.add_column("models", sa.Column("split", sa.JSON(none_as_null=True)))
    op.add_column("models", sa.Column("fallbacks", sa.JSON(none_as_null=True)))
    op.add_column("model_changes", sa.Column("split", sa.JSON(none_as_null=True)))
    op.add_column("episodes", sa.Column("fallbacks", sa.JSON(none_as_null=True)))


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
