"""A system that takes its time over a side effect, and counts how often it was asked for it."""

import json
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from types import TracebackType
from typing import Any, Self

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ConnectorSpec

DOCUMENT: JsonObject = {
    "openapi": "3.1.0",
    "info": {"title": "Shipping", "version": "1"},
    "paths": {
        "/parcels": {
            "post": {
                "operationId": "ship_parcel",
                "summary": "Ship a parcel",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "properties": {"order_id": {"type": "integer"}},
                                "required": ["order_id"],
                            }
                        }
                    },
                },
                "responses": {
                    "201": {
                        "description": "Shipped",
                        "content": {
                            "application/json": {
                                "schema": {"type": "object", "properties": {"parcel": {"type": "integer"}}}
                            }
                        },
                    }
                },
            }
        }
    },
}


class SlowSystem:
    """Ships parcels, each when it is told to go on.

    Attributes:
        asked: set once a shipment is under way.
        go_on: lets shipments under way be answered.
        shipped: how many were asked for.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.go_on = threading.Event()
        self.shipped = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def spec(self, name: str) -> ConnectorSpec:
        return ConnectorSpec(
            name=name,
            document=DOCUMENT,
            base_url=f"http://127.0.0.1:{self._server.server_address[1]}",
            private_network=True,
        )

    def ship(self) -> int:
        """Take an order in, and hold its answer back until it may go on."""
        self.shipped += 1
        parcel = self.shipped
        self.asked.set()
        self.go_on.wait(60)
        return parcel


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, system: SlowSystem, request: Any, client: Any, server: BaseServer) -> None:
        self._system = system
        super().__init__(request, client, server)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"parcel": self._system.ship()}).encode()
        try:
            self.send_response(201)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # whoever asked was killed meanwhile

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the name that http.server calls
        del format, args
