"""Sets the stage: the systems are registered, the access rules set, the model put behind its alias."""

from pathlib import Path

from examples.demo.models import Choice
from examples.demo.screen import Screen
from examples.demo.systems import Systems
from practicum.client import Practicum
from practicum.contracts.access import RuleSet
from practicum.contracts.connectors import ConnectorSpec
from practicum.errors import ConflictError

RULES = Path(__file__).parents[1] / "rules.json"


def prepare(client: Practicum, systems: Systems, choice: Choice, screen: Screen) -> None:
    """Register what the tasks need; what an earlier run left is replaced.

    Args:
        client: speaks for the administrator.
        systems: the running systems.
        choice: the model.
        screen: told what is registered.

    Raises:
        PracticumError: the gateway refuses something.
    """
    connect(client, systems, screen)
    rules = client.rules.set(RuleSet.model_validate_json(RULES.read_bytes()))
    screen.line(f"  rules  {', '.join(rule.id for rule in rules.rules)}", "dim")
    info = client.models.register(choice.spec)
    screen.line(f"  model  {info.alias}: {info.version}", "dim")


def connect(client: Practicum, systems: Systems, screen: Screen) -> None:
    """Register the systems with their practice copies; what an earlier run left is replaced.

    Args:
        client: speaks for the administrator.
        systems: the running systems.
        screen: told what is registered.

    Raises:
        PracticumError: the gateway refuses one.
    """
    screen.heading("Connectors, from the OpenAPI documents that the systems serve")
    for spec in systems.specs():
        tools = _connect(client, spec)
        screen.line(f"  {spec.name:<6} {spec.source}: {tools} tools")


def _connect(client: Practicum, spec: ConnectorSpec) -> int:
    """Register a system; one that an earlier run registered at another port is replaced."""
    try:
        report = client.connectors.add(spec)
    except ConflictError:
        client.connectors.remove(spec.name)
        report = client.connectors.add(spec)
    return report.connector.tools
