"""The table of budgets: what was spent, from which pot."""

from datetime import datetime

from sqlalchemy import Float, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from practicum_gateway.store.engine import Base


class SpendingRow(Base):
    """One use of a budget."""

    __tablename__ = "spendings"
    __table_args__ = (
        Index("ix_spendings_budget", "budget", "pot", "at"),
        Index("ix_spendings_invocation", "invocation"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    budget: Mapped[str] = mapped_column(String(64))
    pot: Mapped[str] = mapped_column(String(120))
    """Who spends together: `tenant`, `principal:NAME` or `episode:ID`."""
    at: Mapped[datetime]
    amount: Mapped[float] = mapped_column(Float(53))
    """Calls, tokens or money."""
    invocation: Mapped[str | None] = mapped_column(String(40))
    """The call it was spent on, which gives money back that surely was not spent."""
    returnable: Mapped[bool]
