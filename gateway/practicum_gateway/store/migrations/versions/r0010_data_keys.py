"""Data keys: what seals credentials is a key of the store's own, sealed under the master key."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for them; the first is made when the store is next opened, and everything sealed anew under it."""
    op.create_table(
        "data_keys",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("purpose", sa.String(length=20), nullable=False),
        sa.Column("wrapped", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_data_keys")),
    )


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
