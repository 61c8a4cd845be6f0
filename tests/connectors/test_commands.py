"""`practicum connectors check`, as a person types it."""

import json
from pathlib import Path

import pytest

from practicum.cli.main import invoke
from practicum.contracts.connectors import CheckReport
from tests.connectors.documents import Json, document, operation, query

REFUSED: Json = {"requestBody": {"$ref": "#/absent"}}


def written(folder: Path, paths: Json) -> str:
    path = folder / "openapi.json"
    path.write_text(json.dumps(document(paths)))
    return str(path)


def test_a_file_is_checked_without_a_gateway(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = written(tmp_path, {"/a": {"get": operation(query("q")), "post": REFUSED}})
    assert invoke(["connectors", "check", given]) == 1
    out = capsys.readouterr().out
    assert out.startswith("1 exact, 0 degraded, 1 refused\n")
    assert "`base_url`" in out
    assert "#/absent" in out
    assert invoke(["connectors", "check", given, "--json", "--base-url", "http://here", "--include", "act"]) == 0
    report = CheckReport.model_validate_json(capsys.readouterr().out)
    assert (report.base_url, [entry.tool for entry in report.operations]) == ("http://here", ["system_act"])


def test_what_is_no_document_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.yaml").write_text("a: [")
    for given in (tmp_path / "x.yaml", tmp_path / "absent.json"):
        assert invoke(["connectors", "check", str(given)]) > 1
        assert capsys.readouterr().err.startswith("error: ")
