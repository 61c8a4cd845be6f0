"""Swagger 2.0 said as OpenAPI 3.0, so that nothing else has to know that it exists."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from practicum.errors import DocumentError
from practicum_connectors.document.pointers import Node, Pointers, as_list, as_node, is_node, reference_of, text_of
from practicum_connectors.document.swagger_parameters import LOSSES, SwaggerParameters
from practicum_connectors.document.swagger_schemas import SwaggerSchemas

_METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch"})
_FLOWS = {
    "implicit": "implicit",
    "password": "password",
    "application": "clientCredentials",
    "accessCode": "authorizationCode",
}
_BODIES = frozenset({"body", "formData"})
_OWN = frozenset({"consumes", "produces", "schemes"})
_REPLACED = (
    _OWN
    | {"swagger", "host", "basePath", "paths", "definitions", "parameters", "responses"}
    | {"securityDefinitions", "x-path-items"}
)
_PARAMETERS, _RESPONSES = "#/parameters/", "#/responses/"


def is_swagger(root: Node) -> bool:
    """Whether a document says that it is Swagger 2.0 (and not OpenAPI)."""
    return "openapi" not in root and str(root.get("swagger")) in {"2.0", "2"}


def upgraded(root: Node, source: str | None) -> dict[str, Any]:
    """A Swagger 2.0 document as OpenAPI 3.0.

    What is broken in one operation stays in it, so that it alone is refused.

    Args:
        root: the document; it stays as it is.
        source: where it came from; a host without a scheme is reached in the same way.

    Raises:
        DocumentError: its `paths` are no object.
    """
    if not isinstance(root.get("paths", {}), dict | None):
        raise DocumentError("`paths` is not an object.", mend="Mend it in the document.")
    return _Upgrade(root).document(source)


class _Upgrade:
    """One document on its way."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self._pointers = Pointers(root)
        self._schemas = SwaggerSchemas(root, self._pointers)
        self._parameters = SwaggerParameters(self._schemas)

    def document(self, source: str | None) -> dict[str, Any]:
        root = self._root
        out: dict[str, Any] = {"openapi": "3.0.3"}
        out.update({key: value for key, value in root.items() if key not in _REPLACED})
        servers = _servers(root, source)
        if servers:
            out["servers"] = servers
        out["paths"] = {path: self._path_item(item) for path, item in as_node(root.get("paths")).items()}
        parameters = {
            name: self._parameters.parameter(as_node(raw))
            for name, raw in as_node(root.get("parameters")).items()
            if as_node(raw).get("in") not in _BODIES and reference_of(raw) is None
        }
        responses = {
            name: self._response(raw, _texts(root.get("produces")))
            for name, raw in as_node(root.get("responses")).items()
        }
        schemes = {name: _scheme(raw) for name, raw in as_node(root.get("securityDefinitions")).items()}
        out["components"] = {
            "schemas": self._schemas.components(),
            "parameters": parameters,
            "responses": responses,
            "securitySchemes": schemes,
        }
        return out

    def _path_item(self, raw: Any) -> Any:
        if not is_node(raw):
            return raw
        item = as_node(raw)
        if reference_of(item) is not None:
            try:
                item = {**self._pointers.follow(item), **{key: item[key] for key in item if key != "$ref"}}
            except DocumentError:
                return raw
        shared = [self._followed(parameter) for parameter in as_list(item.get("parameters"))]
        out: dict[str, Any] = {}
        for key, value in item.items():
            if key in _METHODS and is_node(value):
                out[key] = self._operation(as_node(value), shared)
            elif key == "parameters":
                bodies = {id(raw) for raw, found in shared if found.get("in") in _BODIES}
                kept = [parameter for parameter in as_list(value) if id(parameter) not in bodies]
                out[key] = [self._plain(parameter) for parameter in kept]
            else:
                out[key] = value
        return out

    def _followed(self, raw: Any) -> tuple[Any, Node]:
        """A parameter as it stands and as it is; nothing where its reference is broken."""
        try:
            return raw, self._pointers.follow(raw)
        except DocumentError:
            return raw, {}

    def _plain(self, raw: Any) -> Any:
        """A parameter of path, query or header; a broken one as it stands, to be reported with its operation."""
        _, found = self._followed(raw)
        if not found:
            return raw
        reference = reference_of(raw) or ""
        name = reference.removeprefix(_PARAMETERS)
        if reference.startswith(_PARAMETERS) and "/" not in name and reference_of(self._pointers.at(reference)) is None:
            return {"$ref": f"#/components/parameters/{name}"}
        return self._parameters.parameter(found)

    def _operation(self, node: Node, shared: Sequence[tuple[Any, Node]]) -> dict[str, Any]:
        out = {key: value for key, value in node.items() if key not in _OWN}
        own = [self._followed(parameter) for parameter in as_list(node.get("parameters"))]
        if isinstance(node.get("parameters"), list):
            out["parameters"] = [self._plain(raw) for raw, found in own if found.get("in") not in _BODIES]
        consumes = _texts(node.get("consumes", self._root.get("consumes")))
        produces = _texts(node.get("produces", self._root.get("produces")))
        losses: list[str] = []
        body = self._body(shared, own, consumes, losses)
        if body is not None:
            out["requestBody"] = body
        if "responses" in node:
            out["responses"] = {
                status: self._response(raw, produces, shared=produces == _texts(self._root.get("produces")))
                for status, raw in as_node(node["responses"]).items()
            }
        schemes = _texts(node.get("schemes"))
        if schemes and self._root.get("host") and not set(schemes) & set(_texts(self._root.get("schemes")) or schemes):
            out["servers"] = _servers({**self._root, "schemes": schemes}, None)
        if losses:
            out[LOSSES] = list(dict.fromkeys(losses))
        return out

    def _body(
        self,
        shared: Sequence[tuple[Any, Node]],
        own: Sequence[tuple[Any, Node]],
        consumes: list[str],
        losses: list[str],
    ) -> dict[str, Any] | None:
        merged = {(found.get("in"), found.get("name")): found for _, found in (*shared, *own)}
        fields = [found for (place, _), found in merged.items() if place == "formData"]
        bodies = [found for (place, _), found in merged.items() if place == "body"]
        if not bodies:
            return self._parameters.form(fields, consumes, losses) if fields else None
        if fields or len(bodies) > 1:
            losses.append("The request has more than one body; only the last `in: body` parameter is used.")
        return self._parameters.body(bodies[-1], consumes)

    def _response(self, raw: Any, produces: list[str], *, shared: bool = True) -> Any:
        reference = reference_of(raw) or ""
        if shared and reference.startswith(_RESPONSES):
            return {"$ref": f"#/components/responses/{reference.removeprefix(_RESPONSES)}"}
        try:
            node = self._pointers.follow(raw)
        except DocumentError:
            return raw
        out = {key: value for key, value in node.items() if key not in {"schema", "examples", "headers"}}
        content: dict[str, Any] = {}
        if "schema" in node:
            schema = self._schemas.converted(node["schema"])
            binary = as_node(schema).get("format") == "binary"
            usual = ["application/octet-stream" if binary else "application/json"]
            content = {name: {"schema": schema} for name in produces or usual}
        for name, example in as_node(node.get("examples")).items():
            content.setdefault(name, {})["example"] = example
        if content:
            out["content"] = content
        if is_node(node.get("headers")):
            out["headers"] = {name: self._header(raw) for name, raw in as_node(node["headers"]).items()}
        return out

    def _header(self, raw: Any) -> Any:
        made = self._parameters.parameter(as_node(raw))
        made.pop(LOSSES, None)  # what a response says of its headers is never sent
        return made


def _texts(value: object) -> list[str]:
    return [item for item in as_list(value) if isinstance(item, str) and item]


def _servers(root: Node, source: str | None) -> list[dict[str, str]]:
    base = text_of(root.get("basePath")).strip()
    base = f"/{base.strip('/')}" if base.strip("/") else ""
    host = text_of(root.get("host")).strip().strip("/")
    if not host:
        return [{"url": base}] if base else []
    host = host.rpartition("://")[2]
    usual = urlsplit(source or "").scheme
    schemes = [name for name in _texts(root.get("schemes")) if name in {"http", "https"}]
    schemes = schemes or [usual if usual in {"http", "https"} else "https"]
    return [{"url": f"{scheme}://{host}{base}"} for scheme in sorted(dict.fromkeys(schemes), reverse=True)]


def _scheme(raw: Any) -> Any:
    node = as_node(raw)
    if node.get("type") == "basic":
        return {**{key: value for key, value in node.items() if key != "type"}, "type": "http", "scheme": "basic"}
    if node.get("type") != "oauth2":
        return raw
    flow = {key: node[key] for key in ("authorizationUrl", "tokenUrl") if key in node}
    flow["scopes"] = as_node(node.get("scopes"))
    rest = {key: value for key, value in node.items() if key not in {"flow", "authorizationUrl", "tokenUrl", "scopes"}}
    return {**rest, "flows": {_FLOWS.get(text_of(node.get("flow")), "authorizationCode"): flow}}
