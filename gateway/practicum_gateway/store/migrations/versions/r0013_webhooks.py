"""Webhooks: who is told of approvals, what is still to be told, which answers were taken."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room for them."""
    op.create_table(
        "webhooks",
        sa.Column("name", sa.String(length=31), nullable=False),
        sa.Column("origin", sa.String(length=300), nullable=False),
        sa.Column("private_network", sa.Boolean(), nullable=False),
        sa.Column("answers_at", sa.String(length=300), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("former_until", sa.DateTime(timezone=True)),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True)),
        sa.Column("last_said", sa.String(length=300)),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_webhooks")),
    )
    op.create_table(
        "webhook_messages",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("webhook", sa.String(length=31), nullable=False),
        sa.Column("approval", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_messages")),
    )
    op.create_index(op.f("ix_webhook_messages_webhook_due"), "webhook_messages", ["webhook", "due"])
    op.create_index(op.f("ix_webhook_messages_approval"), "webhook_messages", ["approval"])
    op.create_table(
        "webhook_answers",
        sa.Column("webhook", sa.String(length=31), nullable=False),
        sa.Column("message", sa.String(length=200), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("webhook", "message", name=op.f("pk_webhook_answers")),
    )
    op.create_index(op.f("ix_webhook_answers_at"), "webhook_answers", ["at"])


def downgrade() -> None:
    """Releases only go forward; a backup is the way back."""
    raise NotImplementedError("restore a backup to go back to an earlier release")
