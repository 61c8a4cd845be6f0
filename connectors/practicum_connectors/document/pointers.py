"""JSON Pointers and the references made of them, followed lazily and never unfolded."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote

from practicum.contracts.base import JsonObject
from practicum.errors import DocumentError

Node = Mapping[str, Any]
"""A mapping somewhere in a document; it is never changed."""

_MOST_HOPS = 50
_MISSING: Any = object()


def is_node(value: object) -> bool:
    """Whether a value is a mapping."""
    return isinstance(value, dict)


def as_node(value: object) -> Node:
    """The value, if it is a mapping, and an empty one otherwise."""
    return cast("Node", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The value, if it is a list, and an empty one otherwise."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_of(value: object) -> str:
    """The value, if it is text, and nothing otherwise."""
    return value if isinstance(value, str) else ""


def reference_of(node: object) -> str | None:
    """The `$ref` of a mapping; a property that merely is named `$ref` has no text there."""
    reference = as_node(node).get("$ref")
    return reference if isinstance(reference, str) else None


class BrokenReferenceError(DocumentError):
    """A reference leads to nothing, or out of the document."""

    def __init__(self, detail: str, *, mend: str | None = None, operations: tuple[JsonObject, ...] = ()) -> None:
        """Say which one.

        Args:
            detail: which reference, and what is wrong with it.
            mend: what the reader can do about it.
            operations: RFC 6902 operations on the document after which it does no harm, if they are known.
        """
        super().__init__(detail, mend=mend)
        self.operations = operations


@dataclass(slots=True)
class Pointers:
    """Follows the references of one document.

    Attributes:
        root: the whole document.
    """

    root: Node
    _known: dict[str, Any] = field(default_factory=dict[str, Any])

    def at(self, reference: str) -> Any:
        """The value a local reference points to.

        Raises:
            DocumentError: it points outside the document, or to nothing.
        """
        if reference in self._known:
            return self._known[reference]
        if not reference.startswith("#"):
            raise BrokenReferenceError(
                f"The reference {reference!r} points outside the document.",
                mend="Register the document by its address or with the files beside it, so that what it refers to "
                "can be read, or bundle it into one file.",
            )
        if not reference.startswith("#/") and reference != "#":
            raise BrokenReferenceError(
                f"The reference {reference!r} is not a JSON Pointer, and no schema has that name.",
                mend="Write it as `#/components/...`.",
            )
        value: Any = self.root
        tokens = [unquote(token).replace("~1", "/").replace("~0", "~") for token in reference[1:].split("/")[1:]]
        for token in tokens:
            value = _step(value, token)
            if value is _MISSING:
                raise BrokenReferenceError(
                    f"The reference {reference!r} points to nothing: there is no {token!r}.",
                    mend="Add what it names to the document, or correct the reference.",
                    operations=tuple(_additions(self.root, tokens)),
                )
        self._known[reference] = value
        return value

    def follow(self, node: object) -> Node:
        """A mapping with its own reference, if it has one, followed to the end.

        Raises:
            DocumentError: the reference is broken, circular, or leads to something that is no mapping.
        """
        value, hops = node, 0
        while (reference := reference_of(value)) is not None:
            value, hops = self.at(reference), hops + 1
            if hops > _MOST_HOPS:
                raise DocumentError(f"The reference {reference!r} leads to itself.", mend="Break the circle.")
        if not is_node(value):
            raise DocumentError(f"An object is expected, not {_kind(value)}.", mend="Mend it in the document.")
        return as_node(value)


def _step(value: Any, token: str) -> Any:
    if isinstance(value, dict) and token in value:
        return cast("Node", value)[token]
    if isinstance(value, list) and token.isdecimal() and int(token) < len(cast("list[Any]", value)):
        return cast("list[Any]", value)[int(token)]
    return _MISSING


def _additions(root: Node, tokens: list[str]) -> Iterator[JsonObject]:
    """What adds a missing schema that accepts anything, with what it stands in."""
    if tokens[:-1] not in (["components", "schemas"], ["definitions"], ["$defs"]):
        return
    value: Any = root
    for depth, token in enumerate(tokens, start=1):
        value = _step(value, token)
        if value is _MISSING:
            path = "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in tokens[:depth])
            yield {"op": "add", "path": path, "value": {}}
            value = {}


def _kind(value: object) -> str:
    names: dict[type, str] = {
        type(None): "null",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "text",
        list: "a list",
    }
    return names.get(type(value), type(value).__name__)
