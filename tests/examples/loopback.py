"""What the tests of the example systems share: a server on loopback, a clock, credentials."""

import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
import uvicorn
from starlette.types import ASGIApp

from examples.systems.credentials import Credentials

CREDENTIALS = Credentials(
    crm_api_key="test-crm-key",
    erp_client_id="test-client",
    erp_client_secret="test-erp-secret",
    cicd_token="test-cicd-token",
)


@dataclass
class Clock:
    """A clock that moves when it is told to."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def served(app: ASGIApp) -> Generator[str]:
    """Serve an app on a free port of loopback from a thread; gives its base URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        deadline = time.monotonic() + 10
        while not server.started:
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def fetch_token(client: httpx.Client) -> str:
    form = {"grant_type": "client_credentials"}
    basic = (CREDENTIALS.erp_client_id, CREDENTIALS.erp_client_secret)
    return client.post("/oauth/token", data=form, auth=basic).raise_for_status().json()["access_token"]
