"""The table of artifacts: bytes that systems answered and that are not shown to a model."""

from datetime import datetime

from sqlalchemy import LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from practicum_gateway.store.engine import Base


class ArtifactRow(Base):
    """One artifact of one episode, or of one principal outside episodes."""

    __tablename__ = "artifacts"

    scope: Mapped[str] = mapped_column(String(200), primary_key=True)
    id: Mapped[str] = mapped_column(String(60), primary_key=True)
    media_type: Mapped[str] = mapped_column(Text)
    name: Mapped[str | None] = mapped_column(Text)
    complete: Mapped[bool]
    content: Mapped[bytes] = mapped_column(LargeBinary)
    expires: Mapped[datetime] = mapped_column(index=True)
