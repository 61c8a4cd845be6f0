"""`practicum connectors`, `tools` and `models`."""

import json
import os
from pathlib import Path

import pytest

from practicum.contracts.connectors import Connector, ConnectorReport, Fidelity, Mode, OperationReport
from practicum.contracts.models import ModelInfo, Provider
from practicum.contracts.tools import CallStatus, Effect, Observation, ProfiledTool, Tool
from tests.sdk.cli.conftest import Types
from tests.sdk.stand_in import NOW, Answer, StandIn

CONNECTOR = Connector(
    name="crm",
    title="CRM [beta]",
    version="1",
    base_url="http://crm",
    mode=Mode.LIVE,
    auth="api_key",
    tools=2,
    created=NOW,
    digest="d" * 64,
)
REPORT = ConnectorReport(
    connector=CONNECTOR,
    operations=(
        OperationReport(operation="get", method="GET", path="/o", tool="crm_get", fidelity=Fidelity.EXACT),
        OperationReport(
            operation="up", method="POST", path="/f", tool=None, fidelity=Fidelity.REFUSED, notes=("multipart body",)
        ),
    ),
)
TOOL = Tool(
    name="crm_get",
    connector="crm",
    operation="get",
    description="Gets an order\x1b[31m.",
    input_schema={"type": "object"},
    effect=Effect.READ,
    method="GET",
    path="/o",
)
INFO = ModelInfo(alias="mini", provider=Provider.LITELLM, target="openai/gpt-5-mini", version="1")
YAML = """
openapi: 3.1.0  # a text, since it has two dots
info: {title: Orders, version: "1.0"}
x-odd: {on: off, at: 2026-11-02, no: null, 200: 1.5, big: 0123, yes: true}
x-again: &again [1, ~]
x-alias: *again
paths: {}
"""


@pytest.fixture(autouse=True)
def routes(gateway: StandIn) -> None:
    gateway.on("POST", "/v1/connectors", Answer(201, REPORT.model_dump_json().encode()))
    gateway.on("GET", "/v1/connectors", [CONNECTOR])
    gateway.on("GET", "/v1/connectors/crm", REPORT)
    gateway.on("DELETE", "/v1/connectors/crm", Answer(204))
    gateway.on("GET", "/v1/tools", [TOOL])
    gateway.on("GET", "/v1/tools/crm_get", TOOL)
    gateway.on("GET", "/v1/models", {"object": "list", "data": [{"id": "mini"}]})
    gateway.on("GET", "/v1/models/mini", INFO)
    gateway.on("POST", "/v1/models", INFO)
    gateway.on("DELETE", "/v1/models/mini", Answer(204))


def test_adding_a_system_with_practice_copies(gateway: StandIn, practicum: Types) -> None:
    os.environ["COPIES"] = "hush"
    given = ("connectors", "add", "crm", "http://crm/openapi.json", "--practice", "http://copies/crm")
    practicum(*given, "--practice-auth", "bearer:env:COPIES", "--practice-private-network")
    assert gateway.seen[0].json["practice"] == {
        "base_url": "http://copies/crm",
        "auth": {"kind": "bearer", "token": "hush"},
        "private_network": True,
    }
    assert gateway.seen[0].json["auth"] == {"kind": "none"}
    practicum(*given[:4])
    assert gateway.seen[1].json["practice"] is None
    for alone in (("--practice-auth", "bearer:env:COPIES"), ("--practice-private-network",)):
        refused = practicum(*given[:4], *alone)
        assert (refused.status, "no --practice" in refused.err) == (2, True)
    refused = practicum(*given, "--practice-auth", "hush")
    assert (refused.status, "--practice-auth" in refused.err, "hush" in refused.err) == (2, True, False)
    assert len(gateway.seen) == 2


def test_adding_a_system_from_a_file(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    path = tmp_path / "crm.json"
    path.write_text('{"openapi": "3.1.0", "x": null}')
    os.environ["CRM_KEY"] = "hush"
    shown = practicum("connectors", "add", "crm", str(path), "--auth", "api_key:env:CRM_KEY", "--include", "get*")
    sent = gateway.seen[0].json
    assert sent["document"] == {"openapi": "3.1.0", "x": None}
    assert sent["auth"] == {"kind": "api_key", "value": "hush", "name": None, "location": None}
    assert sent["include"] == ["get*"]
    assert shown.status == 0
    assert "CRM [beta] 1" in shown.out
    assert "multipart body" in shown.out
    assert "crm_get" not in shown.out, "what became a tool without loss is no news"
    assert "hush" not in shown.out + shown.err


def test_adding_a_system_from_a_url(gateway: StandIn, practicum: Types) -> None:
    arguments = ("http://crm/openapi.json", "--mode", "practice", "--private-network", "--json")
    shown = practicum("connectors", "add", "crm", *arguments)
    sent = gateway.seen[0].json
    assert (sent["source"], sent["document"], sent["mode"]) == ("http://crm/openapi.json", None, "practice")
    assert sent["private_network"] is True
    assert shown.json == json.loads(REPORT.model_dump_json())


def test_an_overlay_and_the_choice_of_a_server_go_along(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text("- {op: remove, path: /paths/~1a/post}\n")
    given = ("connectors", "add", "crm", "http://crm/openapi.json", "--overlay", str(overlay), "--server", "live")
    assert practicum(*given, "--set", "region=eu", "--set", "stage=1").status == 0
    sent = gateway.seen[0].json
    assert sent["overlay"] == [{"op": "remove", "path": "/paths/~1a/post"}]
    assert (sent["server"], sent["variables"]) == ("live", {"region": "eu", "stage": "1"})
    overlay.write_text("- 1\n")
    assert "is no overlay" in practicum(*given).err


def test_yaml_is_read_by_the_rules_of_its_present_version(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    path = tmp_path / "crm.yaml"
    path.write_text(YAML)
    assert practicum("connectors", "add", "crm", str(path)).status == 0
    document = gateway.seen[0].json["document"]
    assert document["openapi"] == "3.1.0"
    assert document["x-odd"] == {"on": "off", "at": "2026-11-02", "no": None, "200": 1.5, "big": 123, "yes": True}
    assert document["x-again"] == document["x-alias"] == [1, None]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [1", "is no YAML"),
        ("a: &a {b: *a}", "alias stands inside"),
        ("- 1", "holds no object"),
        ("", "holds no object"),
        ("{oops", "no JSON"),
        ("[1]", "holds no object"),
        pytest.param('{"a":' * 20_000 + "1" + "}" * 20_000, "nests too deep", id="deep-json"),
        pytest.param("a: " + "[" * 5_000 + "]" * 5_000, "nest", id="deep-yaml"),
    ],
)
def test_a_broken_document(gateway: StandIn, practicum: Types, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "broken.txt"
    path.write_text(text)
    shown = practicum("connectors", "add", "crm", str(path))
    assert shown.status == 2
    assert told in shown.err
    assert gateway.seen == []


def test_a_document_that_is_not_there(practicum: Types, tmp_path: Path) -> None:
    shown = practicum("connectors", "add", "crm", str(tmp_path / "none.json"))
    assert shown.status == 2
    assert "none.json cannot be read: No such file" in shown.err
    (tmp_path / "picture").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in practicum("connectors", "add", "crm", str(tmp_path / "picture")).err


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("none", {"kind": "none"}),
        ("bearer:env:S1", {"kind": "bearer", "token": "one"}),
        ("bearer:file:{file}", {"kind": "bearer", "token": "from file"}),
        ("basic:env:S1:env:S2", {"kind": "basic", "username": "one", "password": "two"}),
        (
            "api_key:env:S1:header:X-Key",
            {"kind": "api_key", "value": "one", "name": "X-Key", "location": "header"},
        ),
        (
            "client_credentials:env:S1:env:S2",
            {"kind": "client_credentials", "client_id": "one", "client_secret": "two", "token_url": None, "scopes": []},
        ),
    ],
)
def test_credentials(gateway: StandIn, practicum: Types, tmp_path: Path, given: str, sent: dict[str, object]) -> None:
    os.environ |= {"S1": "one", "S2": "two"}
    (tmp_path / "secret").write_text("from file\n")
    auth = given.format(file=tmp_path / "secret")
    assert practicum("connectors", "add", "crm", "http://crm/o.json", "--auth", auth).status == 0
    assert gateway.seen[0].json["auth"] == sent


@pytest.mark.parametrize("given", ["bearer:sk-plain-secret", "api_key:env:S1:trailer:X", "magic:env:S1", "bearer", ""])
def test_a_credential_in_no_form_is_not_repeated(gateway: StandIn, practicum: Types, given: str) -> None:
    os.environ["S1"] = "one"
    shown = practicum("connectors", "add", "crm", "http://crm/o.json", "--auth", given)
    assert shown.status == 2
    assert "no credential" in shown.err
    assert "sk-plain-secret" not in shown.err
    assert gateway.seen == []


def test_a_secret_that_is_not_there(practicum: Types) -> None:
    shown = practicum("connectors", "add", "crm", "http://crm/o.json", "--auth", "bearer:env:NOWHERE")
    assert shown.status == 2
    assert "no secret in env:NOWHERE" in shown.err


def test_a_name_that_does_not_fit(gateway: StandIn, practicum: Types) -> None:
    shown = practicum("connectors", "add", "My CRM", "http://crm/o.json")
    assert shown.status == 5
    assert "name: String should match" in shown.err
    assert gateway.seen == []


def test_listing_showing_and_removing_systems(practicum: Types) -> None:
    assert "http://crm" in practicum("connectors", "list").out
    assert practicum("connectors", "list", "--json").json[0]["name"] == "crm"
    assert "crm_get" in practicum("connectors", "show", "crm").out
    assert practicum("connectors", "remove", "crm").out == "Removed crm.\n"
    assert practicum("connectors", "remove", "crm", "--json").json == {"removed": "crm"}


def test_finding_tools(gateway: StandIn, practicum: Types) -> None:
    listed = practicum("tools", "list", "crm.*")
    assert gateway.seen[-1].query == [("pattern", "crm.*")]
    assert "crm.get" in listed.out
    assert "Gets an order\\u001b[31m." in listed.out
    assert practicum("tools", "search", "refund", "an", "order", "--json").json[0]["name"] == "crm_get"
    assert ("query", "refund an order") in gateway.seen[-1].query
    assert practicum("tools", "show", "crm_get").json["path"] == "/o"
    profiled = ProfiledTool(name="crm_get", profile="mcp", definition={"annotations": {}}, notes=())
    gateway.on("GET", "/v1/tools/crm_get", profiled)
    assert practicum("tools", "show", "crm_get", "--profile", "mcp").json["definition"] == {"annotations": {}}
    assert gateway.seen[-1].query == [("profile", "mcp")]
    gateway.on("GET", "/v1/tools", [])
    assert practicum("tools", "list").out == "No tool fits.\n"


@pytest.mark.parametrize(
    ("status", "exit_status"),
    [("ok", 0), ("error", 1), ("waiting", 1), ("denied", 4), ("unavailable", 6), ("in_doubt", 7)],
)
def test_calling_a_tool(gateway: StandIn, practicum: Types, status: str, exit_status: int) -> None:
    observation = Observation(status=CallStatus(status), content='{"total": [1]}', approval="ap1", warnings=("odd",))
    gateway.on("POST", "/v1/tools/crm_get/call", observation)
    shown = practicum("tools", "call", "crm_get", '{"id": 1}', "--key", "k-1")
    assert gateway.seen[0].json == {"arguments": {"id": 1}, "idempotency_key": "k-1"}
    assert shown.status == exit_status
    assert shown.out == ("" if status == "waiting" else '{"total": [1]}\n')
    assert "warning: odd" in shown.err
    assert ("approvals show ap1" in shown.err) == (status == "waiting")
    assert ("--key k-1" in shown.err) == (status == "waiting")


@pytest.mark.parametrize(("given", "said"), [(r'{"name": "\ud83d"}', "half of a character"), ('{"id": NaN}', "finite")])
def test_arguments_that_cannot_travel_are_refused_in_words(
    gateway: StandIn, practicum: Types, given: str, said: str
) -> None:
    shown = practicum("tools", "call", "crm_get_order", given)
    assert (shown.status, gateway.seen) == (5, [])
    assert said in shown.err


def test_half_a_character_in_a_document_does_not_lose_it(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    (tmp_path / "crm.json").write_text(r'{"openapi": "3.1.0", "info": {"title": "a\ud83d"}}')
    practicum("connectors", "add", "crm", str(tmp_path / "crm.json"))
    assert gateway.seen[0].json["document"]["info"]["title"] == "a\ufffd"


def test_arguments_come_from_a_file_too(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    gateway.on("POST", "/v1/tools/crm_get/call", Observation(status=CallStatus.OK, content="{}"))
    path = tmp_path / "arguments.json"
    path.write_text('{"id": 2}')
    shown = practicum("tools", "call", "crm_get", f"@{path}", "--json")
    assert gateway.seen[0].json["arguments"] == {"id": 2}
    assert shown.json["idempotency_key"] == gateway.seen[0].json["idempotency_key"]
    for wrong in ("[1]", "{oops", "@/nowhere/at/all"):
        assert practicum("tools", "call", "crm_get", wrong).status == 2
    assert len(gateway.seen) == 1


def test_models(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    os.environ["PROVIDER_KEY"] = "sk-hush"
    spec = tmp_path / "spec.json"
    spec.write_text('{"codec": "hermes", "target": "overridden"}')
    arguments = (
        "mini",
        "openai/gpt-5-mini",
        "--api-key",
        "env:PROVIDER_KEY",
        "--temperature",
        "0",
        "--tool-tokens",
        "5000",
        "--tool-profile",
        "openai_strict",
        "--version",
        "june",
        "--spec",
        str(spec),
    )
    shown = practicum("models", "add", *arguments)
    sent = gateway.seen[0].json
    assert (sent["alias"], sent["target"], sent["codec"]) == ("mini", "openai/gpt-5-mini", "hermes")
    assert sent["provider"] == "completions", "whoever names a codec means a server that renders nothing"
    assert (sent["api_key"], sent["sampling"]["temperature"]) == ("sk-hush", 0.0)
    assert (sent["tool_tokens"], sent["tool_profile"], sent["version"]) == (5000, "openai_strict", "june")
    assert shown.status == 0
    assert "sk-hush" not in shown.out
    assert practicum("models", "add", "mini", "x", "--api-key", "sk-plain").status == 2
    assert "sk-plain" not in practicum("models", "add", "mini", "x", "--api-key", "sk-plain").err
    assert "openai/gpt-5-mini" in practicum("models", "list").out
    assert practicum("models", "list", "--json").json[0]["alias"] == "mini"
    assert practicum("models", "remove", "mini").status == 0
    gateway.on("POST", "/v1/models", INFO.model_copy(update={"advice": "Another codec suits it."}))
    told = practicum("models", "add", "own", "qwen", "--codec", "glm", "--base-url", "http://127.0.0.1:1/v1")
    assert (told.status, "Another codec suits it." in told.err) == (0, True)
    assert (gateway.seen[-1].json["provider"], gateway.seen[-1].json["codec"]) == ("completions", "glm")
    spec.write_text('{"tool_tokens": null}')
    assert practicum("models", "add", "mini", "x", "--spec", str(spec)).status == 0
    assert gateway.seen[-1].json["tool_tokens"] is None
