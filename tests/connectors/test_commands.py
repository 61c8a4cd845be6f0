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


def test_a_file_may_refer_to_others_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "name.yaml").write_text("type: string\nmaxLength: 9\n")
    given = written(tmp_path, {"/a": {"get": operation(query("q", {"$ref": "schemas/name.yaml"}))}})
    assert invoke(["connectors", "check", given, "--base-url", "http://here"]) == 0
    assert capsys.readouterr().out.startswith("1 exact, 0 degraded, 0 refused\n")


SCHEMES: Json = {
    "securitySchemes": {
        "app": {"type": "apiKey", "in": "header", "name": "X-App"},
        "user": {"type": "http", "scheme": "bearer"},
    }
}


def test_what_add_would_be_given_is_checked_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hush")
    variables = {"region": {"default": "us", "enum": ["us", "eu"]}}
    servers = [{"url": "https://{region}.here", "variables": variables}, {"url": "https://test.here"}]
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(document({"/a": {"get": operation()}}, servers=servers, components=SCHEMES)))

    def checked(*options: str) -> tuple[int, str, str]:
        status = invoke(["connectors", "check", str(path), *options])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    assert "https://eu.here" in checked("--set", "region=eu", "--arrays", "indices")[1]
    assert "https://test.here" in checked("--server", "https://test.here")[1]
    assert "without a credential" in checked()[1]
    status, out, _ = checked("--auth", "app=api_key:env:SECRET", "--auth", "user=bearer:env:SECRET")
    assert (status, "without a credential" in out, "hush" in out) == (0, False, False)
    status, _, err = checked("--auth", "nobody=bearer:env:SECRET")
    assert (status, "Give credentials for some of: app, user" in err) == (5, True)


def test_a_refused_operation_comes_with_what_mends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = written(tmp_path, {"/a": {"get": operation(query("q")), "post": REFUSED}})
    assert invoke(["connectors", "check", given, "--base-url", "http://here"]) == 1
    mend = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("[{"))
    (tmp_path / "mend.json").write_text(mend)
    invoke(["connectors", "check", given, "--base-url", "http://here", "--overlay", str(tmp_path / "mend.json")])
    assert "0 refused" in capsys.readouterr().out


@pytest.mark.parametrize(
    "overlay",
    [
        [{"op": "remove", "path": "/paths/~1a/post"}],
        {
            "overlay": "1.0.0",
            "info": {"title": "less", "version": "1"},
            "actions": [{"target": "$.paths['/a'].post", "remove": True}],
        },
    ],
)
def test_an_overlay_mends_what_would_be_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], overlay: object
) -> None:
    given = written(tmp_path, {"/a": {"get": operation(query("q")), "post": REFUSED}})
    (tmp_path / "overlay.json").write_text(json.dumps(overlay))
    arguments = ["connectors", "check", given, "--base-url", "http://here", "--overlay", str(tmp_path / "overlay.json")]
    assert invoke(arguments) == 0
    assert capsys.readouterr().out.startswith("1 exact, 0 degraded, 0 refused\n")
    (tmp_path / "overlay.json").write_text("7")
    assert invoke(arguments) > 1
    assert "is no overlay" in capsys.readouterr().err


def test_conformance_is_run_as_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["conformance", "names/*"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("cases pass.")
    assert invoke(["conformance", "nothing/*"]) > 1
