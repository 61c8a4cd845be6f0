"""JSON Patch (RFC 6902) on a parsed document. What is patched is copied along the way; the original stays as it is."""

import re
from collections.abc import Sequence
from typing import Any, cast

from practicum.errors import DocumentError
from practicum_connectors.document.pointers import Node, as_node, is_node

_NUMBER = re.compile("0|[1-9][0-9]{0,9}")
_END = "-"
_VALUED = frozenset({"add", "replace", "test"})
_MOVING = frozenset({"move", "copy"})
_MEND = "Correct the overlay, or leave the operation out of it."

Tokens = tuple[str, ...]


class _FaultError(Exception):
    """Why one operation cannot be done; its text is shown with the operation's number."""


def apply_patch(root: Node, operations: Sequence[object]) -> Node:
    """A document with all operations done, in their order.

    Args:
        root: the document.
        operations: RFC 6902 operations.

    Raises:
        DocumentError: an operation is not well formed or does not fit the document; it names which one.
    """
    value: Any = root
    for number, operation in enumerate(operations, start=1):
        try:
            value = _applied(value, operation)
        except _FaultError as fault:
            named = _named(operation)
            raise DocumentError(f"Operation {number} of the overlay{named} fails: {fault}", mend=_MEND) from None
    if not is_node(value):
        raise DocumentError("The overlay leaves no document.", mend=_MEND)
    return as_node(value)


def tokens_of(text: str) -> Tokens:
    """The keys of a JSON Pointer.

    Raises:
        ValueError: it is none.
    """
    if text and not text.startswith("/"):
        raise ValueError
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:])


def _named(operation: object) -> str:
    node = as_node(operation)
    return f" (`{node['op']} {node['path']}`)" if {"op", "path"} <= node.keys() else ""


def _applied(root: Any, operation: object) -> Any:
    node = as_node(operation)
    kind, path = node.get("op"), _tokens(node, "path")
    if kind in _VALUED and "value" not in node:
        raise _FaultError("it has no `value`.")
    if kind == "test":
        if not _same(_at(root, path), node["value"]):
            raise _FaultError("the document holds another value there.")
        return root
    if kind == "add":
        return _put(root, path, node["value"], replace=False)
    if kind == "replace":
        return _put(root, path, node["value"], replace=True)
    if kind == "remove":
        return _removed(root, path)
    if kind in _MOVING:
        source = _tokens(node, "from")
        if kind == "move" and path[: len(source)] == source and path != source:
            raise _FaultError("it moves a value into itself.")
        value = _at(root, source)
        return _put(_removed(root, source) if kind == "move" else root, path, value, replace=False)
    raise _FaultError(f"`op: {kind!r}` is not one of add, remove, replace, move, copy, test.")


def _tokens(node: Node, key: str) -> Tokens:
    text = node.get(key)
    if not isinstance(text, str):
        raise _FaultError(f"it has no `{key}`.")
    try:
        return tokens_of(text)
    except ValueError:
        raise _FaultError(f"`{key}: {text}` is not a JSON Pointer, which begins with a slash.") from None


def _at(value: Any, tokens: Tokens) -> Any:
    for token in tokens:
        value = value[_key(value, token)]
    return value


def _key(value: Any, token: str) -> Any:
    """The key or index that a token means in a value that is there."""
    if isinstance(value, dict):
        if token in value:
            return token
        raise _FaultError(f"there is no {token!r} there.")
    if isinstance(value, list):
        return _index(token, len(cast("list[Any]", value)) - 1)
    raise _FaultError(f"{token!r} is looked for in something that is neither an object nor a list.")


def _index(text: str, last: int) -> int:
    if not _NUMBER.fullmatch(text):
        raise _FaultError(f"{text!r} is not the number of an item.")
    if int(text) > last:
        raise _FaultError(f"the list there has no item {text}.")
    return int(text)


def _put(value: Any, tokens: Tokens, new: Any, *, replace: bool) -> Any:
    if not tokens:
        return new
    token = tokens[0]
    if len(tokens) > 1 or replace:
        key = _key(value, token)
        return _with(value, key, _put(value[key], tokens[1:], new, replace=replace))
    if isinstance(value, dict):
        return {**cast("Node", value), token: new}
    if isinstance(value, list):
        items = cast("list[Any]", value)
        place = len(items) if token == _END else _index(token, len(items))
        return [*items[:place], new, *items[place:]]
    raise _FaultError(f"{token!r} cannot be added to something that is neither an object nor a list.")


def _removed(value: Any, tokens: Tokens) -> Any:
    if not tokens:
        return None
    key = _key(value, tokens[0])
    if len(tokens) > 1:
        return _with(value, key, _removed(value[key], tokens[1:]))
    if isinstance(value, dict):
        return {name: item for name, item in cast("Node", value).items() if name != key}
    return [item for number, item in enumerate(value) if number != key]


def _with(value: Any, key: Any, item: Any) -> Any:
    copy = value.copy()
    copy[key] = item
    return copy


def _same(left: Any, right: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        mine, theirs = cast("Node", left), cast("Node", right)
        return mine.keys() == theirs.keys() and all(_same(mine[key], theirs[key]) for key in mine)
    if isinstance(left, list) and isinstance(right, list):
        pairs = cast("list[Any]", left), cast("list[Any]", right)
        return len(pairs[0]) == len(pairs[1]) and all(map(_same, *pairs))
    return left == right
