"""The same document in another order: names and keys may not depend on which of two came first."""

import json
from typing import Any, cast

from practicum.contracts.connectors import ConnectorSpec
from practicum.contracts.tools import Tool

_UNORDERED = frozenset({"paths", "properties", "schemas", "parameters", "pathItems"})
"""Objects and lists whose order means nothing; the order of servers, media types and security alternatives does."""


def turned_round(spec: ConnectorSpec) -> ConnectorSpec | None:
    """The registration with its document the other way round; None where that would be another document.

    Args:
        spec: the registration.
    """
    document, overlay = spec.document, spec.overlay
    if document is None or overlay is not None or "parameters/" in json.dumps(document):
        return None  # there is no text of it here, or something points at a place in a list
    return spec.model_copy(update={"document": _turned("", document)})


def _turned(name: str, node: Any) -> Any:
    if isinstance(node, list):
        items = [_turned("", item) for item in cast("list[Any]", node)]
        return items[::-1] if name == "parameters" else items
    if not isinstance(node, dict):
        return node
    members = [(key, _turned(key, value)) for key, value in cast("dict[str, Any]", node).items()]
    return dict(members[::-1] if name in _UNORDERED or name.startswith("/") else members)


def names_of(tool: Tool) -> tuple[str, str, dict[str, object]]:
    """What has to be the same in any order: a tool's name, its operation's, and which argument is of which type.

    Args:
        tool: the tool.
    """
    properties = cast("dict[str, Any]", tool.input_schema["properties"])
    kinds: dict[str, object] = {}
    for key, schema in properties.items():
        kinds[key] = cast("dict[str, Any]", schema).get("type") if isinstance(schema, dict) else schema
    return tool.name, tool.operation, kinds
