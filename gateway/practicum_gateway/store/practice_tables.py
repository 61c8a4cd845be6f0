"""Tables of practice: which copies of which systems were begun for an episode."""

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from practicum_gateway.store.engine import Base


class PracticeCopyRow(Base):
    """One practice copy. It is begun before its episode, so it may be there without one."""

    __tablename__ = "practice_copies"

    episode: Mapped[str] = mapped_column(String(40), primary_key=True)
    connector: Mapped[str] = mapped_column(String(31), primary_key=True)
    released: Mapped[bool] = mapped_column(default=False)
    """Whether it was ended."""
