"""A gateway of its own for each real server."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from practicum import Practicum
from practicum.cli.services.local import bring_up, take_down
from practicum.cli.services.stack import ModelServer, StackOptions
from practicum.cli.services.state import StateDirectory
from practicum.contracts.access import Outcome, Rule, RuleSet
from practicum.contracts.tools import CallStatus, Observation


@dataclass(frozen=True)
class Caller:
    """Calls tools through the gateway, as a person does."""

    client: Practicum

    def call(self, tool: str, **arguments: Any) -> Any:
        """The answer of a call that succeeds, as JSON."""
        seen = self.seen(tool, **arguments)
        assert seen.status is CallStatus.OK, seen
        return json.loads(seen.content)

    def seen(self, tool: str, **arguments: Any) -> Observation:
        """What is told of a call."""
        return self.client.tools.call(tool, arguments)


@pytest.fixture
def caller(tmp_path: Path) -> Generator[Caller]:
    state = StateDirectory(tmp_path / "state")
    told: list[str] = []
    launch = bring_up(state, StackOptions(examples=False, model=ModelServer.NONE, usual_ports=False), told.append)
    url = next(service for service in launch.services if service.name == "gateway").urls["Gateway"]
    with Practicum(url, state.keys().admin) as client:
        client.rules.set(RuleSet(rules=(Rule(id="journeys", outcome=Outcome.ALLOW),)))
        yield Caller(client)
    take_down(state, told.append)
