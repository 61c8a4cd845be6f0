"""One operation as a tool, with everything that is needed to turn its arguments back into a request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Tool
from practicum_connectors.catalogue.schemas import Schema
from practicum_connectors.document.operations import Location, Operation, Parameter

Place = Location | Literal["member", "body"]
"""Where an argument goes: a parameter's location, one property of the body, or the whole body."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a tool and where it goes.

    Attributes:
        key: its key in the tool's arguments.
        name: its name on the wire.
        place: where it goes.
        schema: what it may be.
        required: whether the tool asks for it.
        parameter: the parameter behind it, unless it belongs to the body.
        default: sent when the argument is absent although the system asks for it.
    """

    key: str
    name: str
    place: Place
    schema: Schema
    required: bool
    parameter: Parameter | None = None
    default: JsonValue = None


@dataclass(frozen=True, slots=True)
class BodyPlan:
    """How the body is made.

    Attributes:
        media_type: sent as its content type.
        schema: what the body as a whole may be.
        required: whether a request without it is invalid.
        flat: whether its properties stand among the arguments.
    """

    media_type: str
    schema: Schema
    required: bool
    flat: bool


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """A tool and the way back from its arguments to the wire.

    Attributes:
        tool: what the model sees.
        operation: what it is made of.
        arguments: by key, in the order of the tool's schema.
        body: how the body is made, None without one.
        definitions: what the schemas refer to, shared with other plans; never changed.
        idempotency: the header parameter that carries the idempotency key; not among the arguments.
        notes: what was lost on the way.
    """

    tool: Tool
    operation: Operation
    arguments: Mapping[str, Argument]
    body: BodyPlan | None
    definitions: JsonObject = field(repr=False)
    idempotency: Parameter | None = None
    notes: tuple[str, ...] = ()

    def key_of(self, place: Place, name: str) -> str | None:
        """The key of the argument that goes to a place under a wire name."""
        return next((a.key for a in self.arguments.values() if a.place == place and a.name == name), None)
