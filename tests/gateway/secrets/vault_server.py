"""A real OpenBao in development mode on loopback, and what tests set up in it."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx

ROOT = "root-token-of-the-tests"


class VaultServer:
    """Asked as root over HTTP."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.client = httpx.Client(base_url=f"{url}/v1", headers={"X-Vault-Token": ROOT}, timeout=30)

    def do(self, method: str, path: str, **body: Any) -> Any:
        answer = self.client.request(method, path, json=body or None)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def put(self, path: str, **fields: str) -> None:
        self.do("POST", f"secret/data/{path}", data=fields)

    def app_role(self, name: str, policy: str, **more: Any) -> tuple[str, str]:
        """A role with a policy of its own: its role id and a secret id."""
        self.do("PUT", f"sys/policies/acl/{name}", policy=policy)
        self.do("POST", f"auth/approle/role/{name}", token_policies=name, **more)
        role = self.do("GET", f"auth/approle/role/{name}/role-id")["data"]["role_id"]
        return role, self.do("POST", f"auth/approle/role/{name}/secret-id")["data"]["secret_id"]


@contextlib.contextmanager
def running(program: Path, folder: Path) -> Generator[VaultServer]:
    """A server of its own, with the engines and methods that the tests use."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(program), "server", "-dev", f"-dev-root-token-id={ROOT}", "-dev-no-store-token"]
    log = (folder / "bao.log").open("wb")
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
    process = subprocess.Popen(
        [*command, f"-dev-listen-address=127.0.0.1:{port}"], stdout=log, stderr=log, env=environment
    )
    try:
        server = VaultServer(f"http://127.0.0.1:{port}")
        _wait(server, process)
        server.do("POST", "sys/mounts/transit", type="transit")
        server.do("POST", "sys/auth/approle", type="approle")
        yield server
        server.client.close()
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def _wait(server: VaultServer, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise AssertionError("OpenBao ended")
        with contextlib.suppress(httpx.TransportError):
            if server.client.get("sys/health").is_success:
                return
        time.sleep(0.05)
    raise AssertionError("OpenBao did not come up")
