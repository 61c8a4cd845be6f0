"""Reading names with brackets back, written on its own so that it can contradict the writer."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from practicum_connectors.request.views import SchemaView

_STEPS = re.compile(r"(?:\[[^\[\]]*\])+")


@dataclass(slots=True)
class _Node:
    """A place in the nested value: the texts that stand there, and what stands below."""

    texts: list[str] = field(default_factory=list[str])
    below: "dict[str, _Node]" = field(default_factory=dict[str, "_Node"])


def read_brackets(name: str, pairs: Iterable[tuple[str, str]], schema: object, view: SchemaView) -> Any:
    """The nested value under a name, its leaves as texts.

    Args:
        name: the name outside all brackets.
        pairs: decoded names and texts of the request; those of other names are passed over.
        schema: what stands under the name: it tells lists from objects.
        view: looks into it.

    Raises:
        KeyError: nothing stands there.
        ValueError: the names contradict each other.
    """
    root = _Node()
    for key, text in pairs:
        if key != name and not key.startswith(f"{name}["):
            continue
        rest = key[len(name) :]
        if rest and not _STEPS.fullmatch(rest):
            continue
        node = root
        for step in rest[1:-1].split("][") if rest else ():
            node = node.below.setdefault(step, _Node())
        node.texts.append(text)
    if not root.texts and not root.below:
        raise KeyError(name)
    return _value(root, schema, view)


def _value(node: _Node, schema: object, view: SchemaView) -> Any:
    if not node.below:
        many = len(node.texts) > 1 or view.only(schema, "array")
        return node.texts if many else node.texts[0]
    if node.texts:
        raise ValueError("a value and what lies in it stand under the same name")
    if "" in node.below:
        if len(node.below) > 1 or node.below[""].below:
            raise ValueError("empty brackets stand beside others")
        return node.below[""].texts
    kinds = view.kinds(schema)
    if _counted(node.below) and ("array" in kinds or "object" not in kinds):
        inner = view.items(schema)
        return [_value(child, inner, view) for child in node.below.values()]
    if view.only(schema, "array"):
        raise ValueError("the places of a list are not counted from 0")
    return {key: _value(child, view.member(schema, key), view) for key, child in node.below.items()}


def _counted(steps: Iterable[str]) -> bool:
    """Whether the steps are 0, 1, 2 and so on, in this order."""
    return all(step == str(number) for step, number in zip(steps, itertools.count(), strict=False))
