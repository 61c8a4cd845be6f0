"""Tools: what an operation of a connector looks like to a model."""

import json
from enum import StrEnum

from pydantic import ConfigDict, Field, JsonValue, field_validator

from practicum.contracts.base import JsonObject, Value


class Effect(StrEnum):
    """What a call does to the world, in rising order of care."""

    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    EXTERNAL = "external"
    MONEY = "money"


_IDEMPOTENT_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PUT", "DELETE"})
_ADDITIVE = frozenset({Effect.READ, Effect.CREATE})
_OPEN_WORLD = frozenset({Effect.EXTERNAL, Effect.MONEY})


class Tool(Value):
    """One operation of a connector, as a model sees it.

    Attributes:
        name: the exposed name, valid for every provider (`^[a-zA-Z0-9_-]{1,64}$`).
        connector: the connector it belongs to.
        operation: the operation's own name; access patterns match `connector.operation`.
        description: what it does, from the document.
        input_schema: JSON Schema 2020-12 of the arguments, an object.
        effect: what a call does to the world.
        method: HTTP method, upper case.
        path: path template of the operation.
        idempotency_header: header by which the system itself recognises a repeated call, if it has one.
        title: a short name for people, if the document gives one.
        paged: whether it answers in pages and takes `next`, the handle of a further one.
        output_schema: JSON Schema 2020-12 of what it gives, where an MCP server says it; what a document says of a
            system's answers is checked, and not repeated here.
    """

    name: str
    connector: str
    operation: str
    description: str
    input_schema: JsonObject
    effect: Effect
    method: str
    path: str
    idempotency_header: str | None = None
    title: str | None = None
    paged: bool = False
    output_schema: JsonObject | None = None

    @property
    def address(self) -> str:
        """`connector.operation`, which access rules and `--tools` patterns match."""
        return f"{self.connector}.{self.operation}"

    @property
    def annotations(self) -> JsonObject:
        """The hints of the Model Context Protocol (`ToolAnnotations`), from effect and method."""
        hints: JsonObject = {
            "readOnlyHint": self.effect is Effect.READ,
            "destructiveHint": self.effect not in _ADDITIVE,
            "idempotentHint": self.effect is Effect.READ or self.method in _IDEMPOTENT_METHODS,
            "openWorldHint": self.effect in _OPEN_WORLD,
        }
        return hints if self.title is None else {"title": self.title, **hints}


class ProfiledTool(Value):
    """A tool as one family of providers takes it.

    Attributes:
        name: exposed name of the tool.
        profile: name of the profile.
        definition: the tool's definition in the provider's own form.
        notes: what that form cannot say. The gateway checks arguments against the tool's own schema all the same.
    """

    name: str
    profile: str
    definition: JsonObject
    notes: tuple[str, ...] = ()


class CallStatus(StrEnum):
    """How a tool call ended, or that it waits."""

    OK = "ok"
    """The system answered with success."""
    ERROR = "error"
    """The system refused (4xx), or the arguments do not fit: the model can mend it."""
    DENIED = "denied"
    """An access rule or an approver said no."""
    WAITING = "waiting"
    """It waits for an approval; nothing was sent."""
    UNAVAILABLE = "unavailable"
    """The system could not be reached or failed (5xx), and surely nothing was done or the call is safe to repeat."""
    IN_DOUBT = "in_doubt"
    """An unsafe call was sent and its answer was lost: it may have taken effect and is never repeated."""

    @property
    def settled(self) -> bool:
        """Whether the call has its final outcome."""
        return self is not CallStatus.WAITING


class Artifact(Value):
    """Content that is kept beside an observation because no model reads it as it is.

    Attributes:
        id: by which it is fetched, and handed on to another call.
        media_type: what it is.
        bytes: its size.
        name: its file name, if it has one.
        complete: whether it is there to the end.
    """

    id: str
    media_type: str
    bytes: int
    name: str | None = None
    complete: bool = True


class Compensation(Value):
    """A call that undoes another, as the system's document says. It is an offer: nobody makes it but who asks for it.

    Attributes:
        tool: exposed name of the tool that undoes it.
        arguments: all of its arguments.
    """

    tool: str
    arguments: JsonObject


class Observation(Value):
    """What a model is told about a tool call.

    Attributes:
        status: how the call ended.
        content: the text the model reads, JSON wherever the system answered JSON.
        http_status: the system's HTTP status, if it answered; what an MCP server says is given the one that means the
            same.
        truncated: whether whole items were left out of `content`.
        next: handle of the next page, if there is one: the tool takes it as its argument `next`.
        warnings: where the answer departs from the system's own document.
        approval: the approval it waits for, while `status` is `waiting`.
        artifacts: content kept beside it.
        compensation: how the call can be undone, where the system's document says so.
    """

    status: CallStatus
    content: str
    http_status: int | None = None
    truncated: bool = False
    next: str | None = None
    warnings: tuple[str, ...] = ()
    approval: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    compensation: Compensation | None = None

    @field_validator("next", mode="before")
    @classmethod
    def _arguments_as_text(cls, value: object) -> object:
        """Observations recorded by 0.1.0 hold the arguments of the next page themselves."""
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


class CallRequest(Value):
    """A call of a tool outside a turn: by a person, an app, or an agent that is not ours.

    Attributes:
        arguments: the tool's arguments.
        idempotency_key: a repeated key returns the recorded outcome and does not call again.
    """

    model_config = ConfigDict(allow_inf_nan=False)  # what is no JSON is refused; else it would go out as null

    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    idempotency_key: str | None = Field(default=None, min_length=1, max_length=200)
