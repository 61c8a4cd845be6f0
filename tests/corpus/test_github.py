"""A large document that nobody here wrote, through the whole gateway: registered, searched, called."""

import gzip
import json
import os
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from practicum import Practicum
from practicum.cli.services.local import bring_up, take_down
from practicum.cli.services.stack import ModelServer, StackOptions
from practicum.cli.services.state import StateDirectory
from practicum.contracts.connectors import BearerAuth, ConnectorSpec
from practicum.contracts.tools import CallStatus, Effect

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("PRACTICUM_CORPUS", ROOT.parent / "shared" / "specs"))
DOCUMENT = FOLDER / "github_api.github.com.json.gz"
TOKEN = "ghp_not_a_real_token"

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not DOCUMENT.exists(), reason=f"there is no {DOCUMENT}; set PRACTICUM_CORPUS"),
]


class Api(BaseHTTPRequestHandler):
    """Answers one repository and remembers how it was asked."""

    asked: list[tuple[str, str, str | None]]

    def do_GET(self) -> None:
        self.asked.append((self.command, self.path, self.headers.get("Authorization")))
        body = json.dumps({"id": 1, "name": "hello", "full_name": "octo/hello", "private": False}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Keep quiet."""


@pytest.fixture
def api() -> Generator[tuple[str, list[tuple[str, str, str | None]]]]:
    asked: list[tuple[str, str, str | None]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Asked", (Api,), {"asked": asked}))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.fixture
def client(tmp_path: Path) -> Generator[Practicum]:
    state = StateDirectory(tmp_path / "state")
    told: list[str] = []
    launch = bring_up(state, StackOptions(examples=False, model=ModelServer.NONE, usual_ports=False), told.append)
    url = next(service for service in launch.services if service.name == "gateway").urls["Gateway"]
    with Practicum(url, state.keys().admin) as made:
        yield made
    take_down(state, told.append)


def test_githubs_document_is_registered_searched_and_called(
    client: Practicum, api: tuple[str, list[tuple[str, str, str | None]]]
) -> None:
    url, asked = api
    document = json.loads(gzip.decompress(DOCUMENT.read_bytes()))

    report = client.connectors.add(
        ConnectorSpec(
            name="github", document=document, base_url=url, auth=BearerAuth(token=TOKEN), private_network=True
        )
    )

    assert report.connector.tools > 1100
    assert len({row.tool for row in report.operations if row.tool}) == report.connector.tools
    found = client.tools.search("get a repository", pattern="github.*", limit=10)
    assert "github_repos_get" in [tool.name for tool in found]
    tool = client.tools.get("github_repos_get")
    assert tool.effect is Effect.READ

    seen = client.tools.call("github_repos_get", {"owner": "octo", "repo": "hello"})

    assert seen.status is CallStatus.OK
    assert json.loads(seen.content)["full_name"] == "octo/hello"
    assert asked == [("GET", "/repos/octo/hello", f"Bearer {TOKEN}")]
    assert TOKEN not in seen.model_dump_json()
