"""The record: models, toolsets, episodes, messages, model calls, events, rewards."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ACCEPTED = sa.text("standing = 'accepted'")


def upgrade() -> None:
    """Create the tables of the record."""
    _models()
    _episodes()
    _messages()
    _model_calls()
    _events()
    _rewards()


def _models() -> None:
    op.create_table(
        "models",
        sa.Column("alias", sa.String(length=31), nullable=False),
        sa.Column("spec", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("api_key", sa.Text()),
        sa.Column("updated", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("alias", name=op.f("pk_models")),
    )
    op.create_table(
        "toolsets",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("tools", sa.JSON(none_as_null=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_toolsets")),
    )


def _episodes() -> None:
    op.create_table(
        "episodes",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("principal", sa.String(length=100), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("model", sa.String(length=31), nullable=False),
        sa.Column("tools", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("toolset", sa.String(length=64), nullable=False),
        sa.Column("limits", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("sampling", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("driver", sa.String(length=20), nullable=False),
        sa.Column("mode", sa.String(length=20), nullable=False),
        sa.Column("status", sa.String(length=20), nullable=False),
        sa.Column("idempotency_key", sa.String(length=200)),
        sa.Column("request_hash", sa.String(length=64), nullable=False),
        sa.Column("labels", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended", sa.DateTime(timezone=True)),
        sa.Column("result", sa.JSON(none_as_null=True)),
        sa.Column("reward", sa.Float(53)),
        sa.Column("handed_over", sa.Boolean(), nullable=False),
        sa.Column("chats", sa.Integer(), nullable=False),
        sa.Column("placed", sa.Integer(), nullable=False),
        sa.Column("events", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["toolset"], ["toolsets.digest"], name=op.f("fk_episodes_toolset_toolsets")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_episodes")),
        sa.UniqueConstraint("principal", "idempotency_key", name=op.f("uq_episodes_principal_idempotency_key")),
    )
    op.create_index(op.f("ix_episodes_status_id"), "episodes", ["status", "id"])


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("episode", sa.String(length=40), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("message", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("step", sa.Integer()),
        sa.Column("call", sa.Integer()),
        sa.Column("status", sa.String(length=20)),
        sa.Column("observation", sa.JSON(none_as_null=True)),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_messages_episode_episodes")),
        sa.PrimaryKeyConstraint("episode", "position", name=op.f("pk_messages")),
    )
    op.create_index(op.f("ix_messages_episode_step"), "messages", ["episode", "step"])


def _model_calls() -> None:
    op.create_table(
        "model_calls",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("episode", sa.String(length=40), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("standing", sa.String(length=20), nullable=False),
        sa.Column("model", sa.String(length=31), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("toolset", sa.String(length=64), nullable=False),
        sa.Column("sampling", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("parent", sa.String(length=40)),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("context", sa.JSON(none_as_null=True)),
        sa.Column("fingerprint", sa.String(length=64)),
        sa.Column("response", sa.JSON(none_as_null=True)),
        sa.Column("finish_reason", sa.Text()),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("prompt_shared", sa.Integer(), nullable=False),
        sa.Column("prompt_ids", sa.LargeBinary()),
        sa.Column("completion_ids", sa.LargeBinary()),
        sa.Column("logprobs", sa.LargeBinary()),
        sa.Column("template_hash", sa.String(length=64)),
        sa.Column("constrained", sa.Boolean(), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Float(53), nullable=False),
        sa.Column("error", sa.Text()),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_model_calls_episode_episodes")),
        sa.ForeignKeyConstraint(["toolset"], ["toolsets.digest"], name=op.f("fk_model_calls_toolset_toolsets")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_calls")),
    )
    op.create_index(op.f("ix_model_calls_episode_step"), "model_calls", ["episode", "step"])
    op.create_index(op.f("ix_model_calls_episode_fingerprint"), "model_calls", ["episode", "fingerprint"])
    op.create_index(
        "uq_model_calls_accepted",
        "model_calls",
        ["episode", "step"],
        unique=True,
        sqlite_where=_ACCEPTED,
        postgresql_where=_ACCEPTED,
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("episode", sa.String(length=40), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("type", sa.String(length=40), nullable=False),
        sa.Column("step", sa.Integer()),
        sa.Column("data", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_events_episode_episodes")),
        sa.PrimaryKeyConstraint("episode", "sequence", name=op.f("pk_events")),
    )


def _rewards() -> None:
    op.create_table(
        "rewards",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("episode", sa.String(length=40), nullable=False),
        sa.Column("reward", sa.Float(53)),
        sa.Column("source", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["episode"], ["episodes.id"], name=op.f("fk_rewards_episode_episodes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rewards")),
    )
    op.create_index(op.f("ix_rewards_episode"), "rewards", ["episode"])
