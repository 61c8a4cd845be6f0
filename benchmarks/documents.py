"""Documents as large as the largest that vendors publish, made here, for the benchmarks of the connectors."""

import json
from typing import Any

Json = dict[str, Any]

_FIELDS = (
    "name",
    "status",
    "note",
    "owner",
    "region",
    "kind",
    "label",
    "created",
    "updated",
    "locale",
    "colour",
    "code",
)
_VERBS = ("list", "get", "create", "update", "delete", "archive", "export", "approve")
_NOUNS = ("order", "invoice", "customer", "ticket", "device", "project", "contract", "shipment", "refund", "campaign")


def graph_like(operations: int = 11_000, schemas: int = 2_500, megabytes: int = 20) -> bytes:
    """A document of the size of Microsoft Graph's: schemas that all reach each other, filled up with descriptions.

    Args:
        operations: how many operations.
        schemas: how many schemas.
        megabytes: its size, about.
    """
    bare = _document(operations, schemas, 0)
    texts = operations + schemas * (len(_FIELDS) + 1)
    return _document(operations, schemas, max(0, megabytes * 1_000_000 - len(bare)) // texts)


def github_like() -> bytes:
    """A document of the size of GitHub's: 1,223 operations, 969 schemas, 13 MB."""
    return graph_like(1_223, 969, 13)


def _document(operations: int, schemas: int, padding: int) -> bytes:
    paths: dict[str, Json] = {}
    for number in range(operations):
        paths.setdefault(f"/{_noun(number)}/{number // 2}/{{id}}", {})["patch" if number % 2 else "get"] = _operation(
            number, schemas, padding
        )
    document = {
        "openapi": "3.0.3",
        "info": {"title": "Large", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": paths,
        "components": {"schemas": {f"S{number}": _schema(number, schemas, padding) for number in range(schemas)}},
    }
    return json.dumps(document).encode()


def _operation(number: int, schemas: int, padding: int) -> Json:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/S{number % schemas}"}}}
    made: Json = {
        "operationId": f"{_noun(number)}.{number}.{_VERBS[number % len(_VERBS)]}",
        "summary": f"{_VERBS[number % len(_VERBS)]} one {_noun(number)} of the department {number % 97}",
        "description": "d" * padding,
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
            {"name": "$filter", "in": "query", "schema": {"type": "string"}},
            {"name": "$top", "in": "query", "schema": {"type": "integer", "format": "int32"}},
        ],
        "responses": {"200": {"description": "ok", "content": content}},
    }
    return {**made, "requestBody": {"required": True, "content": content}} if number % 2 else made


def _schema(number: int, schemas: int, padding: int) -> Json:
    fields: Json = {name: {"type": "string", "description": "p" * padding} for name in _FIELDS}
    fields["next"] = {"$ref": f"#/components/schemas/S{(number * 7 + 1) % schemas}"}
    fields["parts"] = {"type": "array", "items": {"$ref": f"#/components/schemas/S{(number * 3 + 2) % schemas}"}}
    return {"type": "object", "description": "s" * padding, "properties": fields}


def _noun(number: int) -> str:
    return _NOUNS[number % len(_NOUNS)]
