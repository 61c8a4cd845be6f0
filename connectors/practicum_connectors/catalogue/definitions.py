"""The definitions that schemas refer to: held once for a connector, given out to whoever needs some of them."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from practicum.contracts.base import JsonObject
from practicum.errors import DocumentError
from practicum_connectors.catalogue.schemas import Schema, SchemaConverter
from practicum_connectors.document.pointers import as_list, as_node, reference_of

_PREFIX = "#/$defs/"
_MOST_NOTES = 20
_SAME_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else"})
"""Keywords whose schemas speak of the very value that the schema around them speaks of."""


class Definitions(Protocol):
    """What `#/$defs/...` in the schemas of one connector leads to."""

    def closure(self, needs: Iterable[str]) -> JsonObject:
        """Every definition that is reachable from some names, by name; its values are shared and never changed."""
        ...


@dataclass(slots=True)
class _Entry:
    """One definition and what was found out about it and all that it reaches."""

    schema: Schema
    needs: tuple[str, ...]
    notes: tuple[str, ...] = ()
    fault: DocumentError | None = None
    done: bool = False


@dataclass(slots=True)
class _Walk:
    """Where a walk stands: Tarjan's way to find the circles of a graph, in which all share one fate."""

    number: dict[str, int] = field(default_factory=dict[str, int])
    low: dict[str, int] = field(default_factory=dict[str, int])
    open: list[str] = field(default_factory=list[str])


class DefinitionTable:
    """The definitions of one document for one direction, each converted once, however many tools reach it."""

    def __init__(self, converter: SchemaConverter) -> None:
        """Hold nothing yet.

        Args:
            converter: converts definitions when they are first needed.
        """
        self._converter = converter
        self._entries: dict[str, _Entry] = {}
        self._sizes: dict[str, int] = {}

    def closure(self, needs: Iterable[str]) -> JsonObject:
        """Every definition that is reachable from some names, by name in order; shared and never changed.

        Raises:
            DocumentError: one of them cannot be used.
        """
        wanted = tuple(needs)
        _, fault = self.state(wanted)
        if fault is not None:
            raise DocumentError(fault.detail, mend=fault.mend)
        found: dict[str, Schema] = {}
        waiting = list(wanted)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self._entries[name].schema
                waiting.extend(self._entries[name].needs)
        return {name: found[name] for name in sorted(found)}

    def state(self, needs: Iterable[str]) -> tuple[tuple[str, ...], DocumentError | None]:
        """What was left out in the definitions that some names reach, and why they cannot be used at all, if so.

        Args:
            needs: names of definitions.
        """
        notes: dict[str, None] = {}
        fault: DocumentError | None = None
        for name in sorted(needs):
            if name not in self._entries or not self._entries[name].done:
                self._walk(name)
            entry = self._entries[name]
            notes.update(dict.fromkeys(entry.notes))
            fault = fault or entry.fault
        return _bounded(notes), fault

    def schema(self, name: str) -> Schema:
        """A definition of which `state` was asked."""
        return self._entries[name].schema

    def needs(self, name: str) -> tuple[str, ...]:
        """The definitions that a definition refers to directly, in order."""
        return self._entries[name].needs

    def size(self, name: str) -> int:
        """How many characters of JSON a definition takes."""
        if name not in self._sizes:
            self._sizes[name] = len(json.dumps(self._entries[name].schema, ensure_ascii=False, separators=(",", ":")))
        return self._sizes[name]

    @cached_property
    def brief(self) -> dict[str, Schema]:
        """Definitions said more briefly, by name: kept here so that all tools share them; `view` fills it."""
        return {}

    def _walk(self, start: str) -> None:
        walk = _Walk()
        path: list[tuple[str, Iterator[str]]] = []
        self._enter(start, walk, path)
        while path:
            name, needs = path[-1]
            following = next(needs, None)
            if following is None:
                path.pop()
                if path:
                    walk.low[path[-1][0]] = min(walk.low[path[-1][0]], walk.low[name])
                if walk.low[name] == walk.number[name]:
                    self._close(name, walk)
            elif following not in walk.number and not self._known(following):
                self._enter(following, walk, path)
            elif not self._known(following):
                walk.low[name] = min(walk.low[name], walk.number[following])

    def _enter(self, name: str, walk: _Walk, path: list[tuple[str, Iterator[str]]]) -> None:
        walk.number[name] = walk.low[name] = len(walk.number)
        walk.open.append(name)
        try:
            made = self._converter.definition(name)
            self._entries[name] = _Entry(made.schema, tuple(sorted(made.needs)), made.notes)
        except DocumentError as error:
            self._entries[name] = _Entry(True, (), fault=error)
        path.append((name, iter(self._entries[name].needs)))

    def _known(self, name: str) -> bool:
        return name in self._entries and self._entries[name].done

    def _close(self, name: str, walk: _Walk) -> None:
        """Give all definitions of one circle what is known of the circle and of what it reaches."""
        start = walk.open.index(name)
        circle = walk.open[start:]
        del walk.open[start:]
        notes: dict[str, None] = {}
        fault = self._self_including(circle)
        for member in circle:
            entry = self._entries[member]
            for source in (entry, *(self._entries[need] for need in entry.needs)):
                notes.update(dict.fromkeys(source.notes))
                fault = fault or source.fault
        shared = _bounded(notes)
        for member in circle:
            entry = self._entries[member]
            entry.notes, entry.fault, entry.done = shared, fault, True

    def _self_including(self, circle: list[str]) -> DocumentError | None:
        """A circle that never leaves the value it speaks of: no value can ever be checked against it."""
        known = set(circle)
        inside = {name: [need for need in _included(self._entries[name].schema) if need in known] for name in circle}
        for start in circle:
            trail = _trail(start, inside)
            if trail:
                return DocumentError(
                    f"The schema `{start}` includes itself ({' → '.join(f'`{name}`' for name in trail)}).",
                    mend="Take the reference that leads back out of its `allOf`, in the document or by an overlay.",
                )
        return None


def _included(schema: Schema) -> list[str]:
    """Names of the definitions that speak of the same value as a schema."""
    found: dict[str, None] = {}
    waiting: list[object] = [schema]
    while waiting:
        node = as_node(waiting.pop())
        reference = reference_of(node)
        if reference is not None:
            found[reference.removeprefix(_PREFIX)] = None
        for keyword, inner in node.items():
            if keyword in _SAME_PLACE:
                waiting.extend(as_list(inner) or [inner])
        waiting.extend(as_node(node.get("dependentSchemas")).values())
    return list(found)


def _trail(start: str, inside: dict[str, list[str]]) -> list[str]:
    """A way from a name back to itself, empty if there is none."""
    before: dict[str, str] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop(0)
        for following in inside[name]:
            if following == start:
                trail = [start, name]
                while trail[-1] != start:
                    trail.append(before[trail[-1]])
                return trail[::-1]
            if following not in before:
                before[following] = name
                waiting.append(following)
    return []


def _bounded(notes: Iterable[str]) -> tuple[str, ...]:
    listed = tuple(notes)
    return listed if len(listed) <= _MOST_NOTES else (*listed[: _MOST_NOTES - 1], "More of its schemas lose something.")
