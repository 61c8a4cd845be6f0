"""The way back: what a model wrote in a provider's form, as the tool takes it.

A restorer stands beside each part of a schema that a profile changed. None stands for a part that was not.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from jsonschema import Draft202012Validator
from pydantic import JsonValue

from practicum.contracts.base import JsonObject

ABSENT = "(leave out)"
"""Written by a model that must give every member, for one that may be null but shall not be sent at all."""
KEY, VALUE = "key", "value"
"""The members of an entry of a map that is written as a list."""


class Restorer(Protocol):
    """Turns one value back."""

    def restore(self, value: JsonValue) -> JsonValue:
        """The value as the tool takes it; one that does not fit is left as it is."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object.

    Attributes:
        name: its own name.
        restorer: turns its value back.
        absent: the value that stands for its absence; the member is not there then.
        optional: whether `absent` means anything.
    """

    name: str
    restorer: Restorer | None = None
    absent: JsonValue = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ObjectRestorer:
    """Gives members their own names and takes out those that are not meant to be there.

    Attributes:
        members: by the key that the model sees.
        rest: the key under which further members stand as a list of entries, if there is one.
        rest_restorer: turns that list into an object.
    """

    members: Mapping[str, Member]
    rest: str | None = None
    rest_restorer: Restorer | None = None

    def restore(self, value: JsonValue) -> JsonValue:
        """The object with its own members."""
        if not isinstance(value, dict):
            return value
        out: JsonObject = {}
        for key, inner in value.items():
            member = self.members.get(key)
            if key == self.rest and self.rest_restorer is not None:
                more = self.rest_restorer.restore(inner)
                out.update(more if isinstance(more, dict) else {} if more is None else {key: more})
            elif member is None:
                out[key] = inner
            elif not (member.optional and inner == member.absent):
                out[member.name] = inner if member.restorer is None else member.restorer.restore(inner)
        return out


@dataclass(frozen=True, slots=True)
class ListRestorer:
    """Turns back each item."""

    item: Restorer

    def restore(self, value: JsonValue) -> JsonValue:
        """The list with its own items."""
        return [self.item.restore(inner) for inner in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class EntriesRestorer:
    """Makes an object of a list of keys and values."""

    value: Restorer | None = None

    def restore(self, value: JsonValue) -> JsonValue:
        """The object."""
        if not isinstance(value, list):
            return value
        out: JsonObject = {}
        for entry in value:
            if not isinstance(entry, dict) or entry.keys() != {KEY, VALUE} or not isinstance(entry[KEY], str):
                return value
            inner = entry[VALUE]
            out[str(entry[KEY])] = inner if self.value is None else self.value.restore(inner)
        return out


@dataclass(frozen=True, slots=True)
class JsonTextRestorer:
    """Reads JSON from a text; what is no JSON stays the text it is."""

    def restore(self, value: JsonValue) -> JsonValue:
        """The value that the text says."""
        if not isinstance(value, str):
            return value
        try:
            read: JsonValue = json.loads(value, parse_constant=_no_number)
        except (ValueError, RecursionError):
            return value
        return read


@dataclass(frozen=True, slots=True)
class WordRestorer:
    """Gives back the values that were shown as words."""

    values: Mapping[str, JsonValue]

    def restore(self, value: JsonValue) -> JsonValue:
        """The value behind the word."""
        return self.values.get(value, value) if isinstance(value, str) else value


@dataclass(slots=True)
class LaterRestorer:
    """The restorer of a definition, which may need itself."""

    found: Restorer | None = None

    def restore(self, value: JsonValue) -> JsonValue:
        """What the definition's restorer gives."""
        return value if self.found is None else self.found.restore(value)


@dataclass(slots=True)
class UnionRestorer:
    """Turns a value back by the first branch that it fits.

    Attributes:
        branches: schema and restorer of each branch, in the order in which they were shown.
        validator: makes the validator of a branch; the definitions are known only when all is made.
    """

    branches: tuple[tuple[JsonObject, Restorer | None], ...]
    validator: Callable[[JsonObject], Draft202012Validator]
    _validators: list[Draft202012Validator] = field(default_factory=list[Draft202012Validator])

    def restore(self, value: JsonValue) -> JsonValue:
        """What the branch that fits makes of it."""
        if not self._validators:
            self._validators = [self.validator(schema) for schema, _ in self.branches]
        for validator, (_, restorer) in zip(self._validators, self.branches, strict=True):
            if validator.is_valid(value):  # pyright: ignore[reportUnknownMemberType]
                return value if restorer is None else restorer.restore(value)
        return value


def _no_number(constant: str) -> JsonValue:
    raise ValueError(f"{constant} is no JSON")
