"""The commands about services, over a folder where nothing big runs."""

import json

import pytest
import typer
from typer.testing import CliRunner

from practicum.cli.services.commands import app_commands
from practicum.cli.services.state import StateDirectory
from practicum.cli.services.supervisor import Supervisor
from tests.sdk.services.dummies import Dummies


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app_commands(app)
    return app


def test_nothing_runs_and_nothing_is_to_be_ended(app: typer.Typer, state: StateDirectory) -> None:
    ended = CliRunner().invoke(app, ["down", "--state-dir", str(state.path)])
    told = CliRunner().invoke(app, ["status", "--state-dir", str(state.path), "--json"])

    assert (ended.exit_code, ended.stdout) == (0, "Nothing was running.\n")
    assert told.exit_code == 1
    assert json.loads(told.stdout)["services"] == []
    assert not state.path.exists()


def test_status_and_down_speak_of_what_runs(
    app: typer.Typer, state: StateDirectory, supervisor: Supervisor, dummies: Dummies
) -> None:
    service = supervisor.up([[dummies.server("one")]]).services[0]
    state.write_client("http://127.0.0.1:1", "prk_secret")
    where = ["--state-dir", str(state.path)]

    told = CliRunner().invoke(app, ["status", *where, "--json"])
    shown = CliRunner().invoke(app, ["status", *where], env={"COLUMNS": "200"})
    ended = CliRunner().invoke(app, ["down", *where, "--json"])

    assert told.exit_code == 0
    assert json.loads(told.stdout) == {
        "state_dir": str(state.path),
        "urls": dict(service.urls),
        "services": [
            {
                "name": "one",
                "running": True,
                "pid": service.process.pid,
                "ports": service.ports,
                "log": str(service.log),
            }
        ],
    }
    assert service.urls["one"] in shown.stdout
    assert json.loads(ended.stdout) == {"ended": ["one"]}
    assert not (state.path / "client.json").exists()
    assert CliRunner().invoke(app, ["status", *where]).exit_code == 1


def test_the_doctor_ends_with_1_when_something_needed_is_missing(app: typer.Typer, state: StateDirectory) -> None:
    arguments = ["doctor", "--json", "--state-dir", str(state.path)]

    told = CliRunner().invoke(app, arguments, env={"PRACTICUM_URL": "http://127.0.0.1:1"})

    findings = {finding["subject"]: finding for finding in json.loads(told.stdout)["findings"]}
    assert told.exit_code == 1
    assert findings["Gateway"]["health"] == "missing"
    shown = CliRunner().invoke(app, ["doctor", "--state-dir", str(state.path)], env={"PRACTICUM_URL": "http://[::1]:1"})
    assert "missing" in shown.stdout
    assert "->" in shown.stdout


def test_every_command_says_what_it_does(app: typer.Typer) -> None:
    for command in ("up", "down", "status", "demo", "doctor"):
        told = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "100"})

        assert told.exit_code == 0
        assert "--state-dir" in told.stdout
        assert "--json" in told.stdout
