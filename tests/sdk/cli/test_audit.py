"""`practicum audit` as an auditor types it."""

from pathlib import Path

import pytest

from practicum.contracts.audit import AuditCheck, Erasure
from tests.sdk.cli.conftest import Types
from tests.sdk.stand_in import Answer, StandIn, problem
from tests.sdk.test_audit import LOG, blank

HEAD = LOG[-1].head
LINES = b"".join(entry.model_dump_json().encode() + b"\n" for entry in LOG)
SOUND = AuditCheck(ok=True, entries=8, first=1, head=HEAD, erased=0)


def test_list(gateway: StandIn, practicum: Types) -> None:
    gateway.on("GET", "/v1/audit", [LOG[1], blank(LOG[0])])
    shown = practicum(
        "audit", "list", "--actor", "ada", "--action", "tool.called", "--since", "2026-11-02", "--limit", "2"
    )
    assert shown.status == 0
    assert "crm_get_order" in shown.out
    assert "(erased)" in shown.out
    asked = dict(gateway.seen[0].query)
    assert (asked["actor"], asked["action"], asked["limit"]) == ("ada", "tool.called", "2")
    assert asked["since"].startswith("2026-11-0")
    assert practicum("audit", "list", "--json").json[0]["sequence"] == 2


def test_the_gateway_checks_its_own_log(gateway: StandIn, practicum: Types) -> None:
    gateway.on(
        "GET", "/v1/audit/verify", SOUND, SOUND.model_copy(update={"ok": False, "broken": 3, "why": "it was changed"})
    )
    shown = practicum("audit", "verify", "--head", str(HEAD))
    assert (shown.status, gateway.seen[0].query) == (0, [("head", str(HEAD))])
    assert "The log holds: 8 entries." in shown.out
    assert str(HEAD) in shown.out
    shown = practicum("audit", "verify")
    assert (shown.status, gateway.seen[1].query) == (1, [])
    assert "does not hold at entry 3: it was changed." in shown.out


def test_an_export_is_checked_without_a_gateway(practicum: Types, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    file.write_bytes(LINES)
    assert practicum("audit", "verify", str(file)).status == 0
    assert practicum("audit", "verify", str(file), "--head", str(HEAD), "--json").json["ok"] is True
    file.write_bytes(LINES.replace(b'"actor":"ada"', b'"actor":"eve"', 1))
    shown = practicum("audit", "verify", str(file), "--json")
    assert (shown.status, shown.json["broken"]) == (1, 1)
    file.write_bytes(b"".join(LINES.splitlines(keepends=True)[:5]))
    assert practicum("audit", "verify", str(file)).status == 0
    assert practicum("audit", "verify", str(file), "--head", str(HEAD)).status == 1


@pytest.mark.parametrize(("arguments", "status"), [(("nowhere.jsonl",), 2), (("--head", "12"), 5)])
def test_what_cannot_be_checked(practicum: Types, arguments: tuple[str, ...], status: int) -> None:
    shown = practicum("audit", "verify", *arguments)
    assert shown.status == status
    assert "->" in shown.err


def test_head(gateway: StandIn, practicum: Types) -> None:
    gateway.on("GET", "/v1/audit/head", HEAD)
    assert practicum("audit", "head").out == f"{HEAD}\n"
    assert practicum("audit", "head", "--json").json == HEAD.model_dump()


def test_export(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    pieces = (LINES[:100], LINES[100:101], LINES[101:])
    gateway.on("GET", "/v1/audit/export", Answer(200, content_type="application/jsonl", pieces=pieces))
    file = tmp_path / "audit.jsonl"
    shown = practicum("audit", "export", str(file), "--after", "7")
    assert (shown.status, shown.out) == (0, f"8 entries are in {file}.\n")
    assert file.read_bytes() == LINES
    assert gateway.seen[0].query == [("after", "7")]


def test_an_export_that_breaks_off_leaves_the_file_as_it_was(
    gateway: StandIn, practicum: Types, tmp_path: Path
) -> None:
    file = tmp_path / "audit.jsonl"
    file.write_bytes(b"before")
    gateway.on("GET", "/v1/audit/export", problem(403, "forbidden", "Not for you."))
    assert practicum("audit", "export", str(file)).status == 4
    gateway.on("GET", "/v1/audit/export", Answer(200, pieces=(LINES[:1500],), cut=True))
    assert practicum("audit", "export", str(file)).status == 3
    assert file.read_bytes() == b"before"
    assert [each.name for each in tmp_path.iterdir()] == ["audit.jsonl"]


def test_erase(gateway: StandIn, practicum: Types) -> None:
    done = Erasure(entries=2, touched=((3, 4),), told=(9,), receipt="r" * 32, head=HEAD)
    gateway.on("POST", "/v1/audit/erase", done)
    shown = practicum("audit", "erase", "ada@example.com", "--reason", "request 17", "--yes")
    assert shown.status == 0
    assert "2 entries lost their details; entry 9 says so." in shown.out
    assert done.receipt in shown.out
    assert gateway.seen[0].json == {"subject": "ada@example.com", "reason": "request 17"}
    for subject in ("ada@example.com", "-"):
        assert practicum("audit", "erase", subject, "--reason", "request 17").status == 2
    assert len(gateway.seen) == 1
