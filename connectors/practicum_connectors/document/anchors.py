"""References by name (`#Thing`, `$id`, `$defs` close by) written as JSON Pointers, so that nothing else knows of them.

JSON Schema lets a reference mean an anchor, a schema that calls itself by `$id`, or something within the schema around
it. All of these become `#/...` from the root of the document.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from practicum_connectors.document.pointers import Node, as_list, as_node, is_node, text_of
from practicum_connectors.document.structure import Kind, Tokens, changed, held, pointer

_NAMED = re.compile(rb'"\$(?:id|anchor|dynamicRef|recursiveRef)":|"\$ref":"(?!#/(?!\$defs/|definitions/))')
_LOCAL = ("#/$defs/", "#/definitions/")
_MISSING: Any = object()


@dataclass(slots=True)
class _Index:
    """What the schemas of a document call themselves."""

    resources: dict[str, Tokens] = field(default_factory=dict[str, Tokens])
    anchors: dict[tuple[str, str], Tokens] = field(default_factory=dict[tuple[str, str], Tokens])
    dynamic: dict[str, list[Tokens]] = field(default_factory=dict[str, list[Tokens]])


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where a schema stands.

    Attributes:
        base: the address that holds there.
        around: the schemas around it and itself, from outside.
    """

    base: str
    around: tuple[Tokens, ...] = ()


def needs_pointers(canonical: bytes) -> bool:
    """Whether a document, as compact JSON, may hold references by name."""
    return _NAMED.search(canonical) is not None


def with_pointers(root: Node, base: str = "") -> Node:
    """A document whose references by name are JSON Pointers; those that lead nowhere stay as they are.

    Args:
        root: the document; it stays as it is.
        base: its address.
    """
    return _Pointing(root, base).rewritten("root", root, (), _Scope(base))


class _Pointing:
    """One document on its way."""

    def __init__(self, root: Node, base: str) -> None:
        self._root = root
        self._base = base
        self._index = _Index()
        for node, place, scope in _schemas(root, base):
            if place == scope.around[-1] and text_of(node.get("$id")):
                self._index.resources.setdefault(urldefrag(scope.base).url, place)
            for keyword in ("$anchor", "$dynamicAnchor"):
                if name := text_of(node.get(keyword)):
                    self._index.anchors.setdefault((urldefrag(scope.base).url, name), place)
            if name := text_of(node.get("$dynamicAnchor")):
                self._index.dynamic.setdefault(name, []).append(place)

    def rewritten(self, kind: Kind, value: Any, place: Tokens, scope: _Scope) -> Any:
        if not is_node(value):
            return value
        node = as_node(value)
        if kind == "schema":
            scope = _within(scope, node, place)
        out = changed(kind, node, lambda inner, item, on: self.rewritten(inner, item, (*place, *on), scope))
        if isinstance(reference := node.get("$ref"), str):
            out["$ref"] = self._meant(reference, scope, schema=kind == "schema")
        elif kind == "schema":
            self._dynamic(node, out, scope)
        return out

    def _dynamic(self, node: Node, out: dict[str, Any], scope: _Scope) -> None:
        """A dynamic reference, where only one schema can be meant."""
        reference = text_of(node.get("$dynamicRef"))
        if reference:
            places = self._index.dynamic.get(reference.removeprefix("#"), [])
            meant = pointer(places[0]) if len(places) == 1 else self._meant(reference, scope, schema=True)
            if meant.startswith("#/") and len(places) <= 1:
                out["$ref"] = meant
                del out["$dynamicRef"]
        elif node.get("$recursiveRef") == "#":
            out["$ref"] = self._meant("#", scope, schema=True)
            del out["$recursiveRef"]

    def _meant(self, reference: str, scope: _Scope, *, schema: bool) -> str:
        if schema and reference.startswith(_LOCAL):
            return self._close_by(reference, scope)
        if reference.startswith("#/") and not (schema and scope.base != self._base):
            return reference
        try:
            address, fragment = urldefrag(urljoin(scope.base, reference) if reference != "#" else scope.base)
        except ValueError:
            return reference
        own = address == urldefrag(self._base).url and not reference.startswith("#")
        if own and fragment.startswith("/") and _at(self._root, _tokens(fragment)) is not _MISSING:
            return f"#{fragment}"  # the document by its own address
        resource = self._resource(address, scope)
        found = None if resource is None else self._place(address, resource, fragment)
        return reference if found is None else pointer(found)

    def _place(self, address: str, resource: Tokens, fragment: str) -> Tokens | None:
        """Where a fragment of a resource stands; None if there is no such thing."""
        if not fragment:
            return resource
        if fragment.startswith("/"):
            inner = _tokens(fragment)
            return None if _at(_at(self._root, resource), inner) is _MISSING else (*resource, *inner)
        found = self._index.anchors.get((address, unquote(fragment)))
        if found is None:
            named = {place for (_, name), place in self._index.anchors.items() if name == unquote(fragment)}
            found = named.pop() if len(named) == 1 else None
        return found

    def _resource(self, address: str, scope: _Scope) -> Tokens | None:
        """The schema that an address means; for the document itself, the outermost schema around the reference."""
        if address in self._index.resources:
            return self._index.resources[address]
        if address == urldefrag(self._base).url and scope.around:
            return scope.around[0]
        return None

    def _close_by(self, reference: str, scope: _Scope) -> str:
        """`#/$defs/X` looked up in the schemas around it, the nearest first, and then in the document."""
        inner = _tokens(reference[1:])
        for place in reversed(scope.around):
            if _at(_at(self._root, place), inner) is not _MISSING:
                return pointer((*place, *inner))
        return reference


def _schemas(root: Node, base: str) -> Iterator[tuple[Node, Tokens, _Scope]]:
    """Each schema with where it stands."""
    waiting: list[tuple[Kind, Any, Tokens, _Scope]] = [("root", root, (), _Scope(base))]
    while waiting:
        kind, value, place, scope = waiting.pop()
        if not is_node(value):
            continue
        node = as_node(value)
        if kind == "schema":
            scope = _within(scope, node, place)
            yield node, place, scope
        waiting.extend((inner, item, (*place, *on), scope) for inner, item, on in held(kind, node))


def _within(scope: _Scope, node: Node, place: Tokens) -> _Scope:
    named = text_of(node.get("$id"))
    try:
        return _Scope(urljoin(scope.base, named) if named else scope.base, (*scope.around, place))
    except ValueError:
        return _Scope(scope.base, (*scope.around, place))


def _tokens(text: str) -> Tokens:
    return tuple(unquote(token).replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])


def _at(value: Any, tokens: Tokens) -> Any:
    for token in tokens:
        if is_node(value) and token in value:
            value = value[token]
        elif token.isdecimal() and int(token) < len(items := as_list(value)):
            value = items[int(token)]
        else:
            return _MISSING
    return value
