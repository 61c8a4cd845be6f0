"""A state directory, its supervisor, and small real services."""

from collections.abc import Generator
from pathlib import Path

import pytest

from practicum.cli.services.state import StateDirectory
from practicum.cli.services.supervisor import Supervisor
from tests.sdk.services.dummies import Dummies


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    return StateDirectory(tmp_path / "state")


@pytest.fixture
def supervisor(state: StateDirectory) -> Generator[Supervisor]:
    supervisor = Supervisor(state)
    yield supervisor
    supervisor.down()


@pytest.fixture
def dummies(tmp_path: Path) -> Dummies:
    return Dummies(tmp_path)
