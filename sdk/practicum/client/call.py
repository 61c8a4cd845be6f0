"""One request to the gateway as a value: built and parsed without a network, sent by either client."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from practicum.contracts.base import Value
from practicum.contracts.problems import FieldProblem
from practicum.errors import RequestError

T = TypeVar("T")
V = TypeVar("V", bound=Value)

Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request and how its answer is read.

    Attributes:
        method: HTTP method.
        path: path under the gateway's URL, already quoted.
        parse: reads the body of a successful answer; raises pydantic's `ValidationError` where it cannot.
        body: what is sent as JSON.
        query: query parameters.
        if_lost: what the caller can do when the request was sent and its answer lost; None when repeating it is
            harmless.
    """

    method: str
    path: str
    parse: Callable[[bytes], T]
    body: Value | None = field(default=None, repr=False)
    query: Query = ()
    if_lost: str | None = None


def path(template: str, *parts: str) -> str:
    """A path whose `{}` are filled with quoted parts."""
    return template.format(*(quote(part, safe="") for part in parts))


def query(**parameters: str | int | None) -> Query:
    """The query parameters that are set."""
    return tuple((name, str(value)) for name, value in parameters.items() if value is not None)


def labels(metadata: Mapping[str, str] | None) -> Query:
    """Metadata that must match, as the gateway takes it: `metadata=suite:orders`, repeated."""
    return tuple(("metadata", f"{name}:{value}") for name, value in (metadata or {}).items())


def patterns(tools: str | Iterable[str]) -> tuple[str, ...]:
    """Tool patterns; a lone text is one pattern, not its letters."""
    return (tools,) if isinstance(tools, str) else tuple(tools)


@cache
def _adapter(form: Any) -> TypeAdapter[Any]:
    return TypeAdapter(form)


def read(form: type[T]) -> Callable[[bytes], T]:
    """Reads a value, or with `read(list[...])` an array of them."""
    # The adapter is made at the first answer: a client that never asks for a noun does not pay for its schema.
    return lambda raw: _adapter(form).validate_json(raw)


def content(raw: bytes) -> bytes:
    """Reads an answer that is no JSON but what was asked for itself."""
    return raw


def nothing(raw: bytes) -> None:
    """Reads an answer that says nothing."""
    del raw


def faults_of(error: ValidationError) -> tuple[FieldProblem, ...]:
    """What a validation found wrong, without the values that it found wrong: they may be secrets."""
    return tuple(
        FieldProblem(where=".".join(str(part) for part in fault["loc"]) or "(whole)", what=fault["msg"])
        for fault in error.errors(include_url=False, include_context=False, include_input=False)
    )


def build(model: type[V], what: str, /, **fields: object) -> V:
    """A request value from what a caller gave.

    Args:
        model: the value's class.
        what: what is being asked for, in words.
        fields: its fields.

    Raises:
        RequestError: a field does not fit.
    """
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise RequestError(f"The {what} does not fit.", errors=faults_of(error)) from None
