"""A whole Practicum in a folder of its own, as the journeys use it."""

import os
import signal
import time
from dataclasses import dataclass, field
from typing import Self

import httpx

from examples.demo.systems import Systems
from examples.systems.credentials import Credentials
from practicum import Practicum
from practicum.cli.services.local import bring_up, take_down
from practicum.cli.services.process import is_alive
from practicum.cli.services.stack import SYSTEMS, ModelServer, StackOptions
from practicum.cli.services.state import RunningService, StateDirectory
from practicum.contracts.access import Outcome, Rule, RuleSet
from practicum.contracts.models import ModelSpec, Provider
from practicum.testing import ScriptedModelServer

OPTIONS = StackOptions(examples=True, model=ModelServer.NONE, usual_ports=False)


@dataclass(frozen=True)
class House:
    """Temporal, the gateway, a worker and the three example systems, each a process.

    Attributes:
        state: its folder.
        client: speaks for the administrator.
        approver: speaks for somebody who may answer approvals.
        systems: the example systems, reached beside the gateway.
        options: what runs.
    """

    state: StateDirectory
    client: Practicum
    approver: Practicum
    systems: Systems
    options: StackOptions
    told: list[str] = field(default_factory=list[str])

    @classmethod
    def start(cls, state: StateDirectory, options: StackOptions = OPTIONS) -> Self:
        told: list[str] = []
        launch = bring_up(state, options, told.append)
        by_name = {service.name: service for service in launch.services}
        url, keys = by_name["gateway"].urls["Gateway"], state.keys()
        return cls(
            state=state,
            client=Practicum(url, keys.admin),
            approver=Practicum(url, keys.approver),
            systems=Systems(
                {name: f"http://127.0.0.1:{by_name[name].ports[name]}" for name in SYSTEMS},
                Credentials.from_environment(os.environ),
                practice_url=by_name["practice"].urls["Practice copies"],
                practice=Credentials.of_practice(os.environ),
            ),
            options=options,
            told=told,
        )

    def stop(self) -> None:
        self.client.close()
        self.approver.close()
        self.systems.close()
        take_down(self.state, self.told.append)

    def service(self, name: str) -> RunningService:
        return next(service for service in self.state.services() if service.name == name)

    def kill(self, name: str) -> RunningService:
        """Kill a service as a power cut would."""
        service = self.service(name)
        os.kill(service.process.pid, signal.SIGKILL)
        while is_alive(service.process):
            time.sleep(0.01)
        return service

    def mend(self) -> tuple[str, ...]:
        """Start again what died; what runs is kept."""
        return bring_up(self.state, self.options, self.told.append).started

    def connect_systems(self) -> None:
        """Register the three systems and allow what the journeys do; the same again is no error."""
        for spec in self.systems.specs():
            self.client.connectors.add(spec)
        self.client.rules.set(RuleSet(rules=(Rule(id="journeys", outcome=Outcome.ALLOW),)))

    def use_model(self, server: ScriptedModelServer, alias: str = "scripted") -> str:
        """Put a scripted model behind an alias."""
        self.client.models.register(
            ModelSpec(
                alias=alias,
                provider=Provider.LITELLM,
                target="openai/scripted",
                base_url=server.base_url,
                api_key="sk-scripted",
            )
        )
        return alias

    def healthy(self) -> bool:
        return httpx.get(f"{self.client.url}/healthz", trust_env=False).is_success
