"""Tables of the record: episodes, their transcripts, model calls, events and rewards."""

from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import Float, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from practicum_gateway.store.engine import Base

_ACCEPTED = text("standing = 'accepted'")


class ToolsetRow(Base):
    """Tools as they were offered, kept once however many episodes and calls were offered the same."""

    __tablename__ = "toolsets"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    tools: Mapped[list[JsonValue]]


class EpisodeRow(Base):
    """One episode."""

    __tablename__ = "episodes"
    __table_args__ = (UniqueConstraint("principal", "idempotency_key"), Index(None, "status", "id"))

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    principal: Mapped[str] = mapped_column(String(100))
    task: Mapped[str] = mapped_column(Text)
    model: Mapped[str] = mapped_column(String(31))
    version: Mapped[str | None] = mapped_column(Text)
    """Of the model when it began; it keeps that to its end. None in episodes from before there were versions."""
    fallbacks: Mapped[list[JsonValue] | None]
    """The versions that may answer where its own cannot, as they were when it began."""
    tools: Mapped[list[JsonValue]]
    """The patterns asked for."""
    toolset: Mapped[str] = mapped_column(ForeignKey("toolsets.digest"))
    """The tools they named when the episode began; it is offered these to its end."""
    tool_budget: Mapped[int | None]
    """Tokens of definitions that these exceed, so that its model finds and calls them with two others to its end."""
    tool_profile: Mapped[str | None] = mapped_column(String(40))
    """In which provider's form tools are written for its model to its end; None for their own."""
    limits: Mapped[dict[str, JsonValue]]
    sampling: Mapped[dict[str, JsonValue]]
    driver: Mapped[str] = mapped_column(String(20))
    mode: Mapped[str] = mapped_column(String(20))
    status: Mapped[str] = mapped_column(String(20))
    idempotency_key: Mapped[str | None] = mapped_column(String(200))
    request_hash: Mapped[str] = mapped_column(String(64))
    labels: Mapped[dict[str, JsonValue]]
    created: Mapped[datetime]
    ended: Mapped[datetime | None]
    result: Mapped[dict[str, JsonValue] | None]
    reward: Mapped[float | None] = mapped_column(Float(53))
    handed_over: Mapped[bool] = mapped_column(default=False)
    """Whether a workflow was surely started for it."""
    chats: Mapped[int] = mapped_column(default=0)
    """Running number of the chat calls made with its episode keys."""
    placed: Mapped[int] = mapped_column(default=0)
    """Running number of the tool calls made with its episode keys since the latest chat call."""
    events: Mapped[int] = mapped_column(default=0)
    """Sequence of its latest event."""


class MessageRow(Base):
    """One message of an episode's accepted conversation.

    A turn's tool messages have their positions from the moment the turn is accepted, in the model's order; a hole is a
    call that is not settled.
    """

    __tablename__ = "messages"
    __table_args__ = (Index(None, "episode", "step"),)

    episode: Mapped[str] = mapped_column(ForeignKey("episodes.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    message: Mapped[dict[str, JsonValue]]
    step: Mapped[int | None]
    call: Mapped[int | None]
    status: Mapped[str | None] = mapped_column(String(20))
    """How the call ended, for a tool message."""
    observation: Mapped[dict[str, JsonValue] | None]
    """What the gateway itself answered to a call that was never sent."""
    created: Mapped[datetime]


class ModelCallRow(Base):
    """One model attempt as it was sampled."""

    __tablename__ = "model_calls"
    __table_args__ = (
        Index(
            "uq_model_calls_accepted",
            "episode",
            "step",
            unique=True,
            sqlite_where=_ACCEPTED,
            postgresql_where=_ACCEPTED,
        ),
        Index(None, "episode", "step"),
        Index(None, "episode", "fingerprint"),
    )

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    episode: Mapped[str] = mapped_column(ForeignKey("episodes.id"))
    step: Mapped[int]
    attempt: Mapped[int]
    standing: Mapped[str] = mapped_column(String(20))
    model: Mapped[str] = mapped_column(String(31))
    version: Mapped[str] = mapped_column(Text)
    toolset: Mapped[str] = mapped_column(ForeignKey("toolsets.digest"))
    """The OpenAI-style definitions sent."""
    sampling: Mapped[dict[str, JsonValue]]
    parent: Mapped[str | None] = mapped_column(String(40))
    length: Mapped[int]
    """How many messages were sent."""
    context: Mapped[list[JsonValue] | None]
    """What was sent after the parent's conversation; None where the episode's own transcript holds it."""
    messages_shared: Mapped[int | None]
    """How many leading messages are the parent's; None in rows from before this was kept: its whole conversation."""
    link: Mapped[str | None] = mapped_column(String(10))
    """By what the parent is known: tokens or messages."""
    candidates: Mapped[list[JsonValue] | None]
    """The calls it could continue equally well, where it has no parent for that."""
    disagreement: Mapped[dict[str, JsonValue] | None]
    """Where tokens and messages name different calls."""
    fingerprint: Mapped[str | None] = mapped_column(String(64))
    """Hash of the conversation with the response, by which a later call is known to continue it."""
    response: Mapped[dict[str, JsonValue] | None]
    finish_reason: Mapped[str | None] = mapped_column(Text)
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    prompt_shared: Mapped[int] = mapped_column(default=0)
    """How many leading prompt ids are the parent's prompt and completion ids."""
    prompt_ids: Mapped[bytes | None] = mapped_column(LargeBinary)
    completion_ids: Mapped[bytes | None] = mapped_column(LargeBinary)
    logprobs: Mapped[bytes | None] = mapped_column(LargeBinary)
    ids_length: Mapped[int | None]
    """How many ids prompt and completion have together."""
    ids_hash: Mapped[str | None] = mapped_column(String(64))
    """Hash of them, by which a later prompt is known to begin with them."""
    tokens_from: Mapped[str | None] = mapped_column(String(200))
    reasoning: Mapped[str | None] = mapped_column(Text)
    sent: Mapped[dict[str, JsonValue] | None]
    """How the model was asked."""
    template_hash: Mapped[str | None] = mapped_column(String(64))
    constrained: Mapped[bool]
    cached: Mapped[bool] = mapped_column(default=False)
    """Whether its answer was given before and kept: nobody was asked."""
    started: Mapped[datetime]
    seconds: Mapped[float] = mapped_column(Float(53))
    error: Mapped[str | None] = mapped_column(Text)


class EventRow(Base):
    """One thing that happened in an episode."""

    __tablename__ = "events"

    episode: Mapped[str] = mapped_column(ForeignKey("episodes.id"), primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    type: Mapped[str] = mapped_column(String(40))
    step: Mapped[int | None]
    data: Mapped[dict[str, JsonValue]]


class RewardRow(Base):
    """A verdict on an episode."""

    __tablename__ = "rewards"

    id: Mapped[int] = mapped_column(primary_key=True)
    episode: Mapped[str] = mapped_column(ForeignKey("episodes.id"), index=True)
    reward: Mapped[float | None] = mapped_column(Float(53))
    source: Mapped[str] = mapped_column(String(200))
    reason: Mapped[str | None] = mapped_column(Text)
    at: Mapped[datetime]
