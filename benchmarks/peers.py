"""The ways to the same operation that are compared: `GET /orders/17` of the same system, each as its own docs say."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import Request
from benchmarks.services import Service, free_port, running
from benchmarks.upstream import DOCUMENT

FASTMCP = "fastmcp==4.2.3"
CONTEXTFORGE = "mcp-contextforge-gateway==1.0.7.post20260921"
EXPECTED = "octo"
"""What every answer holds."""
ARGUMENTS = {"id": "17"}
RULES = {
    "rules": [
        {
            "id": "short-ids",
            "tools": ["orders.get_order"],
            "roles": ["agent"],
            "arguments": {"type": "object", "properties": {"id": {"type": "string", "maxLength": 10}}},
            "outcome": "allow",
        },
        {"id": "notes", "tools": ["orders.add_note"], "outcome": "allow"},
    ]
}
_JSON = {"Content-Type": "application/json"}
_MCP = {**_JSON, "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}

FLOOR = """
import sys
import httpx, uvicorn
from fastapi import FastAPI, Request, Response
app = FastAPI()
client = httpx.AsyncClient(base_url=sys.argv[1])
@app.api_route("/{path:path}", methods=["GET", "POST"])
async def proxy(path: str, request: Request) -> Response:
    answer = await client.request(request.method, f"/{path}", content=await request.body())
    return Response(answer.content, answer.status_code, media_type=answer.headers.get("content-type"))
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
"""
_FASTMCP = """
import json, sys
import httpx2
from fastmcp import FastMCP
server = FastMCP.from_openapi(json.loads(sys.argv[1]), client=httpx2.AsyncClient(base_url=sys.argv[2]))
server.run(transport="http", host="127.0.0.1", port=int(sys.argv[3]), show_banner=False, log_level="ERROR")
"""


@dataclass(frozen=True)
class Way:
    """A way to the operation, ready to be measured.

    Attributes:
        service: what is asked.
        requests: requests for so many connections; one for each where each needs a session of its own.
    """

    service: Service
    requests: Callable[[int], list[Request]]


@dataclass(frozen=True)
class Ours(Way):
    """The way through this house's gateway.

    Attributes:
        admin: headers of its administrator.
        episode: the episode that the calls are made in.
        key: its key.
    """

    admin: Mapping[str, str]
    episode: str
    key: str


def system() -> AbstractContextManager[Service]:
    """The system that is asked, in whatever way."""
    port = free_port()
    return running([sys.executable, "-m", "benchmarks.upstream", str(port)], port, "/seen")


@contextlib.contextmanager
def direct(asked: Service) -> Generator[Way]:
    """Nothing in between."""
    yield Way(asked, lambda _: [Request("GET", f"/orders/{ARGUMENTS['id']}")])


@contextlib.contextmanager
def floor(asked: Service) -> Generator[Way]:
    """A FastAPI application that passes everything on with httpx and does nothing else."""
    port = free_port()
    with running([sys.executable, "-c", FLOOR, asked.url, str(port)], port, "/orders/1") as service:
        yield Way(service, lambda _: [Request("GET", f"/orders/{ARGUMENTS['id']}")])


@contextlib.contextmanager
def gateway(asked: Service, folder: Path) -> Generator[Ours]:
    """This house's gateway: an episode's key, rules that look at arguments, everything on, its embedded store."""
    port = free_port()
    command = [sys.executable, "-m", "practicum_gateway", "--port", str(port), "--data-dir", str(folder)]
    with running(command, port, "/healthz") as service:
        admin = {"Authorization": f"Bearer {(folder / 'admin.key').read_text().strip()}"}
        service.ask("POST", "/v1/connectors", registration(asked), admin)
        service.ask("PUT", "/v1/rules", RULES, admin)
        model = {"alias": "nobody", "provider": "litellm", "target": "openai/nobody", "base_url": "http://127.0.0.1:1"}
        service.ask("POST", "/v1/models", model, admin)
        wish = {"task": "measure", "model": "nobody", "tools": ["orders.*"], "driver": "client"}
        episode = json.loads(service.ask("POST", "/v1/episodes", wish, admin)[0])["id"]
        key = json.loads(service.ask("POST", f"/v1/episodes/{episode}/keys", {}, admin)[0])["key"]
        yield Ours(service, lambda _: [tool_call(key, "orders_get_order", ARGUMENTS)], admin, episode, key)


@contextlib.contextmanager
def mcp(asked: Service, folder: Path) -> Generator[Way]:
    """This house's gateway once more, by a call of the same tool over streamable HTTP; it keeps no sessions."""
    with gateway(asked, folder) as ours:
        headers = {**_MCP, "Authorization": f"Bearer {ours.key}"}
        yield Way(ours.service, lambda _: [Request("POST", "/mcp", headers, _rpc("orders_get_order"))])


def registration(asked: Service) -> dict[str, object]:
    """The system as a connector."""
    return {
        "name": "orders",
        "base_url": asked.url,
        "private_network": True,
        "document": DOCUMENT,
        "limits": {"concurrent": 256},
    }


def tool_call(key: str, tool: str, arguments: object) -> Request:
    """A call through the gateway."""
    headers = {**_JSON, "Authorization": f"Bearer {key}"}
    return Request("POST", f"/v1/tools/{tool}/call", headers, json.dumps({"arguments": arguments}))


@contextlib.contextmanager
def fastmcp(asked: Service, python: str) -> Generator[Way]:
    """FastMCP over streamable HTTP, its tools made from the document; a session for each connection."""
    port = free_port()
    with running([python, "-c", _FASTMCP, json.dumps(DOCUMENT), asked.url, str(port)], port, "/mcp") as service:

        def session() -> Request:
            me = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}
            opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": me}
            headers = {**_MCP, "Mcp-Session-Id": service.ask("POST", "/mcp", opening, _MCP)[1]["mcp-session-id"]}
            service.ask("POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
            return Request("POST", "/mcp", headers, _rpc("get_order"))

        yield Way(service, lambda connections: [session() for _ in range(connections)])


@contextlib.contextmanager
def contextforge(asked: Service, python: str, folder: Path) -> Generator[Way]:
    """ContextForge with its embedded store: a tool of the type REST, called at /rpc, the leanest of its doors."""
    port, secret = free_port(), "a secret of a benchmark, longer than 32 bytes"
    environment = {
        "DATABASE_URL": f"sqlite:///{folder / 'mcp.db'}",
        "JWT_SECRET_KEY": secret,
        "AUTH_ENCRYPTION_SECRET": secret,
        "PLATFORM_ADMIN_EMAIL": "admin@example.com",
        "PLATFORM_ADMIN_PASSWORD": "Bench@Admin2026x",
        "BASIC_AUTH_PASSWORD": "Bench@Admin2026x",
        "RATE_LIMITING_ENABLED": "false",  # it counts calls by the minute
        "SSRF_ALLOW_LOCALHOST": "true",
        "SSRF_ALLOW_PRIVATE_NETWORKS": "true",
    }
    command = [str(Path(python).parent / "mcpgateway"), "--host", "127.0.0.1", "--port", str(port)]
    who = ["--username", "admin@example.com", "--admin", "--full-name", "Admin", "--exp", "600", "--secret", secret]
    with running(command, port, "/health", environment, str(folder)) as service:
        made = subprocess.run(
            [python, "-m", "mcpgateway.utils.create_jwt_token", *who],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder,
        )
        headers = {**_JSON, "Authorization": f"Bearer {made.stdout.split()[0]}"}
        wanted = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
        tool = {
            "name": "get_order",
            "url": f"{asked.url}/orders/{{id}}",
            "description": "One order",
            "integration_type": "REST",
            "request_type": "GET",
            "input_schema": wanted,
        }
        name = json.loads(service.ask("POST", "/tools", {"tool": tool}, headers)[0])["name"]
        yield Way(service, lambda _: [Request("POST", "/rpc", headers, _rpc(name))])


def _rpc(tool: str) -> str:
    call = {"name": tool, "arguments": ARGUMENTS}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
