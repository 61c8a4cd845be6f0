"""What makes up a local Practicum."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from practicum.cli.services.installed import INSTALL_EMBEDDER, missing_for_embedder, missing_of, temporal_program
from practicum.cli.services.stack import EMBEDDER, PREFERRED_PORTS, SYSTEMS, ModelServer, Stack, StackOptions
from practicum.cli.services.state import StateDirectory
from practicum.cli.services.supervisor import Service, Supervisor
from practicum.errors import ConfigurationError
from tests.sdk.services.dummies import Dummies, free_port

pytestmark = pytest.mark.skipif(
    bool(missing_of("gateway")) or temporal_program() is None, reason="needs the extras gateway and local"
)

ROOT = Path(__file__).parents[3]
PLAN = """
from pathlib import Path
from practicum.cli.services.stack import ModelServer, Stack, StackOptions
from practicum.cli.services.state import StateDirectory
from practicum.errors import ConfigurationError
try:
    Stack(StateDirectory(Path("state")), StackOptions(model=ModelServer.NONE, examples=True)).waves()
except ConfigurationError as error:
    print(error)
"""
DEMO = """
from practicum.cli.services.demo import run_demo
from practicum.errors import ConfigurationError
try:
    run_demo([])
except ConfigurationError as error:
    print(error)
"""


def _services(state: StateDirectory, options: StackOptions | None = None) -> dict[str, Service]:
    options = options or StackOptions(model=ModelServer.NONE, usual_ports=False)
    return {service.name: service for wave in Stack(state, options).waves() for service in wave}


def test_the_worker_starts_last_and_the_gateway_after_what_it_needs(state: StateDirectory) -> None:
    waves = Stack(state, StackOptions(model=ModelServer.NONE, examples=True, usual_ports=False)).waves()

    names = [[service.name for service in wave] for wave in waves]
    assert names == [["temporal", *SYSTEMS, "practice"], ["gateway"], ["worker"]]


def test_the_embedding_model_is_served_where_it_is_asked_for(state: StateDirectory) -> None:
    if missing_for_embedder():
        pytest.skip(f"the local embedding model is not installed: {INSTALL_EMBEDDER}")
    service = _services(state, StackOptions(model=ModelServer.NONE, embedder=True, usual_ports=False))[EMBEDDER]
    assert "--embeddings" in service.command
    assert service.ports[EMBEDDER] == int(service.command[-1])
    assert EMBEDDER not in _services(state)


def test_every_service_knows_the_others_by_their_ports(state: StateDirectory) -> None:
    services = _services(state)
    temporal = f"127.0.0.1:{services['temporal'].ports['temporal']}"

    assert services["gateway"].environment["PRACTICUM_TEMPORAL_ADDRESS"] == temporal
    assert services["worker"].environment["PRACTICUM_TEMPORAL_ADDRESS"] == temporal
    assert services["worker"].environment["PRACTICUM_URL"] == services["gateway"].urls["Gateway"]


def test_no_secret_stands_on_a_command_line_or_where_it_is_not_needed(
    state: StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-provider")
    monkeypatch.setenv("CRM_API_KEY", "crm-secret")
    monkeypatch.setenv("PRACTICE_TOKEN", "practice-secret")
    keys = state.keys()
    services = _services(state, StackOptions(model=ModelServer.NONE, examples=True, usual_ports=False))

    commands = " ".join(part for service in services.values() for part in service.command)
    assert not any(secret in commands for secret in (keys.admin, keys.worker, keys.approver))
    holders = {name for name, service in services.items() if "sk-provider" in service.environment.values()}
    assert holders == {"gateway"}
    assert services["worker"].secrets == {"PRACTICUM_API_KEY": keys.worker}
    assert services["crm"].secrets == {"CRM_API_KEY": "crm-secret"}
    assert services["practice"].secrets == {"PRACTICE_TOKEN": "practice-secret"}
    assert keys.admin not in {*services["worker"].environment.values(), *services["crm"].environment.values()}


def test_a_port_that_was_asked_for_and_is_in_use_is_one_clear_error(state: StateDirectory) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = int(other.getsockname()[1])

        with pytest.raises(ConfigurationError, match=f"Port {port}, asked for by 'gateway', is in use"):
            _services(state, StackOptions(model=ModelServer.NONE, port=port))


def test_nobody_else_takes_the_port_that_was_asked_for(state: StateDirectory) -> None:
    usual = PREFERRED_PORTS["temporal"]
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", usual)) == 0:
            pytest.skip("a Temporal of somebody else listens on the usual port")

    services = _services(state, StackOptions(model=ModelServer.NONE, port=usual))

    assert services["gateway"].ports == {"gateway": usual}
    assert services["temporal"].ports["temporal"] != usual


def test_what_is_missing_is_planned_again_on_its_old_port(
    state: StateDirectory, supervisor: Supervisor, dummies: Dummies
) -> None:
    temporal, gateway = dummies.server("temporal"), dummies.server("gateway")
    before = supervisor.up([[temporal], [gateway]])
    os.kill(before.services[1].process.pid, signal.SIGKILL)
    old = {"gateway": free_port()}
    state.write_services(tuple(each.model_copy(update={"ports": old}) for each in before.services if each.ports))

    services = _services(state)

    assert services["gateway"].ports == old
    with pytest.raises(ConfigurationError, match="practicum down"):
        _services(state, StackOptions(model=ModelServer.NONE, port=free_port()))


def test_the_examples_are_found_from_elsewhere_too(
    state: StateDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    services = _services(state, StackOptions(model=ModelServer.NONE, examples=True, usual_ports=False))

    assert services["erp"].directory == ROOT


@pytest.mark.parametrize("code", [PLAN, DEMO])
def test_an_installation_without_the_examples_says_so(tmp_path: Path, code: str) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "practicum").symlink_to(ROOT / "sdk" / "practicum")
    (tmp_path / "elsewhere").mkdir()

    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "elsewhere",
        env={**os.environ, "PYTHONPATH": str(site)},
        check=True,
        capture_output=True,
        text=True,
    )

    assert "there is no folder `examples` here" in told.stdout
    assert "checkout" in told.stdout
