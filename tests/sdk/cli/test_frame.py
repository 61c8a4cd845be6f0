"""What all commands share: help, exit statuses, errors, and which gateway they speak to."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from practicum.cli.exits import exit_of
from practicum.cli.output import plain
from practicum.errors import MissingExtraError, PracticumError
from tests.sdk.cli.conftest import KEY, Types
from tests.sdk.stand_in import Answer, StandIn, problem, serving

COMMANDS = {
    "": (
        "run",
        "connectors",
        "tools",
        "episodes",
        "approvals",
        "trajectories",
        "datasets",
        "eval",
        "compare",
        "path",
        "models",
        "rules",
        "access",
        "keys",
        "issuers",
        "audit",
        "secrets",
        "tenants",
        "up",
        "doctor",
    ),
    "connectors": ("add", "list", "show", "remove"),
    "tools": ("list", "search", "show", "call"),
    "episodes": ("list", "show", "events", "approve", "deny", "cancel"),
    "approvals": ("list", "show", "preview", "approve", "deny"),
    "trajectories": ("list", "show", "export"),
    "datasets": ("build",),
    "path": ("run", "show"),
    "models": ("add", "list", "remove"),
    "rules": ("show", "set"),
    "access": ("explain",),
    "keys": ("create", "list", "rotate", "revoke"),
    "issuers": ("add", "list", "show", "remove"),
    "audit": ("list", "verify", "head", "export", "erase"),
    "secrets": ("rotate",),
    "tenants": ("create", "list", "key", "remove"),
}


@pytest.mark.parametrize("group", COMMANDS)
def test_every_command_explains_itself(practicum: Types, group: str) -> None:
    path = [group] if group else []
    overview = practicum(*path, "--help")
    assert overview.status == 0
    for command in COMMANDS[group]:
        assert f" {command} " in overview.out
        assert "Usage: practicum" in practicum(*path, command, "--help").out


def test_the_help_tells_exit_statuses_and_where_the_gateway_is_found(practicum: Types) -> None:
    told = practicum("--help").out
    assert "3 the gateway cannot be reached" in " ".join(told.split())
    assert "PRACTICUM_API_KEY" in told


def test_examples_are_shown_as_they_are_typed(practicum: Types) -> None:
    told = " ".join(practicum("connectors", "add", "--help").out.split())
    assert "practicum connectors add crm http://crm.internal/openapi.json --auth api_key:env:CRM_KEY" in told
    assert "client_credentials:env:ERP_ID:env:ERP_SECRET" in told
    assert "api_key:env:CRM_KEY:header:X-Key" in told


def test_the_version(practicum: Types) -> None:
    shown = practicum("--version")
    assert (shown.status, shown.out.count(".")) == (0, 2)


def test_wrong_usage(practicum: Types) -> None:
    for arguments in (("nonsense",), ("tools", "call"), ("tools", "list", "--limit", "0")):
        shown = practicum(*arguments)
        assert shown.status == 2
        assert shown.out == ""
        assert "Usage" in shown.err


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (problem(401, "unauthenticated", "No valid key."), 4),
        (problem(403, "forbidden", "Not for agents."), 4),
        (problem(404, "not_found", "There is none."), 5),
        (problem(409, "conflict", "In use."), 5),
        (problem(422, "document", "No OpenAPI."), 5),
        (problem(422, "call", "Does not fit."), 5),
        (problem(502, "system", "Broke down."), 6),
        (problem(502, "model_provider", "Broke down."), 6),
        (problem(502, "in_doubt", "Lost."), 7),
        (problem(409, "episode", "Has ended."), 1),
        (problem(500, "internal", "A fault."), 1),
        (Answer(503), 3),
        (Answer(200, b"<html>"), 2),
    ],
)
def test_exit_statuses(gateway: StandIn, practicum: Types, answer: Answer, status: int) -> None:
    gateway.on("GET", "/v1/connectors", answer)
    shown = practicum("connectors", "list")
    assert shown.status == status
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert "Traceback" not in shown.err


def test_a_missing_extra_is_a_matter_of_settings() -> None:
    assert exit_of(MissingExtraError("connectors", "Reading YAML")) == 2
    assert exit_of(PracticumError("a fault")) == 1


def test_an_error_for_programs(gateway: StandIn, practicum: Types) -> None:
    gateway.on("GET", "/v1/connectors", problem(404, "not_found", "There is none.", mend="Add it.", trace="t1"))
    shown = practicum("connectors", "list", "--json")
    assert json.loads(shown.err) | {"code": "not_found", "mend": "Add it.", "trace": "t1"} == json.loads(shown.err)
    told = practicum("connectors", "list").err
    assert told == "error: There is none.\n  -> Add it.\n  trace t1\n"


def test_nobody_listens(practicum: Types) -> None:
    with serving() as gone:
        os.environ["PRACTICUM_URL"] = gone.url
    os.environ["PRACTICUM_API_KEY"] = KEY
    shown = practicum("tools", "list")
    assert shown.status == 3
    assert gone.url in shown.err
    assert "practicum up" in shown.err


def test_no_gateway_is_known(practicum: Types) -> None:
    shown = practicum("tools", "list")
    assert shown.status == 2
    assert "PRACTICUM_URL" in shown.err


def test_the_gateway_of_this_folder_is_found(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    del os.environ["PRACTICUM_URL"], os.environ["PRACTICUM_API_KEY"]
    gateway.on("GET", "/v1/tools", [])
    (tmp_path / "state").mkdir()
    (tmp_path / "state/client.json").write_text(json.dumps({"url": gateway.url, "api_key": KEY}))
    assert practicum("tools", "list").status == 0
    assert gateway.seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_the_local_key_is_not_sent_elsewhere(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    del os.environ["PRACTICUM_API_KEY"]
    (tmp_path / "state").mkdir()
    (tmp_path / "state/client.json").write_text(json.dumps({"url": "http://127.0.0.1:9", "api_key": KEY}))
    shown = practicum("tools", "list")
    assert shown.status == 2
    assert "PRACTICUM_API_KEY" in shown.err
    assert gateway.seen == []


def test_a_damaged_file_does_not_show_its_key(practicum: Types, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state/client.json").write_text(json.dumps({"url": 1, "api_key": KEY}))
    shown = practicum("tools", "list")
    assert shown.status == 2
    assert "is damaged" in shown.err
    assert KEY not in shown.err


def test_what_others_wrote_cannot_move_the_cursor() -> None:
    assert plain("a\x1b[2Jb\u202ec\td\n") == "a\\u001b[2Jb\\u202ec\td\n"


def test_as_a_process(gateway: StandIn) -> None:
    gateway.on("GET", "/v1/tools", problem(403, "forbidden", "Not for you."))
    code = "from practicum.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "tools", "list"], check=False, capture_output=True, text=True, env=dict(os.environ)
    )
    assert (done.returncode, done.stdout, done.stderr) == (4, "", "error: Not for you.\n")
