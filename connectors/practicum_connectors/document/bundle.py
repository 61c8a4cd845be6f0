"""Other documents' parts taken into a document, so that it stands on its own.

Each part is taken once, whoever refers to it, and named by what it is called where it came from; parts that lead to
each other, in circles too, stay references. What cannot be read stays a reference to the outside, so that only the
operations that need it are refused.
"""

import asyncio
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import unquote, urljoin, urlsplit

from practicum.errors import DocumentError
from practicum_connectors.document.parse import parse
from practicum_connectors.document.pointers import Node, Pointers, as_node, is_node, reference_of, text_of
from practicum_connectors.document.sources import DocumentSource, absolute, may_lead, references_in
from practicum_connectors.document.structure import Kind, Tokens, changed, held, pointer

MAX_DOCUMENTS = 200
"""Other documents that one document may draw in."""

MAX_STEPS = 20
"""Documents that lead to each other in a row."""

MAX_TOTAL_BYTES = 64 * 1024 * 1024
"""All other documents together."""

MAX_VALUES = 2_000_000
"""Values in all parts that are drawn in; parts within parts count as often as they are referred to."""

_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_SECTIONS: dict[Kind, str] = {
    "schema": "schemas",
    "response": "responses",
    "parameter": "parameters",
    "header": "headers",
    "example": "examples",
    "request_body": "requestBodies",
    "security_scheme": "securitySchemes",
    "link": "links",
    "callback": "callbacks",
    "path_item": "pathItems",
    "media_type": "mediaTypes",
}
_SWAGGER_SECTIONS: dict[Kind, str] = {
    "schema": "definitions",
    "response": "responses",
    "parameter": "parameters",
    "path_item": "x-path-items",
}
_MOST_NOTES = 20


@dataclass(frozen=True, slots=True)
class _Target:
    """A part of another document, and as what it is used."""

    address: str
    fragment: str
    kind: Kind


async def bundled(
    root: Node, base: str, read: DocumentSource | None, given: Mapping[str, Any]
) -> tuple[Node, tuple[str, ...]]:
    """A document with everything that it refers to elsewhere, and what could not be had.

    Args:
        root: the document; it stays as it is.
        base: its address.
        read: reads other documents; None if none can be read.
        given: documents at hand, by address.

    Raises:
        DocumentError: what it draws in unfolds too far.
    """
    known = dict(given)
    faults: dict[str, str] = {}
    total = 0

    async def fetched(address: str) -> None:
        nonlocal total
        try:
            data = await _read(read, address, MAX_TOTAL_BYTES - total)
            total += len(data)
            known[address] = await asyncio.to_thread(parse, data)
        except DocumentError as error:
            faults[address] = error.detail

    for reference in _spread_references(root):
        address = _address(reference, base)
        if address is not None and address not in known and address not in faults:
            await fetched(address)
    bundle = _Bundle(_spread(root, base, known), base, known)
    while addresses := await asyncio.to_thread(bundle.needed):
        for address in addresses:
            await fetched(address)
            if address in faults:
                bundle.fail(address, faults[address])
            else:
                bundle.take(address, known[address])
    return await asyncio.to_thread(bundle.result)


def _maps(root: Node) -> Iterator[Tokens]:
    """Where a document keeps objects by name, and may refer to another document for all of them at once."""
    yield from ((key,) for key in ("paths", "webhooks", "definitions", "parameters", "responses"))
    yield from (("components", key) for key in as_node(root.get("components")))


def _spread_references(root: Node) -> list[str]:
    found = (
        as_node(as_node(root.get(place[0])).get(place[1])) if place[1:] else root.get(place[0]) for place in _maps(root)
    )
    return [text for value in found if (text := reference_of(value)) is not None and not text.startswith("#")]


def _address(reference: str, base: str) -> str | None:
    try:
        address, _ = absolute(reference, base)
    except ValueError:
        return None
    return address if may_lead(base, address) and address != base else None


def _spread(root: Node, base: str, known: Mapping[str, Any]) -> Node:
    """The document with a reference for each object where it has one for all of a kind (`paths: {$ref: ...}`)."""
    out = dict(root)
    for place in _maps(root):
        holder = out if not place[1:] else dict(as_node(out[place[0]]))
        reference = reference_of(holder.get(place[-1]))
        address = None if reference is None or reference.startswith("#") else _address(reference, base)
        if reference is None or address is None or address not in known:
            continue
        fragment = absolute(reference, base)[1]
        try:
            names = as_node(Pointers(as_node(known[address])).at(f"#{fragment}"))
        except DocumentError:
            continue
        holder[place[-1]] = {name: {"$ref": f"{address}{pointer((*_keys(fragment), name))}"} for name in names}
        if place[1:]:
            out[place[0]] = holder
    return out


def _keys(fragment: str) -> Tokens:
    return tuple(unquote(key).replace("~1", "/").replace("~0", "~") for key in fragment.split("/")[1:])


async def _read(read: DocumentSource | None, address: str, left: int) -> bytes:
    if read is None:
        raise DocumentError("it was not handed over with the document.")
    data = await read(address)
    if len(data) > left:
        raise DocumentError(f"all documents together are larger than {MAX_TOTAL_BYTES} bytes.")
    return data


class _Bundle:
    """Finds out what is needed, step by step as documents arrive, and puts it together at the end."""

    def __init__(self, root: Node, base: str, given: Mapping[str, Any]) -> None:
        self._root = root
        self._base = base
        self._documents: dict[str, Any] = {**given, base: root}
        self._pointers: dict[str, Pointers] = {}
        self._steps = {base: 0}
        self._faults: dict[str, str] = {}
        self._values: dict[_Target, Any] = {}
        self._waiting: list[_Target] = []
        self._names: dict[_Target, str] = {}
        self._taken: dict[str, set[str]] = {}
        self._fetched = 0
        self._own = frozenset(_identifiers(root, base))
        self._sections = _SECTIONS if "openapi" in root else _SWAGGER_SECTIONS
        self._discover("root", root, base)

    def needed(self) -> list[str]:
        """Addresses of documents that are needed next; empty when all is there."""
        while True:
            here = [target for target in self._waiting if target.address in self._documents]
            self._waiting = [target for target in self._waiting if self._is_open(target)]
            if not here:
                return list(dict.fromkeys(target.address for target in self._waiting))
            for target in here:
                self._enter(target)

    def take(self, address: str, value: object) -> None:
        """A document has been read."""
        self._documents[address] = value

    def fail(self, address: str, reason: str) -> None:
        """A document cannot be had."""
        self._faults[address] = reason

    def _is_open(self, target: _Target) -> bool:
        return target.address not in self._documents and target.address not in self._faults

    def _discover(self, kind: Kind, value: Any, address: str) -> None:
        """Note everything that a part refers to."""
        waiting: list[tuple[Kind, Any]] = [(kind, value)]
        while waiting:
            inner, found = waiting.pop()
            if not is_node(found):
                continue
            node = as_node(found)
            for reference in references_in(inner, node):
                self._refer(reference, inner, address)
            waiting.extend((held_kind, item) for held_kind, item, _ in held(inner, node))

    def _refer(self, reference: str, kind: Kind, address: str) -> None:
        target = self._target(reference, kind, address)
        if target is None or target in self._values or target in self._waiting or target.address in self._faults:
            return
        if not may_lead(address, target.address):
            self._faults[target.address] = "a document from the web cannot refer to it."
        elif target.address not in self._steps:
            self._steps[target.address] = self._steps[address] + 1
            if target.address not in self._documents:
                self._fetched += 1
            if self._fetched > MAX_DOCUMENTS:
                self._faults[target.address] = f"more than {MAX_DOCUMENTS} documents would be drawn in."
            elif self._steps[target.address] > MAX_STEPS:
                self._faults[target.address] = f"more than {MAX_STEPS} documents lead to each other in a row."
        if target.address not in self._faults:
            self._waiting.append(target)

    def _target(self, reference: str, kind: Kind, address: str) -> _Target | None:
        """What a reference leads to; None if it stays within the document itself."""
        try:
            there, fragment = absolute(reference, address)
        except ValueError:
            return None
        if there == self._base or there in self._own or kind not in self._sections:
            return None
        return _Target(there, fragment, kind)

    def _enter(self, target: _Target) -> None:
        if target in self._values:
            return
        try:
            value = self._at(target)
        except DocumentError as error:
            self._faults.setdefault(f"{target.address}#{target.fragment}", error.detail)
            return
        self._values[target] = value
        self._discover(target.kind, value, target.address)

    def _at(self, target: _Target) -> Any:
        document = self._documents[target.address]
        value: Any = document
        if target.fragment.startswith("/"):
            pointers = self._pointers.setdefault(target.address, Pointers(as_node(document)))
            value = pointers.at(f"#{target.fragment}")
        elif target.fragment:
            value = next(_anchored(document, unquote(target.fragment)), None)
        if not is_node(value) and not (target.kind == "schema" and isinstance(value, bool)):
            raise DocumentError("there is no object at that place.")
        return value

    def result(self) -> tuple[Node, tuple[str, ...]]:
        """The document with all parts in it."""
        if not self._values and not self._faults:
            return self._root, ()
        self._count()
        places = {target: self._place(target) for target in self._values}
        self._names = {target: pointer(place) for target, place in places.items()}
        out = self._rewritten("root", self._root, self._base)
        fresh: set[Tokens] = set()
        for target, place in places.items():
            section = out
            for depth, token in enumerate(place[:-1], start=1):
                if place[:depth] not in fresh:
                    section[token] = dict(as_node(section.get(token)))
                    fresh.add(place[:depth])
                section = section[token]
            section[place[-1]] = self._rewritten(target.kind, self._values[target], target.address)
        notes = [f"{self._shown(address)} cannot be used: {reason}" for address, reason in self._faults.items()]
        more = len(notes) - _MOST_NOTES
        return out, (*notes[:_MOST_NOTES], *([f"{more} more references cannot be used."] if more > 0 else []))

    def _shown(self, address: str) -> str:
        """An address as a reader knows it: relative to the document, and without a query, which may hold a key."""
        whole, mark, fragment = address.partition("#")
        folder = self._base[: self._base.rindex("/") + 1] if "/" in self._base else ""
        return f"{whole.partition('?')[0].removeprefix(folder)}{mark}{fragment}"

    def _count(self) -> None:
        nodes = 0
        for value in self._values.values():
            for _ in _values_in(value):
                nodes += 1
                if nodes > MAX_VALUES:
                    raise DocumentError(
                        f"What the document refers to unfolds to more than {MAX_VALUES} values.",
                        mend="Refer to smaller parts of other documents.",
                    )

    def _place(self, target: _Target) -> Tokens:
        section = self._sections[target.kind]
        above = () if self._sections is _SWAGGER_SECTIONS else ("components",)
        there = as_node((as_node(self._root.get("components")) if above else self._root).get(section))
        last = unquote(target.fragment.rsplit("/", 1)[-1]).replace("~1", "/").replace("~0", "~")
        stem = unquote(urlsplit(target.address).path).rsplit("/", 1)[-1].partition(".")[0]
        name = _NOT_IN_NAME.sub("_", last or stem) or "part"
        taken = self._taken.setdefault(section, set(there))
        if name in taken:
            mark = hashlib.sha256(f"{target.address}#{target.fragment}".encode()).hexdigest()[:8]
            name = f"{name}_{mark}"
        taken.add(name)
        return (*above, section, name)

    def _rewritten(self, kind: Kind, value: Any, address: str) -> Any:
        if not is_node(value):
            return value
        out = changed(kind, as_node(value), lambda inner, item, _: self._rewritten(inner, item, address))
        if isinstance(reference := out.get("$ref"), str) and (kind != "schema" or isinstance(value["$ref"], str)):
            out["$ref"] = self._moved(reference, kind, address)
        discriminator: Node = as_node(out.get("discriminator") if kind == "schema" else None)
        mapping = as_node(discriminator.get("mapping"))
        if mapping:
            led = set(references_in("schema", {"discriminator": {"mapping": mapping}}))
            moved = {tag: self._moved(text, kind, address) if text in led else text for tag, text in mapping.items()}
            out["discriminator"] = {**discriminator, "mapping": moved}
        return out

    def _moved(self, reference: str, kind: Kind, address: str) -> str:
        target = self._target(reference, kind, address)
        if target is None:
            there, fragment = absolute(reference, address)
            return f"#{fragment}" if there == self._base else reference
        return self._names.get(target) or self._shown(f"{target.address}#{target.fragment}")


def _identifiers(root: Node, base: str) -> Iterator[str]:
    """What schemas of the document call themselves by `$id`: references to these lead nowhere else."""
    waiting: list[tuple[Kind, Any]] = [("root", root)]
    while waiting:
        kind, value = waiting.pop()
        if is_node(value):
            named = text_of(as_node(value).get("$id")) if kind == "schema" else ""
            if named:
                yield urljoin(base, named).partition("#")[0]
            waiting.extend((inner, item) for inner, item, _ in held(kind, as_node(value)))


def _anchored(value: object, name: str) -> Iterator[Any]:
    return (
        item
        for item in _values_in(value)
        if is_node(item) and name in (item.get("$anchor"), item.get("$dynamicAnchor"))
    )


def _values_in(value: object) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        yield found
        if isinstance(found, dict):
            waiting.extend(cast("Node", found).values())
        elif isinstance(found, list):
            waiting.extend(cast("list[Any]", found))
