"""Tables of secrets: the keys that seal credentials, themselves sealed."""

from datetime import datetime

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from practicum_gateway.store.engine import Base


class DataKeyRow(Base):
    """A key of this store, sealed under the master key."""

    __tablename__ = "data_keys"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    purpose: Mapped[str] = mapped_column(String(20))
    """`seal` for a key that seals credentials, `names` for what fingerprints and handles of pages are made with."""
    wrapped: Mapped[str] = mapped_column(Text)
    created: Mapped[datetime]
