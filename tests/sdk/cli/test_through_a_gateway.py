"""A platform engineer with a vendor's document of several files, a gateway behind a real socket, and the commands."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from practicum.cli.services.installed import missing_of
from tests.sdk.cli.conftest import Types
from tests.sdk.client.test_real_gateway import ADMIN, free_port, process
from tests.sdk.stand_in import Answer, scrubbed_environment, serving

pytestmark = [
    pytest.mark.journey,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(missing_of("gateway")), reason="needs the extra gateway"),
]

THREE = """
openapi: 3.0.3
info: {title: Vendor, version: "2"}
servers: [{url: https://vendor.example}]
paths:
  /orders: {$ref: paths/orders.yaml}
  /orders/{id}:
    get:
      operationId: get_order
      parameters: [{$ref: "parameters.yaml#/id"}]
      responses:
        "200":
          description: one
          content:
            application/json:
              schema: {$ref: "schemas/order.json#/Order"}
              example: {$ref: nowhere.json}
  /gone:
    post:
      operationId: gone
      requestBody: {content: {application/json: {schema: {$ref: schemas/gone.yaml}}}}
      responses: {"200": {description: ok}}
components:
  schemas:
    Address: {type: object, properties: {street: {type: string}}}
"""
TWO = """
swagger: "2.0"
info: {title: Vendor, version: "1"}
host: vendor.example
schemes: [https]
paths:
  /orders: {$ref: two/orders.yaml}
"""
FILES = {
    "openapi.yaml": THREE,
    "swagger.yaml": TWO,
    "parameters.yaml": "id: {name: id, in: path, required: true, schema: {type: integer}}",
    "paths/orders.yaml": """
post:
  operationId: create_order
  requestBody: {content: {application/json: {schema: {$ref: "../schemas/order.json#/Order"}}}}
  responses: {"201": {description: made}}
""",
    "two/orders.yaml": """
post:
  operationId: create_order
  consumes: [application/json]
  parameters: [{name: order, in: body, schema: {$ref: "../schemas/order.json#/Plain"}}]
  responses: {"201": {description: made}}
""",
    "schemas/order.json": json.dumps(
        {
            "Order": {
                "type": "object",
                "properties": {
                    "who": {"$ref": "deep/who.yaml"},
                    "to": {"$ref": "../openapi.yaml#/components/schemas/Address"},
                },
            },
            "Plain": {"type": "object", "properties": {"who": {"$ref": "deep/who.yaml"}}},
        }
    ),
    "schemas/deep/who.yaml": "type: string\nmaxLength: 9\n",
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("gateway"), free_port()
    command = ("practicum_gateway", "--port", str(port), "--data-dir", str(folder / "data"))
    url = f"http://127.0.0.1:{port}"
    with scrubbed_environment(), ExitStack() as stack:
        stack.enter_context(process(folder / "log", f"{url}/healthz", *command, PRACTICUM_ADMIN_KEY=ADMIN))
        yield url


@pytest.fixture
def vendor(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the vendor's files, in which the commands are typed."""
    os.environ |= {"PRACTICUM_URL": url, "PRACTICUM_API_KEY": ADMIN}
    folder = tmp_path / "vendor"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    return folder


def told(report: Any) -> list[Any]:
    return [[each["method"], each["path"], each["fidelity"], each["notes"]] for each in report["operations"]]


@pytest.mark.parametrize(("name", "document"), [("three", "openapi.yaml"), ("two", "swagger.yaml")])
def test_a_document_of_several_files_is_registered_as_check_told(
    vendor: Path, practicum: Types, name: str, document: str
) -> None:
    checked = practicum("connectors", "check", document, "--name", name, "--json")
    added = practicum("connectors", "add", name, document, "--json")
    assert (added.status, added.err) == (0, "")
    assert told(added.json) == told(checked.json)
    tool = practicum("tools", "show", f"{name}_create_order").json
    assert '"maxLength": 9' in json.dumps(tool["input_schema"])
    shutil.rmtree(vendor)
    assert "create_order" in practicum("connectors", "show", name).out


def test_what_is_missing_refuses_its_own_operation_alone(vendor: Path, practicum: Types) -> None:
    shown = practicum("connectors", "add", "missing", "openapi.yaml")
    assert shown.out.startswith("2 exact, 0 degraded, 1 refused\n")
    assert "schemas/gone.yaml" in shown.out
    assert "nowhere.json" not in shown.out + shown.err
    tool = practicum("tools", "show", "missing_create_order").json
    assert '"street"' in json.dumps(tool["input_schema"]), "a file may refer back to the document"
    again = practicum("connectors", "add", "missing", "openapi.yaml", "--json")
    assert again.status == 0, "the same again is no error"
    (vendor / "parameters.yaml").write_text(FILES["parameters.yaml"].replace("integer", "string"))
    other = practicum("connectors", "add", "missing", "openapi.yaml")
    assert other.status == 5
    assert "-> " in other.err


def test_a_newer_document_is_held_where_it_breaks_calls_until_it_is_accepted(vendor: Path, practicum: Types) -> None:
    (vendor / "schemas/gone.yaml").write_text("type: object")
    assert practicum("connectors", "add", "newer", "openapi.yaml").status == 0
    assert practicum("connectors", "refresh", "newer", "openapi.yaml").status == 0
    (vendor / "parameters.yaml").write_text(FILES["parameters.yaml"].replace("integer", "boolean"))
    refreshed = practicum("connectors", "refresh", "newer", "openapi.yaml")
    assert refreshed.status == 1
    assert "get_order" in refreshed.out
    assert practicum("connectors", "changes", "newer").status == 1
    assert "connectors changes newer" in practicum("connectors", "show", "newer").out
    told = next(line for line in refreshed.out.splitlines() if "connectors accept" in line)
    assert practicum("connectors", "accept", "newer", "--digest", "0" * 64).status == 5
    accepted = practicum(*told.partition("practicum ")[2].split())
    assert (accepted.status, "boolean" in accepted.out) == (0, True)
    assert practicum("connectors", "changes", "newer").status == 0
    url = practicum("connectors", "refresh", "newer")
    assert (url.status, "-> " in url.err) == (5, True), "it was never fetched from anywhere"


def test_bytes_of_a_system_are_fetched_as_the_call_told(vendor: Path, practicum: Types) -> None:
    picture = b"\x89PNG\r\n\x1a\n\x00\xff"
    answer = {"description": "ok", "content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}}
    path = {"get": {"operationId": "get_logo", "responses": {"200": answer}}}
    document = {"openapi": "3.0.3", "info": {"title": "Logos", "version": "1"}, "paths": {"/logo": path}}
    (vendor / "logos.json").write_text(json.dumps(document))
    with serving() as system:
        system.on("GET", "/logo", Answer(200, picture, "image/png"))
        added = practicum("connectors", "add", "logos", "logos.json", "--base-url", system.url, "--private-network")
        assert added.status == 0
        called = practicum("tools", "call", "logos_get_logo")
    told = next(line for line in called.err.splitlines() if "tools artifact" in line)
    fetched = practicum(*told.partition("practicum ")[2].split())
    assert fetched.status == 0
    assert (vendor / told.split()[-1]).read_bytes() == picture
    other = practicum("tools", "artifact", "nothing", "--output", "x")
    assert (other.status, "-> " in other.err) == (5, True)
