"""The whole house, started once for all journeys."""

from collections.abc import Generator

import pytest

from practicum.cli.services.installed import missing_of, temporal_program
from practicum.cli.services.state import StateDirectory
from tests.journeys.house import House


def require_everything() -> None:
    """Skip where what a whole house needs is not installed."""
    if temporal_program() is None or missing_of("gateway") or missing_of("workflows"):
        pytest.skip("needs the extras gateway, workflows and local")


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    """Real processes: Temporal, gateway, worker and the three systems, in a folder of their own."""
    require_everything()
    house = House.start(StateDirectory(tmp_path_factory.mktemp("house") / "state"))
    yield house
    house.stop()


@pytest.fixture
def house(stack: House) -> House:
    """The house with its systems registered; whatever a journey before killed is running again."""
    stack.mend()
    stack.connect_systems()
    return stack
