"""A server of the present revision, or of one with sessions, that says whatever a test wants it to say."""

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
    """A server of the present revision, scripted: what it lists, what a call gives, what lies beside it.

    With a `session` it speaks a revision with a handshake, and answers no goodbye unless it is `polite`. `slow` seconds
    pass before it answers every other call.
    """

    tools: Any = field(default_factory=lambda: [{"name": "act", "inputSchema": OBJECT}])
    pages: Callable[[str | None], Any] | None = None
    call: Any = field(default_factory=dict[str, Any])
    greeting: Any = None
    greets: asyncio.Event = field(default_factory=asyncio.Event)
    session: str | None = None
    slow: float = 0.0
    polite: bool = True
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
        other = scope["path"] if scope["path"] != "/mcp" else "DELETE" if scope["method"] == "DELETE" else None
        asked: dict[str, Any] = json.loads(body) if other is None else {"method": other}
        self.asked.append((asked["method"], headers))
        said = self._said(asked)
        if asked["method"] == "tools/call" and self.calls % 2:
            await asyncio.sleep(self.slow)
        await self._answer(asked, said, send)

    def _said(self, asked: dict[str, Any]) -> Any:
        match asked["method"]:
            case "server/discover" | "initialize" | "notifications/initialized" | "DELETE":
                return self._greeted(asked)
            case "tools/list":
                cursor = asked["params"].get("cursor")
                return {"tools": self.tools} if self.pages is None else self.pages(cursor)
            case "tools/call":
                self.calls += 1
                return self.call(asked) if callable(self.call) else self.call
            case path:
                return Raw(body=json.dumps(self.beside[path]).encode()) if path in self.beside else Raw(404)

    def _greeted(self, asked: dict[str, Any]) -> Any:
        match asked["method"]:
            case "server/discover" | "initialize" if self.greeting is not None:
                self.greets.set()
                return self.greeting
            case "server/discover" if self.session is None:
                about = {"name": "Hos\n\x1btile"}
                return {"supportedVersions": ["2026-07-28"], "capabilities": {}, "serverInfo": about}
            case "initialize":
                hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "Hostile"}}
                body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": hello}).encode()
                return Raw(body=body, headers=(("mcp-session-id", self.session or ""),))
            case "DELETE":
                return Raw(endless=not self.polite)
            case method:
                return Raw(405 if method == "server/discover" else 202)

    async def _answer(self, asked: dict[str, Any], said: Any, send: Send) -> None:
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
