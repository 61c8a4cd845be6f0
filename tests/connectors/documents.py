"""Small documents, written where they are tested."""

from typing import Any

from practicum.contracts.connectors import Auth, ConnectorSpec, NoAuth
from practicum.contracts.tools import Tool
from practicum_connectors import CompiledConnector, load_document

Json = dict[str, Any]


def document(paths: Json, version: str = "3.1.0", **rest: Any) -> Json:
    return {"openapi": version, "info": {"title": "Test", "version": "1"}, "paths": paths, **rest}


def operation(*parameters: Json, body: Json | None = None, required: bool = True, **rest: Any) -> Json:
    """One operation; `body` is the schema of its JSON body."""
    made: Json = {"operationId": "act", "parameters": list(parameters), "responses": {"200": {"description": "ok"}}}
    if body is not None:
        made["requestBody"] = {"required": required, "content": {"application/json": {"schema": body}}}
    return {**made, **rest}


def query(name: str, schema: Json | None = None, **rest: Any) -> Json:
    return {"name": name, "in": "query", "schema": {"type": "string"} if schema is None else schema, **rest}


def path(name: str, schema: Json | None = None, **rest: Any) -> Json:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "schema": {"type": "string"} if schema is None else schema,
        **rest,
    }


def header(name: str, schema: Json | None = None, **rest: Any) -> Json:
    return {"name": name, "in": "header", "schema": {"type": "string"} if schema is None else schema, **rest}


def compiled(
    made: Json | bytes, base_url: str | None = "http://127.0.0.1:1", auth: Auth | None = None, **rest: Any
) -> CompiledConnector:
    spec = ConnectorSpec(name="crm", base_url=base_url, auth=auth or NoAuth(), private_network=True, **rest)
    return CompiledConnector.compile(spec, load_document(made, origin=rest.get("source")))


def one_tool(made: Json, **rest: Any) -> Tool:
    """The only tool of a document."""
    (tool,) = compiled(made, **rest).tools.values()
    return tool


def tool_of(made: Json, method: str = "post", at: str = "/things", **rest: Any) -> Tool:
    """The tool of one operation."""
    return one_tool(document({at: {method: made}}, **rest))


def properties(tool: Tool) -> Json:
    found: Any = tool.input_schema["properties"]
    return found
