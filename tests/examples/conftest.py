"""The example systems, served over real HTTP on loopback, and in this process."""

from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from examples.systems.cicd.app import create_app as create_cicd
from examples.systems.company import seed_states
from examples.systems.crm.app import create_app as create_crm
from examples.systems.erp.app import create_app as create_erp
from examples.systems.world import World
from tests.examples.loopback import CREDENTIALS, Clock, fetch_token
from tests.serving import in_a_thread


@pytest.fixture(scope="session")
def clock() -> Clock:
    """The time of the systems that are served here; it only ever moves on."""
    return Clock()


@pytest.fixture(scope="session")
def addresses(tmp_path_factory: pytest.TempPathFactory, clock: Clock) -> Generator[dict[str, str]]:
    """Base URLs of the three systems, which are served once for all tests."""
    data: Path = tmp_path_factory.mktemp("systems")
    seed = seed_states(1)
    apps = {
        "crm": create_crm(data / "crm.sqlite3", credentials=CREDENTIALS, seed=seed["crm"]),
        "erp": create_erp(data / "erp.sqlite3", credentials=CREDENTIALS, seed=seed["erp"], clock=clock),
        "cicd": create_cicd(
            data / "cicd.sqlite3", credentials=CREDENTIALS, seed=seed["cicd"], work_seconds=2, clock=clock
        ),
    }
    with ExitStack() as stack:
        yield {name: stack.enter_context(in_a_thread(app)) for name, app in apps.items()}
        for app in apps.values():
            app.state.books.store.close()


@pytest.fixture
def crm(addresses: dict[str, str]) -> Generator[httpx.Client]:
    """A client of the CRM, which is as it was seeded."""
    with httpx.Client(base_url=addresses["crm"], headers={"X-API-Key": CREDENTIALS.crm_api_key}, timeout=60) as client:
        client.post("/_practice/reset").raise_for_status()
        yield client


@pytest.fixture
def erp(addresses: dict[str, str]) -> Generator[httpx.Client]:
    """A client of the ERP, which is as it was seeded."""
    with httpx.Client(base_url=addresses["erp"], timeout=60) as client:
        client.headers["Authorization"] = f"Bearer {fetch_token(client)}"
        client.post("/_practice/reset").raise_for_status()
        yield client


@pytest.fixture
def cicd(addresses: dict[str, str]) -> Generator[httpx.Client]:
    """A client of the CI/CD system, which is as it was seeded."""
    headers = {"Authorization": f"Bearer {CREDENTIALS.cicd_token}"}
    with httpx.Client(base_url=addresses["cicd"], headers=headers, timeout=60) as client:
        client.post("/_practice/reset").raise_for_status()
        yield client


@pytest.fixture
async def world() -> AsyncGenerator[World]:
    """A private copy of the three systems, empty."""
    async with World() as private:
        yield private
