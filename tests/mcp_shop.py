"""A shop as an MCP server of the official SDK, in either form of the protocol, that remembers what was done to it."""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents, ToolAnnotations
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from tests.serving import on_this_loop

SECRET = "mcp-secret-canary-5d2e"
"""The shop's token: a fake one, searched for in what comes back."""
MODERN = "2026-07-28"
LOOKS = ToolAnnotations(read_only_hint=True)


class Order(BaseModel):
    """An order."""

    id: int
    state: str
    total: float


class Orders(BaseModel):
    """Orders."""

    orders: list[Order]


@dataclass
class McpShop:
    """What the shop knows and how it behaves.

    Attributes:
        older: whether it speaks only revisions with a handshake.
        token: what it wants to see as a bearer token; None for nothing.
        refunds: the refunds it gave.
        seen: the headers and the message of each request.
        failing: how many requests of tools it answers with 503 next.
        held: set once a refund has begun that waits for `released`.
        released: lets it end.
    """

    older: bool = False
    token: str | None = None
    json_response: bool = False
    refunds: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    seen: list[tuple[dict[str, str], dict[str, Any]]] = field(
        default_factory=list[tuple[dict[str, str], dict[str, Any]]]
    )
    failing: int = 0
    held: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    def __post_init__(self) -> None:
        self.server = MCPServer("Shop", version="1.0")
        add = self.server.add_tool
        add(self.get_order, name="get_order", annotations=LOOKS)
        add(self.list_orders, name="list_orders", annotations=LOOKS)
        add(self.mirror, name="mirror", annotations=LOOKS, structured_output=False)
        add(self.picture, name="picture", annotations=LOOKS)
        add(self.create_refund, name="create_refund", title="Refund an order")
        add(self.slow_refund, name="slow_refund")
        add(self.add_note, name="add_note", annotations=ToolAnnotations(destructive_hint=False))
        add(self.hours, name="opening hours/today", annotations=LOOKS)

    def get_order(self, id: int) -> Order:  # noqa: A002  (the argument's name)
        """Look at an order."""
        if id > 1000:
            raise ToolError(f"There is no order {id}.")
        return Order(id=id, state="paid", total=50.0)

    def list_orders(self, many: int) -> Orders:
        """List orders."""
        return Orders(orders=[Order(id=each, state="paid" * 10, total=1.0) for each in range(many)])

    def mirror(self, context: Context[Any, Any]) -> str:
        """Show the caller's headers."""
        headers = self.seen[-1][0]
        return f"You sent {headers.get('authorization')} in {context.request_id}."

    def picture(self) -> Any:
        """Show the shop."""
        text = TextResourceContents(uri="file:///shop.txt", text="It is open.")
        image = Image(data=b"\x89PNG-of-the-shop", format="png").to_image_content()
        return CallToolResult(content=[image, EmbeddedResource(resource=text), TextContent(text="Come in.")])

    def create_refund(self, order: int, amount: float) -> str:
        """Give money back."""
        self.refunds.append((order, amount))
        return f"refunded {amount:g} of {order}"

    async def slow_refund(self, order: int) -> str:
        """Give money back, in a while."""
        self.refunds.append((order, 1.0))
        self.held.set()
        await self.released.wait()
        return "done"

    def add_note(self, text: str) -> None:
        """Keep words."""
        del text

    def hours(self) -> str:
        """When it is open."""
        return "9 to 5"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at each request before the SDK does."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        first = await receive()
        body = first.get("body", b"")
        self.seen.append((headers, json.loads(body) if body else {}))
        method = self.seen[-1][1].get("method", "")
        if self.token is not None and headers.get("authorization") != f"Bearer {self.token}":
            await _answer(send, 401, {"error": "unauthorized"})
        elif self.older and headers.get("mcp-protocol-version") == MODERN:
            fault = {"code": -32600, "message": "Bad Request: Unsupported protocol version"}
            await _answer(send, 400, {"jsonrpc": "2.0", "id": "server-error", "error": fault})
        elif self.failing and method == "tools/call":
            self.failing -= 1
            await _answer(send, 503, {"error": "busy"})
        else:
            waiting = [first]

            async def again() -> Any:
                return waiting.pop() if waiting else await receive()

            await self._app(scope, again, send)

    @contextlib.asynccontextmanager
    async def served(self) -> AsyncGenerator["McpShop"]:
        """The shop on loopback."""
        self._app = self.server.streamable_http_app(json_response=self.json_response)
        config = uvicorn.Config(self, lifespan="on", log_level="critical", timeout_graceful_shutdown=1)
        async with on_this_loop(config) as url:
            self.url = f"{url}/mcp"
            yield self

    @contextlib.contextmanager
    def in_a_thread(self) -> Generator["McpShop"]:
        """The same for tests without an event loop."""
        ready, over = threading.Event(), asyncio.Event()
        loop = asyncio.new_event_loop()

        async def serve() -> None:
            async with self.served():
                ready.set()
                await over.wait()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
        thread.start()
        try:
            assert ready.wait(20), "the server did not start"
            yield self
        finally:
            loop.call_soon_threadsafe(over.set)
            thread.join(20)
            loop.close()

    def calls(self) -> list[dict[str, Any]]:
        """The parameters of every call of a tool."""
        return [message["params"] for _, message in self.seen if message.get("method") == "tools/call"]


async def _answer(send: Send, status: int, body: Any) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
