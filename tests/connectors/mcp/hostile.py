"""A server of the present revision that says whatever a test wants it to say."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from practicum.contracts.connectors import BearerAuth, ConnectorLimits, ConnectorSpec
from practicum_connectors import CompiledConnector, load_source
from tests.serving import on_this_loop

OBJECT: dict[str, Any] = {"type": "object", "properties": {"q": {"type": "string"}}}
LOOKS = {"readOnlyHint": True}
SECRET = "hostile-canary-77aa"


@dataclass(frozen=True)
class Raw:
    """An answer that is none of JSON-RPC's."""

    status: int = 200
    body: bytes = b""
    media_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    endless: bool = False


@dataclass(frozen=True)
class Fault:
    """An error of the protocol."""

    code: int
    message: str = "no"
    status: int = 200


@dataclass
class Hostile:
    """A server of the present revision, scripted: what it lists, what a call gives, what lies beside it."""

    tools: Any = field(default_factory=lambda: [{"name": "act", "inputSchema": OBJECT}])
    pages: Callable[[str | None], Any] | None = None
    call: Any = field(default_factory=dict[str, Any])
    greeting: Any = None
    over: bool = False
    beside: dict[str, Any] = field(default_factory=dict[str, Any])
    calls: int = 0
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list[tuple[str, dict[str, str]]])
    url: str = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        asked: dict[str, Any] = json.loads(body) if scope["path"] == "/mcp" else {"method": scope["path"]}
        self.asked.append((asked["method"], headers))
        await self._answer(asked, send)

    def _said(self, asked: dict[str, Any]) -> Any:
        match asked["method"]:
            case "server/discover" | "initialize" if self.greeting is not None:
                return self.greeting
            case "server/discover":
                return {
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {},
                    "serverInfo": {"name": "Hos\n\x1btile"},
                }
            case "tools/list":
                cursor = asked["params"].get("cursor")
                return {"tools": self.tools} if self.pages is None else self.pages(cursor)
            case "tools/call":
                self.calls += 1
                return self.call(asked) if callable(self.call) else self.call
            case path:
                return Raw(body=json.dumps(self.beside[path]).encode()) if path in self.beside else Raw(404)

    async def _answer(self, asked: dict[str, Any], send: Send) -> None:
        said = self._said(asked)
        head = {"jsonrpc": "2.0", "id": asked.get("id")}
        if isinstance(said, Fault):
            error = {"code": said.code, "message": said.message}
            said = Raw(said.status, json.dumps({**head, "error": error}).encode())
        elif not isinstance(said, Raw):
            said = Raw(body=json.dumps({**head, "result": said}).encode())
        pairs = [("content-type", said.media_type), *said.headers]
        encoded = [(name.encode(), value.encode()) for name, value in pairs]
        await send({"type": "http.response.start", "status": said.status, "headers": encoded})
        await send({"type": "http.response.body", "body": said.body, "more_body": said.endless})
        while said.endless and not self.over:
            await asyncio.sleep(0.01)
            await send({"type": "http.response.body", "body": b": still here\n\n", "more_body": True})


@asynccontextmanager
async def hostile() -> AsyncGenerator[Hostile]:
    made = Hostile()
    config = uvicorn.Config(made, lifespan="off", log_level="critical", timeout_graceful_shutdown=1)
    async with on_this_loop(config) as url:
        made.url = f"{url}/mcp"
        yield made
        made.over = True


def spec_of(server: Hostile, **fields: Any) -> ConnectorSpec:
    limits = ConnectorLimits(timeout_seconds=0.6, attempts=1, breaker_failures=1000)
    said: dict[str, Any] = {"private_network": True, "limits": limits, "auth": BearerAuth(token=SECRET)} | fields
    return ConnectorSpec(name="odd", mcp=server.url, **said)


async def opened(server: Hostile, **fields: Any) -> CompiledConnector:
    spec = spec_of(server, **fields)
    return CompiledConnector.compile(spec, await load_source(spec))


def event(*messages: Any) -> bytes:
    return b"".join(b"event: message\r\ndata: " + json.dumps(each).encode() + b"\r\n\r\n" for each in messages)
