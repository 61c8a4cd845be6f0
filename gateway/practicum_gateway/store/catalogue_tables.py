"""Tables of the catalogue: connectors, their documents, their tools."""

from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import ForeignKey, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from practicum_gateway.store.engine import Base


class ConnectorRow(Base):
    """A registered system."""

    __tablename__ = "connectors"

    name: Mapped[str] = mapped_column(String(31), primary_key=True)
    title: Mapped[str] = mapped_column(Text)
    version: Mapped[str] = mapped_column(Text)
    base_url: Mapped[str] = mapped_column(Text)
    mode: Mapped[str] = mapped_column(String(20))
    auth: Mapped[str] = mapped_column(String(30))
    tools: Mapped[int]
    digest: Mapped[str] = mapped_column(String(64))
    """Of the document in force."""
    newer_digest: Mapped[str | None] = mapped_column(String(64))
    """Of a newer document of which something waits for a decision."""
    fingerprint: Mapped[str] = mapped_column(String(64))
    """Keyed hash of what was asked for beside the document, credential included: tells a repeated registration from
    another one."""
    spec: Mapped[dict[str, JsonValue]]
    """The registration without its document and without its credentials."""
    credential: Mapped[str] = mapped_column(Text)
    """The credential, sealed."""
    practice_credential: Mapped[str | None] = mapped_column(Text)
    """The credential of its practice copies, sealed, where it has any."""
    created: Mapped[datetime]
    refreshed: Mapped[datetime | None]
    """When its document was last looked at again."""
    look: Mapped[dict[str, JsonValue] | None]
    """What that look found: a `RefreshReport` without its connector."""


class DocumentRow(Base):
    """The document a connector was compiled from, compressed; apart, so that listings never load it."""

    __tablename__ = "documents"

    connector: Mapped[str] = mapped_column(ForeignKey("connectors.name", ondelete="CASCADE"), primary_key=True)
    origin: Mapped[str | None] = mapped_column(Text)
    """Where it came from, against which its relative server URLs are resolved."""
    content: Mapped[bytes] = mapped_column(LargeBinary)
    newer_origin: Mapped[str | None] = mapped_column(Text)
    newer_content: Mapped[bytes | None] = mapped_column(LargeBinary)
    """A newer document of which something waits for a decision."""


class OperationRow(Base):
    """What became of one operation, and the tool it became, if it did."""

    __tablename__ = "operations"

    connector: Mapped[str] = mapped_column(ForeignKey("connectors.name", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    tool_name: Mapped[str | None] = mapped_column(String(64), unique=True)
    operation: Mapped[str] = mapped_column(Text)
    """Its own name; what a tool is found by stands in columns, so that no schema is read to find it."""
    report: Mapped[dict[str, JsonValue]]
    tool: Mapped[dict[str, JsonValue] | None]
    drift: Mapped[int] = mapped_column(default=0)
    """How many of its answers departed from the document."""


class WordIndexRow(Base):
    """The index by which tools are found, as it was when it was last made."""

    __tablename__ = "word_indexes"

    identity: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Of the connectors that it was made of."""
    content: Mapped[bytes] = mapped_column(LargeBinary)
