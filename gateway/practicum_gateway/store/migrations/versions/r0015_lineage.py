"""Lineage of model calls: by what each is known to continue another, how it was asked, what its model thought."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_COLUMNS: tuple[tuple[str, Any], ...] = (
    ("messages_shared", sa.Integer()),
    ("link", sa.String(length=10)),
    ("candidates", sa.JSON(none_as_null=True)),
    ("disagreement", sa.JSON(none_as_null=True)),
    ("ids_length", sa.Integer()),
    ("ids_hash", sa.String(length=64)),
    ("tokens_from", sa.String(length=200)),
    ("reasoning", sa.Text()),
    ("sent", sa.JSON(none_as_null=True)),
)


def upgrade() -> None:
    """Make room for it; in what was recorded before, it is not known."""
    for name, kind in _COLUMNS:
        op.add_column("model_calls", sa.Column(name, kind, nullable=True))


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
