"""A system on loopback that answers at once and remembers what it was asked: `python -m benchmarks.upstream PORT`.

`GET /seen` tells how often each request came: method, path and body of those with one.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable

ORDER = {"id": "17", "customer": "octo", "status": "shipped", "total": 42.5, "lines": [{"sku": "a-1", "count": 2}]}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Orders", "version": "1"},
    "paths": {
        "/orders/{id}": {
            "get": {
                "operationId": "get_order",
                "summary": "One order",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {
                    "200": {
                        "description": "The order",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}},
                    }
                },
            }
        },
        "/notes": {
            "post": {
                "operationId": "add_note",
                "summary": "Add a note",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Note"}}},
                },
                "responses": {"201": {"description": "Added"}},
            }
        },
    },
    "components": {
        "schemas": {
            "Order": {
                "type": "object",
                "required": ["id", "customer", "status", "total"],
                "properties": {
                    "id": {"type": "string"},
                    "customer": {"type": "string"},
                    "status": {"type": "string"},
                    "total": {"type": "number"},
                    "lines": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}},
                        },
                    },
                },
            },
            "Note": {
                "type": "object",
                "required": ["text"],
                "properties": {"text": {"type": "string", "maxLength": 200}},
            },
        }
    },
}
"""The system as its OpenAPI document describes it."""
_ANSWERS = {"GET": (200, json.dumps(ORDER).encode()), "POST": (201, b'{"id": "1"}')}


class Answering(asyncio.Protocol):
    """One connection that is answered at once, request by request."""

    def __init__(self, answer: Callable[[str, str, asyncio.Transport], None]) -> None:
        """Answer with a function, which is given the method with the path, the body, and where the answer goes."""
        self._answer = answer
        self._transport: asyncio.Transport | None = None
        self._came = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole."""
        self._came += data
        while (end := self._came.find(b"\r\n\r\n")) >= 0:
            head = self._came[:end].decode("latin-1")
            lengths = [line[15:] for line in head.lower().split("\r\n") if line.startswith("content-length:")]
            whole = end + 4 + (int(lengths[0]) if lengths else 0)
            if len(self._came) < whole:
                return
            body, self._came = self._came[end + 4 : whole], self._came[whole:]
            if self._transport is not None:
                self._answer(head.partition(" HTTP/")[0], body.decode(), self._transport)


async def serve(port: int, answer: Callable[[str, str, asyncio.Transport], None]) -> None:
    """Answer on a port of loopback until ended."""
    server = await asyncio.get_running_loop().create_server(lambda: Answering(answer), "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


def json_answer(status: int, body: bytes) -> bytes:
    """An answer as it goes over the wire."""
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def main() -> None:
    """Serve until ended."""
    seen: Counter[str] = Counter()

    def answer(asked: str, body: str, transport: asyncio.Transport) -> None:
        method, _, path = asked.partition(" ")
        if path == "/seen":
            transport.write(json_answer(200, json.dumps(seen).encode()))
            return
        seen[f"{asked} {body}".rstrip()] += 1
        transport.write(json_answer(*_ANSWERS[method]))

    await serve(int(sys.argv[1]), answer)


if __name__ == "__main__":
    asyncio.run(main())
