"""What each object of a document holds, so that references are told from data that merely looks like them.

An example may hold `$ref`, a property may be named `$id`: whoever rewrites references walks the document by kind, from
the root, and touches nothing else.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, cast

from practicum_connectors.document.pointers import Node, as_node, is_node

Kind = Literal[
    "root",
    "components",
    "path_item",
    "operation",
    "parameter",
    "request_body",
    "response",
    "header",
    "media_type",
    "encoding",
    "example",
    "link",
    "callback",
    "security_scheme",
    "schema",
]
"""A kind of object."""

Tokens = tuple[str, ...]
"""The keys from one object to another one in it."""

Change = Callable[[Kind, Any, Tokens], Any]
"""What becomes of an object, told its kind and the keys that lead to it from the one that holds it."""

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_DESCRIBED: dict[str, Kind] = {"schema": "schema", "content": "media_type", "examples": "example"}
_HOLDS: dict[Kind, dict[str, Kind]] = {
    "root": {
        "paths": "path_item",
        "webhooks": "path_item",
        "components": "components",
        "definitions": "schema",
        "parameters": "parameter",
        "responses": "response",
    },
    "components": {
        "schemas": "schema",
        "responses": "response",
        "parameters": "parameter",
        "examples": "example",
        "requestBodies": "request_body",
        "headers": "header",
        "securitySchemes": "security_scheme",
        "links": "link",
        "callbacks": "callback",
        "pathItems": "path_item",
        "mediaTypes": "media_type",
    },
    "path_item": {
        "parameters": "parameter",
        "additionalOperations": "operation",
        **dict.fromkeys(_METHODS, cast("Kind", "operation")),
    },
    "operation": {
        "parameters": "parameter",
        "requestBody": "request_body",
        "responses": "response",
        "callbacks": "callback",
    },
    "parameter": _DESCRIBED,
    "header": _DESCRIBED,
    "request_body": {"content": "media_type"},
    "response": {"headers": "header", "content": "media_type", "links": "link", "schema": "schema"},
    "media_type": {"schema": "schema", "itemSchema": "schema", "examples": "example", "encoding": "encoding"},
    "encoding": {"headers": "header"},
    "example": {},
    "link": {},
    "callback": {},
    "security_scheme": {},
    "schema": dict.fromkeys(
        (
            *("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"),
            *("allOf", "anyOf", "oneOf", "prefixItems", "items", "additionalProperties", "not", "if", "then", "else"),
            *("contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "contentSchema"),
        ),
        cast("Kind", "schema"),
    ),
}
_ONE = frozenset(
    {"components", "schema", "itemSchema", "requestBody", *_METHODS}
    | {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"}
    | {"unevaluatedProperties", "unevaluatedItems", "contentSchema"}
)
"""Keys that hold one object; under all others stand objects by name or in a list."""


def held(kind: Kind, node: Node) -> Iterator[tuple[Kind, Any, Tokens]]:
    """Each object that an object holds directly, with its kind and the keys that lead to it."""
    holds = _HOLDS[kind]
    for key, value in node.items():
        inner = "path_item" if kind == "callback" and not key.startswith("x-") else holds.get(key)
        if inner is None:
            continue
        if isinstance(value, list):
            for number, item in enumerate(cast("list[Any]", value)):
                yield inner, item, (key, str(number))
        elif key in _ONE or kind == "callback":
            yield inner, value, (key,)
        else:
            for name, item in as_node(value).items():
                yield inner, item, (key, name)


def changed(kind: Kind, node: Node, change: Change) -> dict[str, Any]:
    """A copy of an object in which each object that it holds directly is replaced by what `change` makes of it."""
    copy = dict(node)
    for inner, value, tokens in held(kind, node):
        made = change(inner, value, tokens)
        if made is value:
            continue
        key = tokens[0]
        if len(tokens) == 1:
            copy[key] = made
            continue
        if copy[key] is node[key]:
            copy[key] = dict(cast("Node", node[key])) if is_node(node[key]) else list(cast("list[Any]", node[key]))
        copy[key][tokens[1] if is_node(copy[key]) else int(tokens[1])] = made
    return copy


def pointer(tokens: Tokens) -> str:
    """The reference to what some keys lead to from the root."""
    escaped = (token.replace("~", "~0").replace("/", "~1").replace("%", "%25") for token in tokens)
    return "#" + "".join(f"/{token}" for token in escaped)
