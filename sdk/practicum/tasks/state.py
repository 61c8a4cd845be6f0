"""States of systems, and what changed between two of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from pydantic import JsonValue, TypeAdapter, ValidationError

from practicum.contracts.base import JsonObject
from practicum.contracts.tasks import States
from practicum.errors import ConfigurationError

_Table: TypeAlias = dict[str, JsonObject]

_STATES: TypeAdapter[States] = TypeAdapter(States)


class ChangeKind(StrEnum):
    """What happened to a record."""

    CREATED = "created"
    UPDATED = "updated"
    REMOVED = "removed"


@dataclass(frozen=True)
class RecordChange:
    """One record that differs between two states.

    Attributes:
        system: the system it lies in.
        table: the kind of record.
        record: its id.
        kind: what happened to it.
        fields: values after the change: all of a new record, the changed ones of another (None where a field is gone).
    """

    system: str
    table: str
    record: str
    kind: ChangeKind
    fields: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])

    @property
    def where(self) -> str:
        """`system/table/id`, for people."""
        return f"{self.system}/{self.table}/{self.record}"


def states_of(value: object) -> States:
    """Check that a value is a set of states: system -> table -> record id -> record.

    Raises:
        ConfigurationError: it is not.
    """
    try:
        return _STATES.validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = "/".join(str(part) for part in first["loc"])
        raise ConfigurationError(
            f"Not a state: {where or 'value'}: {first['msg']}",
            mend='A state is {"system": {"table": {"id": {"field": value}}}}.',
        ) from error


def changes(before: States, after: States) -> tuple[RecordChange, ...]:
    """Every record that differs, in a fixed order."""
    found: list[RecordChange] = []
    for system in sorted({*before, *after}):
        old, new = before.get(system, {}), after.get(system, {})
        for table in sorted({*old, *new}):
            found.extend(_table_changes(system, table, old.get(table, {}), new.get(table, {})))
    return tuple(found)


def _table_changes(system: str, table: str, old: _Table, new: _Table) -> Iterator[RecordChange]:
    for record in sorted({*old, *new}):
        if record not in new:
            yield RecordChange(system, table, record, ChangeKind.REMOVED)
        elif record not in old:
            yield RecordChange(system, table, record, ChangeKind.CREATED, new[record])
        elif old[record] != new[record]:
            names = {*old[record], *new[record]}
            fields = {name: new[record].get(name) for name in names if old[record].get(name) != new[record].get(name)}
            yield RecordChange(system, table, record, ChangeKind.UPDATED, fields)
