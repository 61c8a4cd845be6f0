"""The audit log's table: appended to, and nothing else but what the log itself says was erased or removed."""

from datetime import datetime

from sqlalchemy import Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from practicum_gateway.store.engine import Base


class AuditRow(Base):
    """One entry; `practicum.audit` says how its hashes are made."""

    __tablename__ = "audit"
    __table_args__ = (
        Index(None, "actor", "sequence"),
        Index(None, "episode", "sequence"),
        Index(None, "subject", "sequence"),
    )

    sequence: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[datetime]
    actor: Mapped[str] = mapped_column(String(100))
    role: Mapped[str] = mapped_column(String(20))
    key: Mapped[str] = mapped_column(String(60))
    action: Mapped[str] = mapped_column(String(40))
    subject: Mapped[str] = mapped_column(String(200))
    outcome: Mapped[str] = mapped_column(String(40))
    episode: Mapped[str | None] = mapped_column(String(40))
    trace: Mapped[str | None] = mapped_column(String(32))
    details: Mapped[str | None] = mapped_column(Text)
    """Canonical JSON, as it was hashed; None once erased."""
    salt: Mapped[str | None] = mapped_column(String(32))
    details_hash: Mapped[str] = mapped_column(String(64))
    previous: Mapped[str] = mapped_column(String(64))
    hash: Mapped[str] = mapped_column(String(64))
