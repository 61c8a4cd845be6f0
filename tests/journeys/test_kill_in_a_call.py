"""Worker or gateway is killed while a system works on a side effect: it is asked for once, whatever becomes of it."""

from collections.abc import Generator
from pathlib import Path

import pytest

from practicum.cli.services.state import StateDirectory
from practicum.contracts.episodes import EpisodeStatus
from practicum.contracts.tools import CallStatus
from practicum.testing import RecordedRequest, Reply, ScriptedModelServer, call, say
from tests.journeys.conftest import require_everything
from tests.journeys.house import House
from tests.journeys.slow_system import SlowSystem
from tests.postgres import PostgresServer

pytestmark = [pytest.mark.journey, pytest.mark.timeout(600)]


@pytest.fixture
def house(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[House]:
    """The house of all journeys, or one of its own whose gateway keeps its store in PostgreSQL."""
    if getattr(request, "param", "sqlite") == "sqlite":
        shared: House = request.getfixturevalue("stack")
        shared.mend()
        shared.connect_systems()
        yield shared
        return
    require_everything()
    postgres: PostgresServer = request.getfixturevalue("postgres")
    with postgres.database() as url:
        monkeypatch.setenv("PRACTICUM_DATABASE_URL", url)
        own = House.start(StateDirectory(tmp_path / "state"))
        own.connect_systems()
        assert not list(own.state.path.glob("*.sqlite3"))
        yield own
        own.stop()


@pytest.fixture
def slow() -> Generator[SlowSystem]:
    with SlowSystem() as system:
        yield system


def _answer(request: RecordedRequest) -> Reply:
    if any(isinstance(message, dict) and message.get("role") == "tool" for message in request.messages):
        return say("That is all.")
    connector = "shipping"
    return call(f"{connector}_ship_parcel", {"order_id": 7})


def _register(house: House, slow: SlowSystem) -> None:
    if any(connector.name == "shipping" for connector in house.client.connectors.list()):
        house.client.connectors.remove("shipping")
    house.client.connectors.add(slow.spec("shipping"))


def test_a_call_under_way_outlives_its_worker(house: House, slow: SlowSystem) -> None:
    _register(house, slow)
    with ScriptedModelServer(_answer) as model:
        handle = house.client.episodes.start("Ship order 7.", model=house.use_model(model), tools="shipping.*")
        assert slow.asked.wait(60)
        house.kill("worker")
        assert house.mend() == ("worker",)
        slow.go_on.set()
        result = handle.result(timeout=300)

    made = house.client.trajectories.get(handle.id).invocations
    assert (result.status, result.answer) == (EpisodeStatus.COMPLETED, "That is all.")
    assert [(each.step, each.call, each.observation.status) for each in made] == [(0, 0, CallStatus.OK)]
    assert slow.shipped == 1


@pytest.mark.parametrize("house", ["sqlite", "postgresql"], indirect=True)
def test_a_call_whose_gateway_died_is_in_doubt_and_not_repeated(house: House, slow: SlowSystem) -> None:
    _register(house, slow)
    with ScriptedModelServer(_answer) as model:
        handle = house.client.episodes.start("Ship order 7.", model=house.use_model(model), tools="shipping.*")
        assert slow.asked.wait(60)
        house.kill("gateway")
        slow.go_on.set()
        assert house.mend() == ("gateway",)
        result = handle.result(timeout=300)

    made = house.client.trajectories.get(handle.id).invocations
    assert (result.status, result.answer) == (EpisodeStatus.COMPLETED, "That is all.")
    assert [(each.step, each.call, each.observation.status) for each in made] == [(0, 0, CallStatus.IN_DOUBT)]
    assert slow.shipped == 1
