"""The table of issuers: identity providers whose tokens are taken."""

from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from practicum_gateway.store.engine import Base


class IssuerRow(Base):
    """An issuer; what is kept of it is public."""

    __tablename__ = "issuers"

    name: Mapped[str] = mapped_column(String(31), primary_key=True)
    spec: Mapped[dict[str, JsonValue]]
    created: Mapped[datetime]
