"""What a family draws: a task without its words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from examples.systems.company import Company
from examples.systems.store import State
from practicum.contracts.tasks import ExpectedChange, ReferenceCall


@dataclass(frozen=True)
class Brief:
    """What a family draws from.

    Attributes:
        company: draws records.
        turn: running number of the task within its family and split, for families with cases to alternate.
        order: the order that the task must be about, if any.
        service: the service that the task must be about, if any.
    """

    company: Company
    turn: int
    order: int | None = None
    service: str | None = None


@dataclass(frozen=True)
class Sketch:
    """A task without its words.

    Attributes:
        words: what fills the places of a wording.
        start: start states by system.
        calls: the reference solution.
        conclusion: its final message.
        entities: what the task is about.
        expected: every change it makes.
        answer: what the final message must contain, if the task asks for something.
    """

    words: Mapping[str, str]
    start: Mapping[str, State]
    calls: tuple[ReferenceCall, ...]
    conclusion: str
    entities: tuple[str, ...]
    expected: tuple[ExpectedChange, ...] = field(default=())
    answer: str | None = None


class Family(Protocol):
    """Draws one task of a kind."""

    def __call__(self, brief: Brief) -> Sketch:
        """Draw it; the same brief gives the same task."""
        ...


def call(tool: str, **arguments: JsonValue) -> ReferenceCall:
    """A call of a reference solution."""
    return ReferenceCall(tool=tool, arguments=arguments)


def created(place: str, /, *, mentions: Mapping[str, str | None] | None = None, **fields: JsonValue) -> ExpectedChange:
    """A new record in `system/table` with these fields, and texts that mention these words, or anything for None."""
    system, table = place.split("/")
    told = {name: (words,) if words else () for name, words in (mentions or {}).items()}
    return ExpectedChange(system=system, table=table, fields=fields, mentions=told)


def updated(place: str, /, **fields: JsonValue) -> ExpectedChange:
    """A change of the record `system/table/id`: these fields, and no others."""
    system, table, record = place.split("/")
    return ExpectedChange(system=system, table=table, record=record, fields=fields)
