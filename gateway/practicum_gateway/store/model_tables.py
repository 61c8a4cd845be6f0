"""Tables of the models: aliases, their versions, and how an alias came from one version to another."""

from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from practicum_gateway.store.engine import Base


class ModelRow(Base):
    """A model alias and the version it names."""

    __tablename__ = "models"

    alias: Mapped[str] = mapped_column(String(31), primary_key=True)
    version: Mapped[str] = mapped_column(Text)
    split: Mapped[dict[str, JsonValue] | None]
    """By version, the weights with which several answer; None where the version above does."""
    fallbacks: Mapped[list[JsonValue] | None]
    """Who is asked where its own model cannot answer."""
    updated: Mapped[datetime]


class ModelVersionRow(Base):
    """A version of an alias; it stays when the alias goes on to another, and when it is forgotten."""

    __tablename__ = "model_versions"

    alias: Mapped[str] = mapped_column(String(31), primary_key=True)
    version: Mapped[str] = mapped_column(Text, primary_key=True)
    spec: Mapped[dict[str, JsonValue]]
    """The registration without the provider's key; only where it is reached may change."""
    api_key: Mapped[str | None] = mapped_column(Text)
    """The provider's key, sealed."""
    created: Mapped[datetime]
    checked: Mapped[dict[str, JsonValue] | None]
    """What the latest check found, since it was last registered."""
    created_by: Mapped[str] = mapped_column(String(100))
    updated: Mapped[datetime]


class ModelChangeRow(Base):
    """One change of what an alias names."""

    __tablename__ = "model_changes"

    id: Mapped[int] = mapped_column(primary_key=True)
    alias: Mapped[str] = mapped_column(String(31), index=True)
    change: Mapped[str] = mapped_column(String(20))
    from_version: Mapped[str | None] = mapped_column(Text)
    to_version: Mapped[str | None] = mapped_column(Text)
    split: Mapped[dict[str, JsonValue] | None]
    """The weights since."""
    comparison: Mapped[dict[str, JsonValue] | None]
    override: Mapped[str | None] = mapped_column(Text)
    principal: Mapped[str] = mapped_column(String(100))
    at: Mapped[datetime]
