"""What the record gives out: frozen values, and how a row becomes one."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from json import dumps, loads
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import Row

from practicum.contracts.base import JsonObject
from practicum.contracts.episodes import (
    Driver,
    Episode,
    EpisodeMode,
    EpisodeRequest,
    EpisodeResult,
    EpisodeStatus,
    Limits,
)
from practicum.contracts.messages import Message
from practicum.contracts.models import Sampling, reference
from practicum.contracts.tools import CallStatus, Observation, Tool
from practicum_gateway.store.prepared import Written
from practicum_gateway.store.record_tables import EpisodeRow

_PATTERNS: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[str, ...])
_LABELS: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """An episode about to be recorded.

    Attributes:
        id: its id.
        request: what was asked for.
        principal: on whose behalf it runs.
        model: alias of the model.
        version: what the alias names, or the version that was asked for.
        tools: the tools its patterns name.
        opening: the conversation it begins with.
        tool_budget: tokens of tool definitions in one prompt, where its tools exceed them.
        tool_profile: in which provider's form its tools are written; None for their own.
        fallbacks: the versions that may answer where its own cannot.
    """

    id: str
    request: EpisodeRequest
    principal: str
    model: str
    version: str
    tools: tuple[Tool, ...]
    opening: tuple[Message, ...]
    tool_budget: int | None = None
    tool_profile: str | None = None
    fallbacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode with what only the gateway needs to know of it.

    Attributes:
        episode: the episode as it may be shown.
        tools: the tools it is offered to its end.
        sampling: its overrides of the model's defaults.
        chats: how many chat calls were made with its keys.
        tool_budget: tokens of tool definitions in one prompt, where its tools exceed them, so that its model is offered
            the two that find and call them; None where all are written out.
        tool_profile: in which provider's form its tools are written; None for their own.
        fallbacks: the versions that may answer where its own cannot, in this order.
    """

    episode: Episode
    tools: tuple[Tool, ...]
    sampling: Sampling
    chats: int
    tool_budget: int | None = None
    tool_profile: str | None = None
    fallbacks: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """The model it began with, as the registry is asked for it."""
        return reference(self.episode.model, self.episode.version)

    def tool(self, name: str) -> Tool | None:
        """The offered tool of an exposed name, or of `connector.operation`."""
        return next((tool for tool in self.tools if name in (tool.name, tool.address)), None)


@dataclass(frozen=True, slots=True)
class Line:
    """One message of a transcript and where it belongs.

    Attributes:
        position: its place, from 0; a turn's tool messages have theirs before they are written.
        message: the message.
        step: the step it belongs to; None for the opening.
        call: for a tool message, the index of its call within the step.
        status: for a tool message, how its call ended.
        observation: what the gateway said to a call that was never sent; the ledger holds the others.
        created: when it was written.
    """

    position: int
    message: Message
    created: datetime
    step: int | None = None
    call: int | None = None
    status: CallStatus | None = None
    observation: Observation | None = None


@dataclass(frozen=True)
class Transcript:
    """The accepted conversation of an episode as far as it was written."""

    lines: tuple[Line, ...]

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The messages up to the first call that is not settled."""
        return tuple(line.message for place, line in enumerate(self.lines) if line.position == place)

    @cached_property
    def turns(self) -> tuple[Line, ...]:
        """The assistant messages of the episode's own turns, in order; the turn of step n is at n."""
        return tuple(line for line in self.lines if line.step is not None and line.call is None)

    @property
    def end(self) -> int:
        """The position after the latest turn and the room kept for its calls."""
        if not self.turns:
            return len(self.lines)
        last = self.turns[-1]
        return last.position + 1 + len(last.message.tool_calls)

    @property
    def open_calls(self) -> tuple[int, ...]:
        """The calls of the latest turn that are not settled."""
        if not self.turns:
            return ()
        last = self.turns[-1]
        settled = {line.call for line in self.lines if line.step == last.step}
        return tuple(index for index in range(len(last.message.tool_calls)) if index not in settled)


def episode_of(row: EpisodeRow | Row[Any]) -> Episode:
    """The episode a row holds."""
    return Episode(
        id=row.id,
        task=row.task,
        model=row.model,
        tools=_PATTERNS.validate_python(row.tools),
        limits=Limits.model_validate(row.limits),
        driver=Driver(row.driver),
        mode=EpisodeMode(row.mode),
        status=EpisodeStatus(row.status),
        principal=row.principal,
        created=row.created,
        ended=row.ended,
        result=None if row.result is None else EpisodeResult.model_validate(row.result),
        reward=row.reward,
        metadata=_LABELS.validate_python(row.labels),
        version=row.version,
    )


def line_of(row: Any) -> Line:
    """The transcript line a row holds, its documents as text."""
    return Line(
        position=row.position,
        message=Message.model_validate(loads(row.message)),
        created=row.created,
        step=row.step,
        call=row.call,
        status=None if row.status is None else CallStatus(row.status),
        observation=None if row.observation is None else Observation.model_validate(loads(row.observation)),
    )


def as_json(value: Message | Tool | Observation) -> JsonObject:
    """A wire value as a JSON column keeps it."""
    return value.model_dump(mode="json")


def as_text(value: Message | Observation) -> Written:
    """A wire value as a JSON column keeps it, written once however many columns it goes into."""
    return Written(dumps(as_json(value)))
