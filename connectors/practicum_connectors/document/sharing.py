"""Equal parts of a document held once: a large one says the same small schemas and texts thousands of times over."""

from collections.abc import Callable
from typing import Any

Pairs = list[tuple[str, Any]]
"""Keys and values of an object, in order."""


def sharing() -> Callable[[Pairs], dict[str, Any]]:
    """What puts the objects of one document together, the innermost first: the `object_pairs_hook` of `json.loads`.

    What it gives out may stand in many places, so nobody may change it.
    """
    texts: dict[str, str] = {}
    nodes: dict[tuple[object, ...], dict[str, Any]] = {}
    lists: dict[tuple[int, ...], list[Any]] = {}
    text = texts.setdefault

    def listed(items: list[Any]) -> list[Any]:
        made = [text(v, v) if v.__class__ is str else listed(v) if v.__class__ is list else v for v in items]
        return lists.setdefault(tuple(map(id, made)), made)

    def node(pairs: Pairs) -> dict[str, Any]:
        made = {k: text(v, v) if v.__class__ is str else listed(v) if v.__class__ is list else v for k, v in pairs}
        return nodes.setdefault((*made, *map(id, made.values())), made)

    return node
