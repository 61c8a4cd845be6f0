"""Practice copies of the systems, over real HTTP."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.systems.company import seed_states
from examples.systems.copies import Copies
from examples.systems.credentials import Credentials
from tests.examples.loopback import Clock
from tests.examples.processes import free_port, started
from tests.serving import in_a_thread

TOKEN = "test-practice-token"
CUSTOMERS = {"customers": {"C-1": {"name": "Ada", "email": "ada@home.example", "city": "Bern"}}}
ORDERS = {
    "orders": {
        "7": {"customer_id": "C-1", "sku": "K-1", "quantity": 1, "status": "delivered", "paid": 20.0, "refunded": 0.0}
    }
}


@dataclass
class Server:
    """The practice server as its user sees it."""

    url: str
    clock: Clock
    client: httpx.Client = field(default_factory=httpx.Client)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return self.client.request(method, f"{self.url}{path}", json=body, headers=headers or self.keys(path))

    def keys(self, path: str) -> dict[str, str]:
        if path.startswith("/crm"):
            return {"X-API-Key": TOKEN}
        return {"Authorization": f"Bearer {self.token(path.split('/')[2]) if path.startswith('/erp') else TOKEN}"}

    def token(self, copy: str) -> str:
        form = {"grant_type": "client_credentials"}
        issued = self.client.post(f"{self.url}/erp/{copy}/oauth/token", data=form, auth=("practicum", TOKEN))
        return issued.raise_for_status().json()["access_token"]

    def begin(self, system: str, copy: str, state: Any) -> None:
        assert self("PUT", f"/{system}/{copy}/_practice/state", state).status_code == 204


@contextmanager
def serving(**settings: Any) -> Generator[Server]:
    clock = Clock()
    copies = Copies(Credentials.of_practice({"PRACTICE_TOKEN": TOKEN}), clock=clock, **settings)
    with in_a_thread(copies) as url, httpx.Client(timeout=60) as client:
        yield Server(url, clock, client)
    copies.close()


@pytest.fixture
def server() -> Generator[Server]:
    with serving() as running:
        yield running


def problem(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code
    return answer.status_code, answer.json()["detail"]


def test_a_copy_begins_with_its_state_and_is_the_whole_system(server: Server) -> None:
    server.begin("crm", "ep_1", CUSTOMERS)

    assert server("GET", "/crm/ep_1/customers/C-1").json()["city"] == "Bern"
    assert server("POST", "/crm/ep_1/customers/C-1/notes", {"text": "hello"}).status_code == 201
    state = server("GET", "/crm/ep_1/_practice/state").json()
    assert state["notes"] == {"1": {"customer_id": "C-1", "text": "hello"}}
    assert server("GET", "/crm/ep_1/_practice/effects").json()["count"] == 1


def test_copies_do_not_see_each_other(server: Server) -> None:
    for copy in ("ep_1", "ep_2"):
        server.begin("erp", copy, ORDERS)

    assert server("POST", "/erp/ep_1/orders/7/refunds", {"amount": 5}).status_code == 201

    assert server("GET", "/erp/ep_1/orders/7").json()["refunded"] == 5
    assert server("GET", "/erp/ep_2/orders/7").json()["refunded"] == 0
    assert server("GET", "/erp/ep_2/_practice/effects").json()["count"] == 0


def test_a_copy_is_put_back(server: Server) -> None:
    server.begin("crm", "ep_1", CUSTOMERS)
    server("POST", "/crm/ep_1/customers/C-1/notes", {"text": "gone soon"})

    server.begin("crm", "ep_1", CUSTOMERS)

    assert server("GET", "/crm/ep_1/_practice/state").json() == {"notes": {}, "tickets": {}, **CUSTOMERS}
    assert server("GET", "/crm/ep_1/_practice/effects").json()["count"] == 0


def test_a_copy_can_begin_as_the_system_is_seeded() -> None:
    with serving(seed=3) as server:
        assert server("POST", "/cicd/ep_1/_practice/reset").status_code == 204
        assert server("GET", "/cicd/ep_1/_practice/state").json() == seed_states(3)["cicd"]


def test_an_unknown_copy_does_not_come_to_be_by_itself(server: Server) -> None:
    requests = [
        ("GET", "/crm/ep_1/customers"),
        ("GET", "/crm/ep_1/_practice/state"),
        ("DELETE", "/crm/ep_1/_practice/state"),
        ("POST", "/cicd/ep_1/deployments"),
    ]
    for method, path in requests:
        assert problem(server(method, path))[0] == 404
    assert problem(server("GET", "/payroll/ep_1/people", **{"X-API-Key": TOKEN}))[0] == 404
    assert problem(server("GET", "/crm", **{"X-API-Key": TOKEN}))[0] == 404


def test_an_ended_copy_is_gone(server: Server) -> None:
    server.begin("crm", "ep_1", CUSTOMERS)

    assert server("DELETE", "/crm/ep_1/_practice/state").status_code == 204

    assert problem(server("GET", "/crm/ep_1/customers"))[0] == 404
    assert problem(server("DELETE", "/crm/ep_1/_practice/state"))[0] == 404


@pytest.mark.parametrize("method", ["PUT", "GET", "DELETE"])
@pytest.mark.parametrize("system", ["crm", "erp", "cicd"])
def test_a_stranger_may_do_nothing(server: Server, method: str, system: str) -> None:
    path = f"/{system}/ep_1/_practice/state"
    wrong = {"X-API-Key": "guess", "Authorization": "Bearer guess"}
    assert server("PUT", path, {}, **wrong).status_code == 401
    assert problem(server("GET", path))[0] == 404
    server.begin(system, "ep_1", {})

    assert server(method, path, {} if method == "PUT" else None, **wrong).status_code == 401
    assert server("GET", path).status_code == 200


def test_a_state_that_does_not_fit_begins_nothing(server: Server) -> None:
    refused = server("PUT", "/crm/ep_1/_practice/state", {"dragons": {}})

    assert refused.status_code == 422
    assert "no such table" in refused.text
    assert problem(server("GET", "/crm/ep_1/_practice/state"))[0] == 404


def test_a_copys_document_says_where_the_copy_is(server: Server) -> None:
    server.begin("erp", "ep_1", {})

    document = server("GET", "/erp/ep_1/openapi.json").json()

    flow = document["components"]["securitySchemes"]["OAuth2"]["flows"]["clientCredentials"]
    base = httpx.URL(server.url).join(f"{document['servers'][0]['url']}/")
    assert base.join(flow["tokenUrl"]) == f"{server.url}/erp/ep_1/oauth/token"


def test_work_is_done_by_the_next_request(server: Server) -> None:
    build = {"service": "shop", "status": "passed", "failed_test": None, "retry_of": None}
    server.begin(
        "cicd", "ep_1", {"services": {"shop": {"live_build": None, "previous_build": None}}, "builds": {"4": build}}
    )
    assert server("POST", "/cicd/ep_1/deployments", {"build_id": 4}).status_code == 202

    assert server("GET", "/cicd/ep_1/deployments/1").json()["status"] == "succeeded"


def test_when_all_copies_are_in_use_one_more_is_refused() -> None:
    with serving(most=2, idle_seconds=60) as server:
        server.begin("crm", "ep_1", {})
        server.begin("crm", "ep_2", {})

        refused = server("PUT", "/crm/ep_3/_practice/state", {})

        assert problem(refused)[0] == 429
        assert refused.headers["retry-after"] == "5"
        server.begin("crm", "ep_2", CUSTOMERS)  # one that is there needs no room
        server("DELETE", "/crm/ep_1/_practice/state")
        server.begin("crm", "ep_3", {})


def test_the_longest_idle_copy_gives_way() -> None:
    with serving(most=2, idle_seconds=60) as server:
        server.begin("crm", "ep_1", CUSTOMERS)
        server.begin("crm", "ep_2", {})
        server.clock.now += 59
        server("GET", "/crm/ep_1/customers")
        server.clock.now += 1

        server.begin("crm", "ep_3", {})

        assert problem(server("GET", "/crm/ep_2/customers"))[0] == 404
        assert server("GET", "/crm/ep_1/_practice/state").json()["customers"] == CUSTOMERS["customers"]


def test_it_runs_as_a_process_and_prints_no_secret(tmp_path: Path) -> None:
    port = free_port()
    with started("practice_server", tmp_path / "log", port, "--most", "1", secrets={"PRACTICE_TOKEN": TOKEN}) as log:
        with httpx.Client(timeout=60) as client:
            server = Server(f"http://127.0.0.1:{port}", Clock(), client)
            server.begin("crm", "ep_1", CUSTOMERS)
            assert server("PUT", "/crm/ep_2/_practice/state", {}).status_code == 429
            assert server("GET", "/crm/ep_1/customers", **{"X-API-Key": "practice-dev-token"}).status_code == 401
        assert TOKEN not in log.read_text()


def test_room_for_none_is_refused() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "examples.systems.practice_server", "--port", "1", "--most", "0"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "--most" in ended.stderr
