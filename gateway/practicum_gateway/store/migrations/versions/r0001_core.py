"""Keys, rules, approvals, connectors and the ledger."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision: str | None = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables of access, catalogue and invocation."""
    _access()
    _catalogue()
    _invocation()


def _access() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("prefix", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("principal", sa.String(length=100), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("episode", sa.String(length=40)),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True)),
        sa.Column("revoked", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
    )
    op.create_index(op.f("ix_keys_episode"), "keys", ["episode"])
    op.create_index(op.f("ix_keys_prefix"), "keys", ["prefix"])
    op.create_table(
        "rule_sets",
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("rules", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("principal", sa.String(length=100), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_rule_sets")),
    )
    op.create_table(
        "approvals",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("scope", sa.String(length=120), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("serial", sa.Integer(), nullable=False),
        sa.Column("episode", sa.String(length=40)),
        sa.Column("step", sa.Integer()),
        sa.Column("call", sa.Integer()),
        sa.Column("tool", sa.String(length=64), nullable=False),
        sa.Column("effect", sa.String(length=20), nullable=False),
        sa.Column("arguments", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("arguments_hash", sa.String(length=64), nullable=False),
        sa.Column("rule", sa.String(length=64), nullable=False),
        sa.Column("requested_by", sa.String(length=100), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("decided_by", sa.String(length=100)),
        sa.Column("decided", sa.DateTime(timezone=True)),
        sa.Column("reason", sa.Text()),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
        sa.UniqueConstraint("scope", "key", "serial", name=op.f("uq_approvals_scope_key_serial")),
    )
    op.create_index(op.f("ix_approvals_episode"), "approvals", ["episode"])
    op.create_index(op.f("ix_approvals_status_expires"), "approvals", ["status", "expires"])


def _catalogue() -> None:
    op.create_table(
        "connectors",
        sa.Column("name", sa.String(length=31), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("base_url", sa.Text(), nullable=False),
        sa.Column("mode", sa.String(length=20), nullable=False),
        sa.Column("auth", sa.String(length=30), nullable=False),
        sa.Column("tools", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("spec", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("credential", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_connectors")),
    )
    op.create_table(
        "documents",
        sa.Column("connector", sa.String(length=31), nullable=False),
        sa.Column("origin", sa.Text()),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["connector"], ["connectors.name"], name=op.f("fk_documents_connector_connectors"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("connector", name=op.f("pk_documents")),
    )
    op.create_table(
        "operations",
        sa.Column("connector", sa.String(length=31), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("tool_name", sa.String(length=64)),
        sa.Column("report", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("tool", sa.JSON(none_as_null=True)),
        sa.ForeignKeyConstraint(
            ["connector"], ["connectors.name"], name=op.f("fk_operations_connector_connectors"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("connector", "position", name=op.f("pk_operations")),
        sa.UniqueConstraint("tool_name", name=op.f("uq_operations_tool_name")),
    )


def _invocation() -> None:
    op.create_table(
        "invocations",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("scope", sa.String(length=120), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("episode", sa.String(length=40)),
        sa.Column("step", sa.Integer()),
        sa.Column("call", sa.Integer()),
        sa.Column("principal", sa.String(length=100), nullable=False),
        sa.Column("tool", sa.String(length=64), nullable=False),
        sa.Column("arguments", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("arguments_hash", sa.String(length=64), nullable=False),
        sa.Column("approval", sa.String(length=40)),
        sa.Column("upstream_key", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("boot", sa.String(length=40), nullable=False),
        sa.Column("resend", sa.String(length=20), nullable=False),
        sa.Column("observation", sa.JSON(none_as_null=True)),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent", sa.DateTime(timezone=True)),
        sa.Column("finished", sa.DateTime(timezone=True)),
        sa.Column("seconds", sa.Float(53)),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invocations")),
        sa.UniqueConstraint("scope", "key", name=op.f("uq_invocations_scope_key")),
    )
    op.create_index(op.f("ix_invocations_episode"), "invocations", ["episode"])
    op.create_index(op.f("ix_invocations_state_boot"), "invocations", ["state", "boot"])
