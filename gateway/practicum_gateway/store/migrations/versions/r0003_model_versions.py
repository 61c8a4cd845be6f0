"""Versions behind the model aliases; an episode keeps the version it began with."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_JSON = sa.JSON(none_as_null=True)
_MOMENT = sa.DateTime(timezone=True)
_UNKNOWN = "unknown"
"""Who registered a model was not written down before."""


def upgrade() -> None:
    """Part the aliases from what answers behind them, and make each registered model the first version of its alias."""
    old = sa.table(
        "models",
        sa.column("alias", sa.String()),
        sa.column("spec", _JSON),
        sa.column("api_key", sa.Text()),
        sa.column("updated", _MOMENT),
    )
    registered = [dict(row) for row in op.get_bind().execute(sa.select(old)).mappings()]
    op.drop_table("models")
    models, versions, changes = _models(), _versions(), _changes()
    for row in registered:
        _carry_over(row, models, versions, changes)
    op.add_column("episodes", sa.Column("version", sa.Text()))


def _models() -> sa.Table:
    return op.create_table(
        "models",
        sa.Column("alias", sa.String(length=31), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("updated", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("alias", name=op.f("pk_models")),
    )


def _versions() -> sa.Table:
    return op.create_table(
        "model_versions",
        sa.Column("alias", sa.String(length=31), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("spec", _JSON, nullable=False),
        sa.Column("api_key", sa.Text()),
        sa.Column("created", _MOMENT, nullable=False),
        sa.Column("created_by", sa.String(length=100), nullable=False),
        sa.Column("updated", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("alias", "version", name=op.f("pk_model_versions")),
    )


def _changes() -> sa.Table:
    changes = op.create_table(
        "model_changes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("alias", sa.String(length=31), nullable=False),
        sa.Column("change", sa.String(length=20), nullable=False),
        sa.Column("from_version", sa.Text()),
        sa.Column("to_version", sa.Text()),
        sa.Column("comparison", _JSON),
        sa.Column("override", sa.Text()),
        sa.Column("principal", sa.String(length=100), nullable=False),
        sa.Column("at", _MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_changes")),
    )
    op.create_index(op.f("ix_model_changes_alias"), "model_changes", ["alias"])
    return changes


def _carry_over(row: Mapping[str, Any], models: sa.Table, versions: sa.Table, changes: sa.Table) -> None:
    alias, spec, at = row["alias"], row["spec"], row["updated"]
    version = _version(spec)
    op.bulk_insert(
        versions,
        [
            {
                "alias": alias,
                "version": version,
                "spec": {**spec, "version": version},
                "api_key": row["api_key"],
                "created": at,
                "created_by": _UNKNOWN,
                "updated": at,
            }
        ],
    )
    op.bulk_insert(models, [{"alias": alias, "version": version, "updated": at}])
    op.bulk_insert(
        changes, [{"alias": alias, "change": "registered", "to_version": version, "principal": _UNKNOWN, "at": at}]
    )


def _version(spec: Mapping[str, Any]) -> str:
    """What trajectories called the model: as the gateway did when this revision was made."""
    if spec.get("version") is not None:
        return str(spec["version"])
    adapter: dict[str, float] = spec.get("adapter") or {}
    scales = sorted((int(number), scale) for number, scale in adapter.items())
    return str(spec["target"]) + "".join(f"+lora{number}:{scale:g}" for number, scale in scales)
