"""Calls an operation by its tool name, straight from the document that a system serves.

The product's connectors do this with checks, credentials and care for what an answer holds; this is the short way, for
reference solutions and validation, where arguments are known to be right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
from fastapi import FastAPI

from practicum.contracts.base import JsonObject


@dataclass(frozen=True)
class Operation:
    """One operation of a system.

    Attributes:
        system: the system it belongs to.
        method: HTTP method, upper case.
        path: path template.
        path_names: arguments that go into the path.
        query_names: arguments that go into the query; what is left over is the JSON body.
        has_body: whether it takes one.
    """

    system: str
    method: str
    path: str
    path_names: frozenset[str]
    query_names: frozenset[str]
    has_body: bool

    def request(self, client: httpx.AsyncClient, arguments: Mapping[str, Any]) -> httpx.Request:
        """The request with these arguments."""
        path = self.path.format(**{name: quote(str(arguments[name]), safe="") for name in self.path_names})
        query = {name: value for name, value in arguments.items() if name in self.query_names}
        body = {name: value for name, value in arguments.items() if name not in self.path_names | self.query_names}
        return client.build_request(self.method, path, params=query, json=body if self.has_body else None)


def operations_of(system: str, app: FastAPI) -> dict[str, Operation]:
    """The operations of an app by tool name, `system_operation`."""
    paths: dict[str, dict[str, JsonObject]] = app.openapi()["paths"]
    return {
        f"{system}_{operation['operationId']}": _operation(system, method, path, operation)
        for path, item in paths.items()
        for method, operation in item.items()
    }


def _operation(system: str, method: str, path: str, operation: dict[str, Any]) -> Operation:
    parameters: list[dict[str, str]] = operation.get("parameters", [])
    by_place = {place: frozenset(p["name"] for p in parameters if p["in"] == place) for place in ("path", "query")}
    return Operation(system, method.upper(), path, by_place["path"], by_place["query"], "requestBody" in operation)
