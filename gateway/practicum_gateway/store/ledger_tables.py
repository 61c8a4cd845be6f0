"""The ledger's table: one row per idempotency key."""

from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import Float, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from practicum_gateway.store.engine import Base


class InvocationRow(Base):
    """One tool call that was, is being, or may have been made."""

    __tablename__ = "invocations"
    __table_args__ = (UniqueConstraint("scope", "key"), Index(None, "state", "boot"))

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    scope: Mapped[str] = mapped_column(String(120))
    """Whose keys these are: `episode:ID`, or `principal:NAME` for a call outside an episode."""
    key: Mapped[str] = mapped_column(String(200))
    episode: Mapped[str | None] = mapped_column(String(40), index=True)
    step: Mapped[int | None]
    call: Mapped[int | None]
    principal: Mapped[str] = mapped_column(String(100))
    tool: Mapped[str] = mapped_column(String(64))
    arguments: Mapped[dict[str, JsonValue]]
    arguments_hash: Mapped[str] = mapped_column(String(64))
    approval: Mapped[str | None] = mapped_column(String(40))
    upstream_key: Mapped[str] = mapped_column(String(64))
    """The key the system itself sees; drawn at random, so that two installations can never share one."""
    state: Mapped[str] = mapped_column(String(20))
    boot: Mapped[str] = mapped_column(String(40))
    """The process that works, or worked, on it."""
    resend: Mapped[str] = mapped_column(String(20))
    """Whether it may be sent again, under the same key, when its answer was lost."""
    compensates: Mapped[str | None] = mapped_column(String(40), index=True)
    """The call that this one undoes."""
    observation: Mapped[dict[str, JsonValue] | None]
    started: Mapped[datetime]
    sent: Mapped[datetime | None]
    finished: Mapped[datetime | None]
    seconds: Mapped[float | None] = mapped_column(Float(53))
