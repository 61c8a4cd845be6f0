"""The arguments by which a page is asked for: in the query, among the members of a body, or inside either.

`POST /flows/filter` with `{"limit": 20, "offset": 40}` is a list as much as `GET /flows?limit=20&offset=40` is one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum_connectors.catalogue.paged import plain
from practicum_connectors.catalogue.plan import Argument, ToolPlan

_HOLDERS = frozenset({"page", "paging", "pagination", "pageinfo", "pagerequest"})
_REFERENCE = "#/$defs/"
_MOST_HOPS = 20


@dataclass(frozen=True, slots=True)
class Slot:
    """A single value in the arguments of a call.

    Attributes:
        names: what it is called on the wire, spelling evened out; with what holds it, and without.
        parameter: its wire name if it is a query parameter.
        schema: what it may be.
        path: the keys that lead to it in the arguments.
    """

    names: tuple[str, ...]
    parameter: str | None
    schema: JsonObject
    path: tuple[str, ...]

    @property
    def kinds(self) -> frozenset[str]:
        """The JSON types that it may have, as far as its schema says."""
        branches = [self.schema, *_branches(self.schema)]
        return frozenset(kind for branch in branches for kind in _types(branch))

    def value(self, arguments: JsonObject) -> JsonValue:
        """What the arguments hold there; the default where they hold nothing."""
        found: JsonValue = arguments
        for key in self.path:
            found = found.get(key) if isinstance(found, dict) else None
        return self.schema.get("default") if found is None else found

    def put(self, arguments: JsonObject, value: JsonValue) -> JsonObject:
        """The arguments with another value there."""
        return _put(arguments, self.path, self._fitting(value))

    def typed(self, text: str) -> JsonValue:
        """A text of a URL as what it stands for."""
        if "integer" in self.kinds and text.removeprefix("-").isdecimal():
            return int(text)
        if "boolean" in self.kinds and text in {"true", "false"}:
            return text == "true"
        return cast("JsonValue", text.split(",")) if "array" in self.kinds else text

    def _fitting(self, value: JsonValue) -> JsonValue:
        """A number as text where only text is taken, and the other way round."""
        kinds = self.kinds - {"null"}
        if isinstance(value, int) and not isinstance(value, bool) and kinds and kinds <= {"string"}:
            return str(value)
        return self.typed(value) if isinstance(value, str) and kinds <= {"integer"} else value


def slots_of(plan: ToolPlan) -> tuple[Slot, ...]:
    """All single values by which a page could be asked for.

    Args:
        plan: a tool.
    """
    return tuple(slot for argument in plan.arguments.values() for slot in _slots(argument, plan))


def slot_named(slots: Iterable[Slot], names: frozenset[str]) -> Slot | None:
    """The first slot with one of these names that takes a single value.

    Args:
        slots: a tool's.
        names: spelling evened out.
    """
    return next((s for s in slots if not names.isdisjoint(s.names) and not s.kinds & {"array", "object"}), None)


def _slots(argument: Argument, plan: ToolPlan) -> Iterator[Slot]:
    schema = _resolved(argument.schema, plan)
    name = plain(argument.name)
    match argument.place:
        case "query" | "member":
            parameter = argument.name if argument.place == "query" else None
            yield Slot((name,), parameter, schema, (argument.key,))
            if name in _HOLDERS:
                yield from _inside(schema, (argument.key,), name, plan)
        case "body":
            for slot in _inside(schema, (argument.key,), "", plan):
                yield slot
                if slot.names[0] in _HOLDERS:
                    yield from _inside(slot.schema, slot.path, slot.names[0], plan)
        case _:
            return


def _inside(schema: JsonObject, path: tuple[str, ...], holder: str, plan: ToolPlan) -> Iterator[Slot]:
    members = schema.get("properties")
    for key, member in (members if isinstance(members, dict) else {}).items():
        name = plain(key)
        yield Slot((name, f"{holder}{name}"), None, _resolved(member, plan), (*path, key))


def _resolved(schema: object, plan: ToolPlan) -> JsonObject:
    """A schema with its own reference followed."""
    definitions = plan.tool.input_schema.get("$defs")
    known = definitions if isinstance(definitions, dict) else {}
    for _ in range(_MOST_HOPS):
        reference = cast("JsonObject", schema).get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith(_REFERENCE):
            break
        schema = known.get(reference.removeprefix(_REFERENCE))
    return cast("JsonObject", schema) if isinstance(schema, dict) else {}


def _branches(schema: JsonObject) -> list[JsonObject]:
    """What `anyOf` and `oneOf` offer, which is how optional values are often written."""
    said = (schema.get(combinator) for combinator in ("anyOf", "oneOf"))
    return [
        branch for branches in said if isinstance(branches, list) for branch in branches if isinstance(branch, dict)
    ]


def _types(schema: JsonObject) -> list[str]:
    said: Any = schema.get("type")
    return [said] if isinstance(said, str) else cast("list[str]", said) if isinstance(said, list) else []


def _put(arguments: JsonObject, path: tuple[str, ...], value: JsonValue) -> JsonObject:
    key, *inner = path
    if inner:
        held = arguments.get(key)
        value = _put(held if isinstance(held, dict) else {}, tuple(inner), value)
    return {**arguments, key: value}
