"""Two schemas of the same thing compared: what of it is new, gone or otherwise, and whom that breaks.

What is sent breaks when less is accepted than before; what comes back breaks when a field that was always there is gone
or something else. Both are plain JSON Schema 2020-12, so it does not matter how the document wrote them.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ChangeKind
from practicum_connectors.catalogue.schemas import Schema
from practicum_connectors.document.pointers import Node, as_list, as_node, is_node, reference_of

Side = Literal["sent", "received"]

_PREFIX = "#/$defs/"
_WORDS = ("title", "description", "default", "examples", "deprecated")
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_EXACT = ("pattern", "multipleOf", "uniqueItems")
_BRANCHES = ("allOf", "anyOf", "oneOf", "prefixItems")
_REST = (
    *("not", "if", "then", "else", "dependentSchemas", "dependentRequired", "patternProperties", "propertyNames"),
    *("contains", "unevaluatedProperties", "unevaluatedItems"),
)
_MOST_CHARACTERS = 120
_MOST_FOUND = 100


@dataclass(frozen=True, slots=True)
class Found:
    """One difference.

    Attributes:
        kind: what changed.
        where: the place.
        before: what stood there.
        after: what stands there now.
        breaking: whether what was right may be wrong now.
    """

    kind: ChangeKind
    where: str
    before: str | None = None
    after: str | None = None
    breaking: bool = False


@dataclass(slots=True)
class SchemaDifference:
    """Compares schemas of two documents, each with its own definitions.

    Attributes:
        before: what the references of the old schemas lead to.
        after: what the references of the new ones lead to.
        side: whether the schemas describe what is sent or what comes back.
    """

    before: JsonObject
    after: JsonObject
    side: Side
    _seen: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def compare(self, old: Schema, new: Schema, where: str, *, always: bool = True) -> list[Found]:
        """All differences, those of a definition where it is first met; of more than a hundred the rest is one.

        Args:
            old: the schema as it was.
            new: the schema as it is.
            where: its place.
            always: whether the value is always there; only then does a change of what comes back break.
        """
        found: list[Found] = []
        for difference in self._compare(old, new, where, always=always):
            found.append(difference)
            if len(found) == _MOST_FOUND:  # any of those that are not told may break
                found.append(
                    Found(ChangeKind.RETYPED, where, None, f"more than {_MOST_FOUND} differences", breaking=True)
                )
                break
        return found

    def _compare(self, old: Any, new: Any, where: str, *, always: bool) -> Iterator[Found]:
        references = (reference_of(old), reference_of(new))
        if None not in references:
            pair = (str(references[0]), str(references[1]))
            if pair in self._seen:
                return
            self._seen.add(pair)
        mine, theirs = _resolved(old, self.before), _resolved(new, self.after)
        if mine is theirs:
            return
        if any(mine.get(word) != theirs.get(word) for word in _WORDS):
            yield Found(ChangeKind.DESCRIPTION, where, _words(mine), _words(theirs))
        yield from self._types(mine, theirs, where, always=always)
        yield from self._values(mine, theirs, where)
        if self.side == "sent":
            yield from _bounds(mine, theirs, where)
        yield from self._members(mine, theirs, where, always=always)
        yield from self._additional(mine, theirs, where)
        if "items" in mine or "items" in theirs:
            yield from self._compare(mine.get("items", {}), theirs.get("items", {}), f"{where}[]", always=always)
        for keyword in _BRANCHES:
            yield from self._branches(keyword, mine, theirs, where, always=always)
        for keyword in _REST:
            if mine.get(keyword) != theirs.get(keyword):
                yield self._retyped(where, mine.get(keyword), theirs.get(keyword), always=always)

    def _retyped(self, where: str, old: Any, new: Any, *, always: bool = True) -> Found:
        breaking = self.side == "sent" or always
        return Found(ChangeKind.RETYPED, where, _text(old), _text(new), breaking)

    def _types(self, mine: Node, theirs: Node, where: str, *, always: bool) -> Iterator[Found]:
        old, new = _types_of(mine), _types_of(theirs)
        if old == new:
            return
        accepted = old <= new if self.side == "sent" else new <= old
        texts = (", ".join(sorted(kinds)) if kinds != _ANY else "anything" for kinds in (old, new))
        before, after = texts
        if not accepted:
            yield Found(ChangeKind.RETYPED, where, before, after, self.side == "sent" or always)
        elif self.side == "sent":
            yield Found(ChangeKind.NEW_OPTIONAL, where, before, after)
        else:
            yield Found(ChangeKind.RETYPED, where, before, after)

    def _values(self, mine: Node, theirs: Node, where: str) -> Iterator[Found]:
        old, new = _enumerated(mine), _enumerated(theirs)
        if old == new:
            return
        before, after = (None if values is None else ", ".join(values) for values in (old, new))
        fewer = new is not None and (old is None or not set(old) <= set(new))
        more = old is not None and (new is None or not set(new) <= set(old))
        breaking = fewer and self.side == "sent"
        kind = ChangeKind.RETYPED if breaking or not more else ChangeKind.NEW_OPTIONAL
        yield Found(kind, where, _cut(before), _cut(after), breaking)

    def _members(self, mine: Node, theirs: Node, where: str, *, always: bool) -> Iterator[Found]:
        old, new = as_node(mine.get("properties")), as_node(theirs.get("properties"))
        asked_before, asked_now = set(as_list(mine.get("required"))), set(as_list(theirs.get("required")))
        for name, schema in old.items():
            place = f"{where}.{name}"
            there = always and name in asked_before
            if name not in new:
                yield Found(ChangeKind.REMOVED, place, breaking=self.side == "sent" or there)
                continue
            yield from self._compare(schema, new[name], place, always=there)
            if (name in asked_before) != (name in asked_now):
                yield self._asked(place, now=name in asked_now)
        for name in new:
            if name not in old:
                required = self.side == "sent" and name in asked_now
                kind = ChangeKind.NEW_REQUIRED if required else ChangeKind.NEW_OPTIONAL
                yield Found(kind, f"{where}.{name}", breaking=required)

    def _asked(self, where: str, *, now: bool) -> Found:
        before, after = ("optional", "required") if now else ("required", "optional")
        if self.side == "sent":
            return Found(ChangeKind.NEW_REQUIRED if now else ChangeKind.NEW_OPTIONAL, where, before, after, now)
        return Found(ChangeKind.RETYPED, where, before, after)

    def _additional(self, mine: Node, theirs: Node, where: str) -> Iterator[Found]:
        old, new = mine.get("additionalProperties", True), theirs.get("additionalProperties", True)
        if (old is False) != (new is False):
            if self.side == "sent":
                kind = ChangeKind.RETYPED if new is False else ChangeKind.NEW_OPTIONAL
                before, after = (
                    ("any field", "only known fields") if new is False else ("only known fields", "any field")
                )
                yield Found(kind, where, before, after, new is False)
        elif is_node(old) or is_node(new):
            yield from self._compare(old, new, f"{where}.*", always=False)

    def _branches(self, keyword: str, mine: Node, theirs: Node, where: str, *, always: bool) -> Iterator[Found]:
        old, new = as_list(mine.get(keyword)), as_list(theirs.get(keyword))
        if len(old) != len(new):
            more = keyword in {"anyOf", "oneOf"} and bool(old) and all(branch in new for branch in old)
            if more and self.side == "sent":
                yield Found(ChangeKind.NEW_OPTIONAL, where, f"{len(old)} forms", f"{len(new)} forms")
            else:
                yield self._retyped(where, mine.get(keyword), theirs.get(keyword), always=always)
            return
        for one, other in zip(old, new, strict=True):
            yield from self._compare(one, other, where, always=always and keyword == "allOf")


_ANY = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})


def _resolved(schema: Any, definitions: JsonObject) -> Node:
    """A schema as an object, its reference followed; what stands beside the reference counts too."""
    beside: dict[str, Any] = {}
    seen: set[str] = set()
    while (reference := reference_of(schema)) is not None and reference not in seen:
        seen.add(reference)
        beside = {**{key: value for key, value in as_node(schema).items() if key != "$ref"}, **beside}
        schema = definitions.get(reference.removeprefix(_PREFIX), {})
    if schema is False:
        return {"enum": []}
    return {**as_node(schema), **beside} if beside else as_node(schema)


def _types_of(schema: Node) -> frozenset[str]:
    given = schema.get("type")
    kinds = frozenset(kind for kind in as_list(given) or [given] if isinstance(kind, str))
    kinds = kinds or _ANY
    return kinds | {"integer"} if "number" in kinds else kinds


def _enumerated(schema: Node) -> list[str] | None:
    if "const" in schema:
        return [_text(schema["const"]) or ""]
    if not isinstance(schema.get("enum"), list):
        return None
    return [json.dumps(value, ensure_ascii=False) for value in as_list(schema["enum"])]


def _bounds(mine: Node, theirs: Node, where: str) -> Iterator[Found]:
    """Bounds of what is sent: a narrower one breaks."""
    narrower: tuple[tuple[Iterable[str], Callable[[Any, Any], bool]], ...] = (
        (_LOWER, lambda old, new: new > old),
        (_UPPER, lambda old, new: new < old),
        (_EXACT, lambda old, new: old != new),
    )
    for keywords, is_narrower in narrower:
        for keyword in keywords:
            old, new = mine.get(keyword), theirs.get(keyword)
            if old == new:
                continue
            breaking = new is not None and (old is None or is_narrower(old, new))
            kind = ChangeKind.RETYPED if breaking else ChangeKind.NEW_OPTIONAL
            yield Found(kind, where, _said(keyword, old), _said(keyword, new), breaking)
    if None not in (mine.get("format"), theirs.get("format")) and mine["format"] != theirs["format"]:
        yield Found(ChangeKind.RETYPED, where, _said("format", mine["format"]), _said("format", theirs["format"]), True)


def _words(schema: Node) -> str:
    """The words of a schema, whole: whoever decides about them has to see their end too."""
    return json.dumps({word: schema[word] for word in _WORDS if word in schema}, ensure_ascii=False)


def _said(keyword: str, value: Any) -> str | None:
    return None if value is None else f"{keyword} {value}"


def _text(value: Any) -> str | None:
    return None if value is None else _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 1]}…"
