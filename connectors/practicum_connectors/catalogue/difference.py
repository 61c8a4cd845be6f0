"""Two states of one document compared, operation by operation, as those see it who call its tools.

An operation is the same when its method and path are (whatever the variables are called), else when its name is.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import Change, ChangeKind
from practicum_connectors.catalogue.plan import Argument, ToolPlan
from practicum_connectors.catalogue.received import Received
from practicum_connectors.catalogue.schema_difference import Found, SchemaDifference
from practicum_connectors.catalogue.stated import COMPENSATION, OVERRIDES
from practicum_connectors.document.load import Document
from practicum_connectors.document.operations import VARIABLE

_MOST_PLACES = 5


@dataclass(frozen=True)
class State:
    """A document at one time and what became of it.

    Attributes:
        document: the document.
        plans: its tools, by exposed name.
        base_of: where each tool's calls go, by exposed name.
        all_waits: whether whatever changed of a known tool breaks: what is said of somebody else's tools goes into
            prompts as it is, a new optional argument no less than other words.
    """

    document: Document
    plans: Mapping[str, ToolPlan]
    base_of: Mapping[str, str] = field(default_factory=dict[str, str])
    all_waits: bool = False

    @cached_property
    def received(self) -> Received:
        """Its responses."""
        return Received(self.document)


@dataclass(frozen=True, slots=True)
class Compared:
    """One operation in two states.

    Attributes:
        older: exposed name of its tool in the older state; None where it is new.
        newer: exposed name of its tool in the newer state; None where it is gone.
        changes: what is different about it.
    """

    older: str | None
    newer: str | None
    changes: tuple[Change, ...]

    @property
    def breaking(self) -> bool:
        """Whether any of it breaks those who call the tool."""
        return any(change.breaking for change in self.changes)


def compared(before: State, after: State) -> Iterator[Compared]:
    """Each operation of either state, in the order of the older; operations that are new come last.

    Args:
        before: the state that is known.
        after: the state that is there now.
    """
    pairs = dict(_paired(before.plans, after.plans))
    for tool, plan in before.plans.items():
        other = pairs.get(tool)
        if other is None:
            found: Iterable[Found] = (Found(ChangeKind.REMOVED, "", breaking=True),)
        else:
            found = _gathered(_Pair(before, after, tool, other).differences(), all_waits=after.all_waits)
        yield Compared(tool, other, tuple(_change(plan, difference) for difference in found))
    met = set(pairs.values())
    for tool, plan in after.plans.items():
        if tool not in met:
            yield Compared(None, tool, (_change(plan, Found(ChangeKind.ADDED, "")),))


def _paired(before: Mapping[str, ToolPlan], after: Mapping[str, ToolPlan]) -> Iterator[tuple[str, str]]:
    there = {_route(plan): tool for tool, plan in after.items()}
    met = {tool: there[_route(plan)] for tool, plan in before.items() if _route(plan) in there}
    yield from met.items()
    taken = set(met.values())
    yield from ((tool, tool) for tool in before if tool not in met and tool in after and tool not in taken)


def _route(plan: ToolPlan) -> tuple[str, str]:
    return plan.operation.method, VARIABLE.sub("{}", plan.operation.path)


def _change(plan: ToolPlan, found: Found) -> Change:
    return Change(
        kind=found.kind,
        operation=plan.tool.operation,
        where=found.where,
        before=found.before,
        after=found.after,
        breaking=found.breaking,
    )


def _gathered(found: Iterable[Found], *, all_waits: bool) -> Iterator[Found]:
    """Each difference once; those of words alone as one, unless somebody has to decide about each."""
    places: dict[str, None] = {}
    for difference in dict.fromkeys(found):
        if all_waits:
            yield replace(difference, breaking=True)
        elif difference.kind is not ChangeKind.DESCRIPTION:
            yield difference
        else:
            places[difference.where] = None
    if places:
        named = [place for place in places if place]
        more = ["..."] if len(named) > _MOST_PLACES else []
        yield Found(ChangeKind.DESCRIPTION, ", ".join([*named[:_MOST_PLACES], *more]))


@dataclass(frozen=True, slots=True)
class _Pair:
    """One operation, before and after."""

    before: State
    after: State
    old_tool: str
    new_tool: str

    def differences(self) -> Iterator[Found]:
        old, new = self.before.plans[self.old_tool], self.after.plans[self.new_tool]
        for where, mine, theirs in (
            ("name", old.tool.operation, new.tool.operation),
            ("method", old.operation.method, new.operation.method),
            ("path", old.operation.path, new.operation.path),
            ("server", self.before.base_of.get(self.old_tool), self.after.base_of.get(self.new_tool)),
        ):
            if mine != theirs:
                yield Found(ChangeKind.RETYPED, where, mine, theirs, breaking=True)
        if old.tool.effect is not new.tool.effect:
            # Also where it is less: a rule that asks a person about the one lets the other pass.
            yield Found(ChangeKind.RETYPED, "effect", old.tool.effect, new.tool.effect, breaking=True)
        yield from _security(old, new)
        if _words(old) != _words(new):
            yield Found(ChangeKind.DESCRIPTION, "", old.tool.description, new.tool.description)
        yield from self._sent(old, new)
        yield from self._received(old, new)
        if self.after.all_waits:
            yield from self._said(old, new)

    def _said(self, old: ToolPlan, new: ToolPlan) -> Iterator[Found]:
        """What is said otherwise of a tool in ways that change no call."""
        for where, mine, theirs in (
            ("hints", _hints(old), _hints(new)),
            ("arguments", old.tool.input_schema, new.tool.input_schema),
            ("response", old.tool.output_schema, new.tool.output_schema),
        ):
            if mine != theirs:
                yield Found(ChangeKind.DESCRIPTION, where, json.dumps(mine), json.dumps(theirs))

    def _sent(self, old: ToolPlan, new: ToolPlan) -> Iterator[Found]:
        schemas = SchemaDifference(old.definitions.closure(old.needs), new.definitions.closure(new.needs), "sent")
        mine, theirs = _by_place(old), _by_place(new)
        for place, argument in mine.items():
            where = f"arguments.{argument.key}"
            other = theirs.get(place)
            if other is None:
                yield Found(ChangeKind.REMOVED, where, breaking=True)
                continue
            if argument.key != other.key:
                yield Found(ChangeKind.RETYPED, where, argument.key, other.key, breaking=True)
            if argument.required != other.required:
                words = ("required", "optional") if argument.required else ("optional", "required")
                kind = ChangeKind.NEW_REQUIRED if other.required else ChangeKind.NEW_OPTIONAL
                yield Found(kind, where, *words, breaking=other.required)
            yield from schemas.compare(argument.schema, other.schema, where)
        for place, argument in theirs.items():
            if place not in mine:
                kind = ChangeKind.NEW_REQUIRED if argument.required else ChangeKind.NEW_OPTIONAL
                yield Found(kind, f"arguments.{argument.key}", breaking=argument.required)
        written = (old.body and old.body.media_type, new.body and new.body.media_type)
        if None not in written and written[0] != written[1]:
            yield Found(ChangeKind.RETYPED, "body", *written)

    def _received(self, old: ToolPlan, new: ToolPlan) -> Iterator[Found]:
        mine, theirs = self.before.received.schema(old), self.after.received.schema(new)
        if mine is None or theirs is None:
            if mine is not None or theirs is not None:
                yield Found(ChangeKind.REMOVED if theirs is None else ChangeKind.NEW_OPTIONAL, "response")
            return
        definitions = (
            self.before.received.definitions.closure(mine.needs),
            self.after.received.definitions.closure(theirs.needs),
        )
        yield from SchemaDifference(*definitions, "received").compare(mine.schema, theirs.schema, "response")


def _words(plan: ToolPlan) -> tuple[str, str | None]:
    """What a tool says of itself; without words of its own it is called by its path, which is compared already."""
    tool = plan.tool
    return "" if tool.description == f"{tool.method} {tool.path}" else tool.description, tool.title


def _hints(plan: ToolPlan) -> JsonObject:
    """What the system itself says of an operation beside the document's own words."""
    said = plan.operation.extensions
    return {name: said[name] for name in said if name not in {OVERRIDES, COMPENSATION}}


def _by_place(plan: ToolPlan) -> dict[tuple[str, str], Argument]:
    """The arguments by where they go; a variable of the path by which one it is, whatever it is called."""
    variables = {name: str(number) for number, name in enumerate(VARIABLE.findall(plan.operation.path))}
    return {
        (
            argument.place,
            variables.get(argument.name, argument.name) if argument.place == "path" else argument.name,
        ): argument
        for argument in plan.arguments.values()
    }


def _security(old: ToolPlan, new: ToolPlan) -> Iterator[Found]:
    mine = None if old.security is None else {frozenset(schemes) for schemes in old.security}
    theirs = None if new.security is None else {frozenset(schemes) for schemes in new.security}
    if mine == theirs:
        return
    kept = not theirs or (mine is not None and (mine <= theirs or frozenset[str]() in theirs))
    texts = (_asks(mine), _asks(theirs))
    yield Found(ChangeKind.RETYPED, "security", *texts, breaking=not kept)


def _asks(alternatives: set[frozenset[str]] | None) -> str | None:
    if alternatives is None:
        return None
    return " or ".join(sorted(" and ".join(sorted(schemes)) or "nothing" for schemes in alternatives)) or "nothing"
