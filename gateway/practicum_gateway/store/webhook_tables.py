"""Tables of webhooks: who is told of approvals, what is still to be told, which answers were taken."""

from datetime import datetime

from sqlalchemy import Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from practicum_gateway.store.engine import Base


class WebhookRow(Base):
    """A receiver of messages about approvals; its address and its secrets are sealed."""

    __tablename__ = "webhooks"

    name: Mapped[str] = mapped_column(String(31), primary_key=True)
    origin: Mapped[str] = mapped_column(String(300))
    """Scheme, host and port of its address; the rest of it may be a secret."""
    private_network: Mapped[bool]
    answers_at: Mapped[str] = mapped_column(String(300))
    """The gateway's own address, as it was reached when the webhook was registered."""
    sealed: Mapped[str] = mapped_column(Text)
    """Its address, its secrets and those that they took the place of."""
    former_until: Mapped[datetime | None]
    """Until when the former secrets hold."""
    created: Mapped[datetime]
    last_at: Mapped[datetime | None]
    last_said: Mapped[str | None] = mapped_column(String(300))
    failures: Mapped[int]
    """How many attempts failed since the last that did not."""


class WebhookMessageRow(Base):
    """A message that was not delivered yet; written in the transaction of what it tells."""

    __tablename__ = "webhook_messages"
    __table_args__ = (Index(None, "webhook", "due"), Index(None, "approval"))

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    """Its `webhook-id`, the same at each attempt; sorts by the time at which it was written."""
    webhook: Mapped[str] = mapped_column(String(31))
    approval: Mapped[str] = mapped_column(String(40))
    kind: Mapped[str] = mapped_column(String(40))
    body: Mapped[str] = mapped_column(Text)
    tries: Mapped[int]
    due: Mapped[datetime]
    ends: Mapped[datetime]
    """After this it is not worth another attempt."""


class WebhookAnswerRow(Base):
    """An answer that was taken, by the `webhook-id` that it came with."""

    __tablename__ = "webhook_answers"

    webhook: Mapped[str] = mapped_column(String(31), primary_key=True)
    message: Mapped[str] = mapped_column(String(200), primary_key=True)
    at: Mapped[datetime] = mapped_column(index=True)
