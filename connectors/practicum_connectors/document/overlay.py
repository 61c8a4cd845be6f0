"""Overlays: what a user says differently from the document, kept with the connector and applied at each refresh.

Two forms: an Overlay document (OpenAPI Overlay 1.0) or a list of JSON Patch operations (RFC 6902). Both may set
`x-practicum: {name, description, hide, effect, idempotency}` in an operation.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from practicum.errors import DocumentError
from practicum_connectors.document.jsonpath import Place, parse_path
from practicum_connectors.document.patch import apply_patch
from practicum_connectors.document.pointers import Node, as_node, is_node, text_of

_VERSION = re.compile(r"1\.0(\.\d+)?([-.].*)?")
_REST = frozenset({"target", "description", "update", "remove"})


def apply_overlay(root: Node, overlay: Mapping[str, Any] | Sequence[object]) -> tuple[Node, tuple[str, ...]]:
    """A document as an overlay makes it, and what has to be said about the overlay.

    Args:
        root: the document; it stays as it is.
        overlay: an Overlay 1.0 document, or RFC 6902 operations.

    Raises:
        DocumentError: the overlay is not well formed or does not fit; it names the action or operation.
    """
    overlay = json.loads(json.dumps(overlay))  # nobody else's values enter the document
    if not isinstance(overlay, Mapping):
        return apply_patch(root, overlay), ()
    if not _VERSION.fullmatch(str(overlay.get("overlay"))):
        raise DocumentError(
            f"`overlay: {overlay.get('overlay')!r}` is not a version of Overlay that is known.",
            mend="Begin it with `overlay: 1.0.0`, or give a list of RFC 6902 operations.",
        )
    actions = overlay.get("actions")
    if not isinstance(actions, list) or not actions:
        raise DocumentError("The overlay has no `actions`.", mend="List at least one action.")
    value, notes = root, list[str]()
    for number, action in enumerate(cast("list[object]", actions), start=1):
        value = _acted(value, action, number, notes)
    return value, tuple(notes)


def _acted(root: Node, raw: object, number: int, notes: list[str]) -> Node:
    action = as_node(raw)
    unknown = [key for key in action if key not in _REST and not key.startswith("x-")]
    target = action.get("target")
    if unknown or not isinstance(target, str):
        fault = f"`{unknown[0]}` is not known in Overlay 1.0" if unknown else "it has no `target`"
        raise DocumentError(f"Action {number} of the overlay cannot be read: {fault}.", mend="Correct the action.")
    places = parse_path(target).find(root)
    if not places:
        said = text_of(action.get("description"))
        notes.append(f"Action {number} of the overlay{f' ({said})' if said else ''} fits nothing: {target}")
    if action.get("remove") is True:
        return _removed(root, places, number)
    if "update" not in action:
        raise DocumentError(f"Action {number} of the overlay neither updates nor removes.", mend="Give `update`.")
    for place in places:
        root = as_node(_changed(root, place, action["update"], number))
    return root


def _removed(root: Node, places: list[Place], number: int) -> Node:
    """Without all that was found: later items first and parts before wholes, so that places stay right."""
    for place in sorted(places, key=_order, reverse=True):
        if not place:
            raise DocumentError(f"Action {number} of the overlay removes the whole document.", mend="Correct it.")
        root = _without(root, place)
    return root


def _order(place: Place) -> list[tuple[int, str]]:
    return [(key, "") if isinstance(key, int) else (-1, key) for key in place]


def _without(value: Any, place: Place) -> Any:
    key, rest = place[0], place[1:]
    copy = value.copy()
    if rest:
        copy[key] = _without(value[key], rest)
    else:
        del copy[key]
    return copy


def _changed(value: Any, place: Place, update: Any, number: int) -> Any:
    if place:
        copy = value.copy()
        copy[place[0]] = _changed(value[place[0]], place[1:], update, number)
        return copy
    if isinstance(value, list):
        return [*cast("list[Any]", value), update]
    if is_node(value) and is_node(update):
        return _merged(value, update)
    raise DocumentError(
        f"Action {number} of the overlay cannot be done: its target and its `update` do not go together.",
        mend="Target the object that holds the value, and give an object with the new value as `update`.",
    )


def _merged(value: Any, update: Any) -> Any:
    """Objects are merged, lists joined, everything else is replaced."""
    if isinstance(value, dict) and isinstance(update, dict):
        mine, theirs = cast("Node", value), cast("Node", update)
        return {**mine, **{key: _merged(mine[key], new) if key in mine else new for key, new in theirs.items()}}
    if isinstance(value, list) and isinstance(update, list):
        return [*cast("list[Any]", value), *cast("list[Any]", update)]
    return update
