"""`practicum connectors`: limits, reports as people read them, and a second look at a document."""

import json
from pathlib import Path

import pytest

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import (
    Change,
    ChangeKind,
    Connector,
    ConnectorReport,
    Fidelity,
    Mode,
    OperationReport,
    RefreshReport,
)
from practicum.contracts.tools import Effect
from tests.sdk.cli.conftest import Types
from tests.sdk.stand_in import NOW, Answer, StandIn, problem

DIGEST = "e" * 64
CONNECTOR = Connector(
    name="crm",
    title="CRM",
    version="2",
    base_url="http://crm",
    mode=Mode.LIVE,
    auth="none",
    tools=2,
    created=NOW,
    digest="d" * 64,
)
MEND: JsonObject = {"op": "add", "path": "/paths/~1f/post/requestBody", "value": {"content": {"text/plain\u2028": {}}}}
OPERATIONS = (
    OperationReport(
        operation="get", method="GET", path="/o", tool="crm_get", fidelity=Fidelity.EXACT, effect=Effect.READ
    ),
    OperationReport(
        operation="pay",
        method="POST",
        path="/p",
        tool="crm_pay",
        fidelity=Fidelity.DEGRADED,
        effect=Effect.MONEY,
        notes=("a note",),
        drift=3,
        held=True,
    ),
    OperationReport(
        operation="up",
        method="POST",
        path="/f",
        tool=None,
        fidelity=Fidelity.REFUSED,
        notes=("no body",),
        mend=(MEND,),
    ),
)
REPORT = ConnectorReport(connector=CONNECTOR, operations=OPERATIONS)
SERVED = Change(kind=ChangeKind.ADDED, operation="list", where="", after="GET /all", breaking=False)
HELD = Change(
    kind=ChangeKind.RETYPED, operation="pay", where="arguments.sum", before="integer", after="string", breaking=True
)
QUIET = RefreshReport(connector=CONNECTOR, digest=DIGEST, changed=True, served=(SERVED,))
LOUD = QUIET.model_copy(update={"held": (HELD,)})


@pytest.fixture(autouse=True)
def routes(gateway: StandIn) -> None:
    gateway.on("POST", "/v1/connectors", Answer(201, REPORT.model_dump_json().encode()))
    gateway.on("GET", "/v1/connectors/crm", REPORT)
    gateway.on("POST", "/v1/connectors/crm/refresh", QUIET)
    gateway.on("GET", "/v1/connectors/crm/changes", LOUD)
    gateway.on("POST", "/v1/connectors/crm/accept", QUIET)


def test_limits_and_the_way_of_lists_go_along(gateway: StandIn, practicum: Types) -> None:
    given = ("connectors", "add", "crm", "http://crm/o.json")
    practicum(*given, "--arrays", "indices", "--limit", "per_second=2.5", "--limit", "concurrent=4")
    sent = gateway.seen[0].json
    assert sent["arrays"] == "indices"
    assert (sent["limits"]["per_second"], sent["limits"]["concurrent"], sent["limits"]["attempts"]) == (2.5, 4, 3)
    practicum(*given)
    assert (gateway.seen[1].json["arrays"], gateway.seen[1].json["limits"]["concurrent"]) == ("brackets", 16)


@pytest.mark.parametrize(
    ("limit", "status", "told"),
    [
        ("per_minute=5", 2, "concurrent, per_second, timeout_seconds, attempts, breaker_failures, breaker_seconds"),
        ("per_second", 2, "per_second=5"),
        ("attempts=99", 5, "limits.attempts: Input should be less than or equal to 5"),
        ("attempts=many", 5, "limits.attempts: Input should be a valid integer"),
    ],
)
def test_a_limit_that_does_not_fit(gateway: StandIn, practicum: Types, limit: str, status: int, told: str) -> None:
    shown = practicum("connectors", "add", "crm", "http://crm/o.json", "--limit", limit)
    assert (shown.status, told in " ".join(shown.err.replace("│", " ").split())) == (status, True)
    assert gateway.seen == []


def test_every_limit_is_named_in_the_help(practicum: Types) -> None:
    told = " ".join(practicum("connectors", "add", "--help").out.replace("│", " ").split())
    assert "concurrent, per_second, timeout_seconds, attempts, breaker_failures, breaker_seconds" in told


def test_a_report_has_its_counts_first_and_the_worst_before_the_rest(practicum: Types) -> None:
    added = practicum("connectors", "add", "crm", "http://crm/o.json").out
    shown = practicum("connectors", "show", "crm").out
    for out in (added, shown):
        assert out.startswith("1 exact, 1 degraded, 1 refused\n")
        assert out.index(" /f ") < out.index(" /p ")
        assert "money" in out
        mend = next(line for line in out.splitlines() if line.startswith("[{"))
        assert json.loads(mend) == [MEND]
    assert "crm_get" not in added
    assert shown.index(" /p ") < shown.index("crm_get")
    assert "held as an older document has it; drift 3; a note" in shown
    assert practicum("connectors", "show", "crm", "--json").json == json.loads(REPORT.model_dump_json())


def test_a_mend_is_an_overlay(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    out = practicum("connectors", "show", "crm").out
    (tmp_path / "mend.json").write_text(next(line for line in out.splitlines() if line.startswith("[{")))
    practicum("connectors", "add", "crm", "http://crm/o.json", "--overlay", str(tmp_path / "mend.json"))
    assert gateway.seen[-1].json["overlay"] == [MEND]


def test_what_waits_is_told_of_a_connector(gateway: StandIn, practicum: Types) -> None:
    waiting = CONNECTOR.model_copy(update={"held": 2, "drift": 5, "refreshed": NOW, "source": "http://crm/o.json"})
    gateway.on("GET", "/v1/connectors/crm", REPORT.model_copy(update={"connector": waiting}))
    shown = practicum("connectors", "show", "crm").out
    assert "2 changes: practicum connectors changes crm" in shown
    assert "5 answers departed from the document" in shown
    assert "http://crm/o.json" in shown
    gateway.on("GET", "/v1/connectors", [waiting])
    assert "Changes of crm wait: 2" in practicum("connectors", "list").err


def test_a_refresh_that_breaks_nothing(gateway: StandIn, practicum: Types) -> None:
    shown = practicum("connectors", "refresh", "crm")
    sent = gateway.seen[0].json
    assert sent == {"document": None, "documents": {}, "overlay": None, "accept": False}
    assert shown.status == 0
    assert "In force:" in shown.out
    assert "GET /all" in shown.out
    assert "Held" not in shown.out
    assert practicum("connectors", "refresh", "crm", "--json").json == json.loads(QUIET.model_dump_json())


def test_what_is_held_ends_with_1_and_names_the_command_that_accepts_it(gateway: StandIn, practicum: Types) -> None:
    gateway.on("POST", "/v1/connectors/crm/refresh", LOUD)
    for command in ("refresh", "changes"):
        shown = practicum("connectors", command, "crm")
        assert shown.status == 1
        assert shown.out.index("GET /all") < shown.out.index("Held") < shown.out.index("arguments.sum")
        assert practicum("connectors", command, "crm", "--json").status == 1
        told = next(line for line in shown.out.splitlines() if "connectors accept" in line)
    accepted = practicum(*told.partition("practicum ")[2].split())
    assert (accepted.status, gateway.seen[-1].json) == (0, {"digest": DIGEST})
    assert "In force:" in accepted.out
    assert practicum("connectors", "accept", "crm", "--digest", DIGEST, "--json").json["digest"] == DIGEST


def test_what_a_refresh_takes_along(
    gateway: StandIn, practicum: Types, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("overlay.json").write_text(json.dumps([MEND]))
    Path("crm.yaml").write_text("openapi: 3.1.0\nx: {$ref: part.yaml}\n")
    Path("part.yaml").write_text("a: 1\n")
    practicum("connectors", "refresh", "crm", "crm.yaml", "--overlay", "overlay.json", "--accept")
    sent = gateway.seen[-1].json
    assert sent["document"]["openapi"] == "3.1.0"
    assert sent["documents"] == {"part.yaml": {"a": 1}}
    assert (sent["overlay"], sent["accept"]) == ([MEND], True)
    practicum("connectors", "refresh", "crm", "--no-overlay")
    assert gateway.seen[-1].json["overlay"] == {}
    before = len(gateway.seen)
    both = practicum("connectors", "refresh", "crm", "--overlay", "overlay.json", "--no-overlay")
    url = practicum("connectors", "refresh", "crm", "http://elsewhere/o.json")
    assert (both.status, url.status) == (2, 2)
    assert "practicum connectors refresh crm" in " ".join(url.err.replace("│", " ").split())
    assert len(gateway.seen) == before


def test_a_refused_decision_is_told(gateway: StandIn, practicum: Types) -> None:
    gateway.on("POST", "/v1/connectors/crm/accept", problem(409, "conflict", "It has changed again."))
    shown = practicum("connectors", "accept", "crm", "--digest", "old")
    assert (shown.status, "It has changed again." in shown.err) == (5, True)
    assert practicum("connectors", "accept", "crm").status == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("info: {title: x\npaths: [", "openapi.yaml is no YAML: "),
        ("info:\n\ttitle: x", "(line 2, column 1)"),
        ("<html></html>", "not the page that shows it"),
    ],
)
def test_what_is_no_document_is_told_with_its_place(practicum: Types, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "openapi.yaml").write_text(text)
    shown = practicum("connectors", "add", "crm", str(tmp_path / "openapi.yaml"))
    assert (shown.status, told in shown.err) == (2, True)


def test_an_address_that_nothing_is_fetched_from(practicum: Types) -> None:
    shown = practicum("connectors", "add", "crm", "ftp://me:hush@here/openapi.json")
    assert (shown.status, "an http or https address" in shown.err, "hush" in shown.err) == (2, True, False)
