"""What a document or an overlay states of an operation itself, read in one place: `x-practicum`, and others' hints.

::

    x-practicum: {name: refund, description: Refund an order., hide: false, effect: money, idempotency: X-Request-Id}
    x-practicum-compensation: {operation: cancelRefund, arguments: {id: $response.body#/id}}
"""

from dataclasses import dataclass
from typing import Any

from practicum.contracts.tools import Effect
from practicum_connectors.document.pointers import Node, as_node, text_of

OVERRIDES = "x-practicum"
"""The extension that holds them."""
EFFECT = "x-practicum-effect"
"""The effect alone, as documents write it that state nothing else."""
COMPENSATION = "x-practicum-compensation"
"""Likewise how it is undone."""
_HINTS = ("x-mcp-annotations", "x-mcp", "x-mcp-tool", "x-speakeasy-mcp")
"""Extensions of others that hold MCP's annotations, at their top or under `annotations`."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What is stated of an operation.

    Attributes:
        name: its name in place of the operation id.
        description: its description in place of the document's.
        hide: whether it is no tool.
        effect: what a call does to the world.
        idempotency: the header by which the system recognises a repeated call; an empty one: it recognises none.
        compensation: how it is undone, as it stands in the document; False: not at all.
    """

    name: str | None = None
    description: str | None = None
    hide: bool = False
    effect: Effect | None = None
    idempotency: str | None = None
    compensation: object = None


_NOTHING = Stated()


def stated(extensions: Node) -> Stated:
    """What an operation's extensions state; what is of the wrong kind is not stated.

    Args:
        extensions: its `x-` fields.
    """
    if extensions.keys().isdisjoint({OVERRIDES, EFFECT, COMPENSATION}):
        return _NOTHING
    own = as_node(extensions.get(OVERRIDES))
    effect = own.get("effect", extensions.get(EFFECT))
    key = own.get("idempotency")
    return Stated(
        name=text_of(own.get("name")).strip() or None,
        description=text_of(own.get("description")).strip() or None,
        hide=own.get("hide") is True,
        effect=Effect(effect) if isinstance(effect, str) and effect in set(Effect) else None,
        idempotency="" if key is False else text_of(key).strip() or None,
        compensation=own.get("compensation", extensions.get(COMPENSATION)),
    )


def hint(extensions: Node, name: str) -> bool | None:
    """A hint of the Model Context Protocol that a vendor gives, None where there is none.

    Args:
        extensions: an operation's `x-` fields.
        name: `readOnlyHint` or another.
    """
    for key in _HINTS:
        given = as_node(extensions.get(key))
        value: Any = given.get(name, as_node(given.get("annotations")).get(name))
        if isinstance(value, bool):
            return value
    value = extensions.get(f"x-{name}")
    return value if isinstance(value, bool) else None
