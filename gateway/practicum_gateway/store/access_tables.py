"""Tables of access: keys, revisions of the rules, approvals."""

from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from practicum_gateway.store.engine import Base


class KeyRow(Base):
    """An API key: its hash and whom it speaks for, never the key."""

    __tablename__ = "keys"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    prefix: Mapped[str] = mapped_column(String(16), index=True)
    hash: Mapped[str] = mapped_column(String(64))
    principal: Mapped[str] = mapped_column(String(100))
    role: Mapped[str] = mapped_column(String(20))
    episode: Mapped[str | None] = mapped_column(String(40), index=True)
    created: Mapped[datetime]
    expires: Mapped[datetime | None]
    revoked: Mapped[datetime | None]


class RuleSetRow(Base):
    """One revision of the access rules; the highest is in force."""

    __tablename__ = "rule_sets"

    revision: Mapped[int] = mapped_column(primary_key=True)
    rules: Mapped[dict[str, JsonValue]]
    principal: Mapped[str] = mapped_column(String(100))
    created: Mapped[datetime]


class ApprovalRow(Base):
    """A question to a person about exactly one call."""

    __tablename__ = "approvals"
    __table_args__ = (UniqueConstraint("scope", "key", "serial"), Index(None, "status", "expires"))

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    scope: Mapped[str] = mapped_column(String(120))
    key: Mapped[str] = mapped_column(String(200))
    serial: Mapped[int]
    episode: Mapped[str | None] = mapped_column(String(40), index=True)
    step: Mapped[int | None]
    call: Mapped[int | None]
    tool: Mapped[str] = mapped_column(String(64))
    effect: Mapped[str] = mapped_column(String(20))
    arguments: Mapped[dict[str, JsonValue]]
    arguments_hash: Mapped[str] = mapped_column(String(64))
    rule: Mapped[str] = mapped_column(String(64))
    rule_revision: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the rule that asked, as it stood then."""
    requested_by: Mapped[str] = mapped_column(String(100))
    status: Mapped[str] = mapped_column(String(20))
    decided_by: Mapped[str | None] = mapped_column(String(100))
    decided: Mapped[datetime | None]
    reason: Mapped[str | None] = mapped_column(Text)
    created: Mapped[datetime]
    expires: Mapped[datetime]
