"""Documents of several files, as `connectors add` takes them along."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from practicum.cli import documents
from practicum.cli.documents import gathered
from practicum.errors import ConfigurationError
from tests.sdk.cli.conftest import Types
from tests.sdk.stand_in import StandIn

ROOT = """
openapi: 3.1.0
paths:
  /orders: {$ref: "./paths/orders%20of%20today.yaml"}
components:
  schemas:
    Order: {$ref: "schemas/order.json#/Order"}
    Pet:
      discriminator: {propertyName: kind, mapping: {dog: schemas/dog.yml, cat: Cat}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A document with files below it, and files around it that are not its own."""
    here = tmp_path / "api"
    for name, text in {
        "openapi.yaml": ROOT,
        "paths/orders of today.yaml": 'get: {x: {$ref: "../schemas/order.json#/Order"}}',
        "schemas/order.json": '{"Order": {"properties": {"who": {"$ref": "deep/who.yaml"}}}}',
        "schemas/deep/who.yaml": 'properties: {order: {$ref: "../../openapi.yaml#/components/schemas/Order"}}',
        "schemas/dog.yml": "type: object",
        "unused.yaml": "a: 1",
    }.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)
    (tmp_path / "secret.yaml").write_text("password: hush")
    return here


def test_files_of_files_are_taken_by_their_path_from_the_document(folder: Path) -> None:
    found = gathered(str(folder / "openapi.yaml"))
    assert set(found.files) == {
        "paths/orders%20of%20today.yaml",
        "schemas/order.json",
        "schemas/deep/who.yaml",
        "schemas/dog.yml",
        "openapi.yaml",
    }
    assert found.files["openapi.yaml"] == found.document
    assert found.files["schemas/dog.yml"] == {"type": "object"}
    assert found.left_out == []


def test_a_registration_carries_them(
    folder: Path, gateway: StandIn, practicum: Types, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    practicum("connectors", "add", "crm", "openapi.yaml")
    practicum("connectors", "refresh", "crm", "openapi.yaml")
    for sent in gateway.seen:
        assert sent.json["document"]["openapi"] == "3.1.0"
        assert sent.json["documents"]["schemas/dog.yml"] == {"type": "object"}
    assert [sent.target for sent in gateway.seen] == ["/v1/connectors", "/v1/connectors/crm/refresh"]


@pytest.mark.parametrize(
    "reference",
    [
        "../secret.yaml",
        "paths/../../secret.yaml#/password",
        "%2e%2e/secret.yaml",
        "link.yaml",
        "{absolute}",
        "file://{absolute}",
    ],
)
def test_nothing_above_the_folder_is_read(folder: Path, practicum: Types, gateway: StandIn, reference: str) -> None:
    (folder / "link.yaml").symlink_to(folder.parent / "secret.yaml")
    named = reference.format(absolute=folder.parent / "secret.yaml")
    (folder / "openapi.yaml").write_text(json.dumps({"openapi": "3.1.0", "x": {"$ref": named}}))
    shown = practicum("connectors", "add", "crm", str(folder / "openapi.yaml"))
    assert "is outside the folder of openapi.yaml" in shown.err
    assert gateway.seen[0].json["documents"] == {}
    assert b"hush" not in gateway.seen[0].body


def test_what_only_looks_like_a_reference_does_no_harm(folder: Path) -> None:
    values = [
        "absent.yaml",
        "../absent.yaml",
        "http://[",
        "\0",
        "x" * 5000,
        "",
        "#/here",
        "https://a/b.yaml",
        "//a/b",
        ".",
    ]
    (folder / "openapi.yaml").write_text(json.dumps({"example": [{"$ref": value} for value in [*values, 7, None]]}))
    found = gathered(str(folder / "openapi.yaml"))
    assert (found.files, found.left_out) == ({}, [])


def test_a_file_that_is_no_object_is_left_out_and_said(folder: Path, practicum: Types, gateway: StandIn) -> None:
    for name, text in {"broken.yaml": "a: [", "list.json": "[1]", "notes.md": "# Notes"}.items():
        (folder / name).write_text(text)
    references = [{"$ref": name} for name in ("broken.yaml", "list.json", "notes.md", "unused.yaml")]
    (folder / "openapi.json").write_text(json.dumps({"openapi": "3.1.0", "x": references}))
    shown = practicum("connectors", "add", "crm", str(folder / "openapi.json"))
    assert set(gateway.seen[0].json["documents"]) == {"unused.yaml"}
    assert shown.err.count("left out: ") == 3
    assert "broken.yaml is no YAML: " in shown.err


def test_a_document_from_stdin_has_no_folder(folder: Path, gateway: StandIn) -> None:
    program = "from practicum.cli.main import main; main()"
    command = [sys.executable, "-c", program, "connectors", "add", "crm", "-"]
    with (folder / "openapi.yaml").open() as text:
        subprocess.run(command, cwd=folder, stdin=text, env=dict(os.environ), capture_output=True, check=False)
    sent = gateway.seen[0].json
    assert (sent["document"]["openapi"], sent["documents"]) == ("3.1.0", {})


def test_too_many_files_or_bytes_are_refused(folder: Path) -> None:
    names = [f"part{number}.json" for number in range(documents.MAX_FILES + 1)]
    for name in names:
        (folder / name).write_text("{}")
    root = folder / "openapi.json"
    root.write_text(json.dumps([{"$ref": name} for name in names[:-1]]).join(('{"x": ', "}")))
    assert len(gathered(str(root)).files) == documents.MAX_FILES
    root.write_text(json.dumps([{"$ref": name} for name in names]).join(('{"x": ', "}")))
    with pytest.raises(ConfigurationError, match="more than 2000 files"):
        gathered(str(root))
    with (folder / "huge.json").open("wb") as huge:
        huge.truncate(documents.MAX_BYTES + 1)
    root.write_text('{"$ref": "huge.json"}')
    with pytest.raises(ConfigurationError, match="bytes"):
        gathered(str(root))


def test_merge_keys_numbers_and_byte_order_marks_are_understood(folder: Path) -> None:
    (folder / "openapi.yaml").write_text(
        "\ufeffbase: &base {a: 1, b: 2}\nx: {<<: *base, b: 3}\ny: {<<: [*base, {c: 0x10}], d: 0o17}\n", encoding="utf-8"
    )
    found = gathered(str(folder / "openapi.yaml")).document
    assert (found["x"], found["y"]) == ({"a": 1, "b": 3}, {"a": 1, "b": 2, "c": 16, "d": 15})


def test_aliases_that_unfold_without_end_are_refused(folder: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    (folder / "openapi.yaml").write_text("\n".join(lines))
    with pytest.raises(ConfigurationError, match="unfolds to more than"):
        gathered(str(folder / "openapi.yaml"))
