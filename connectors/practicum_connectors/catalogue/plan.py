"""One operation as a tool, with everything that is needed to turn its arguments back into a request."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from practicum.contracts.tools import Tool
from practicum_connectors.catalogue.definitions import Definitions
from practicum_connectors.catalogue.schemas import Schema
from practicum_connectors.document.operations import Location, Operation, Parameter

Place = Location | Literal["member", "body"]
"""Where an argument goes: a parameter's location, one property of the body, or the whole body."""

BodyKind = Literal["json", "form", "multipart", "text", "binary", "xml"]
"""How a body is written."""

Security = tuple[tuple[str, ...], ...]
"""Alternatives, each the names of security schemes that are asked for together; an empty one asks for nothing."""


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
class Encoding:
    """How one property of a form or multipart body is written, as the document's `encoding` says.

    Attributes:
        content_type: its media type, None for the default of its schema.
        style: its serialisation style, None where the document gives none.
        explode: whether items and properties are written apart.
        allow_reserved: whether reserved characters stay as they are.
        headers: fixed headers of its part.
    """

    content_type: str | None
    style: str | None
    explode: bool
    allow_reserved: bool
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BodyPlan:
    """How the body is made.

    Attributes:
        media_type: sent as its content type.
        kind: how it is written.
        schema: what the body as a whole may be.
        required: whether a request without it is invalid.
        flat: whether its properties stand among the arguments.
        encoding: how its properties are written, by name; those that are not there follow the default.
        raw: its schema as it stands in the document, which alone holds names and places in XML.
    """

    media_type: str
    kind: BodyKind
    schema: Schema
    required: bool
    flat: bool
    encoding: Mapping[str, Encoding]
    raw: object = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """A tool and the way back from its arguments to the wire.

    Attributes:
        tool: what the model sees.
        operation: what it is made of.
        arguments: by key, in the order of the tool's schema.
        body: how the body is made, None without one.
        definitions: what the schemas refer to, shared with other plans.
        needs: the definitions that its schemas refer to directly, those of the body as a whole included.
        idempotency: the header parameter that carries the idempotency key; not among the arguments.
        notes: what was lost on the way.
        security: which security schemes it asks for, None where the document says nothing.
    """

    tool: Tool
    operation: Operation
    arguments: Mapping[str, Argument]
    body: BodyPlan | None
    definitions: Definitions = field(repr=False)
    needs: frozenset[str]
    idempotency: Parameter | None = None
    notes: tuple[str, ...] = ()
    security: Security | None = None

    def key_of(self, place: Place, name: str) -> str | None:
        """The key of the argument that goes to a place under a wire name."""
        return next((a.key for a in self.arguments.values() if a.place == place and a.name == name), None)
