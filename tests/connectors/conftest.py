"""One system on loopback for all tests of this folder, fresh for each."""

from collections.abc import Iterator

import pytest

from tests.connectors.loopback import System
from tests.serving import in_a_thread


@pytest.fixture(scope="session")
def _running_system() -> Iterator[System]:
    app = System()
    with in_a_thread(app) as url:
        app.url = url
        yield app


@pytest.fixture
def system(_running_system: System) -> System:
    _running_system.reset()
    return _running_system
