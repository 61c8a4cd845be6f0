"""Documents from URLs."""

import json
from pathlib import Path

import pytest

from practicum.contracts.connectors import ConnectorSpec
from practicum.errors import DocumentError
from practicum_connectors import CompiledConnector, load_source
from practicum_connectors.document.sources import folder_source
from practicum_connectors.fetch import fetch_document, read_document, shown
from tests.connectors.documents import document, operation
from tests.connectors.loopback import Answer, System

DOCUMENT = document({"/x": {"get": operation()}})


async def test_a_document_is_fetched_and_its_address_is_the_systems(system: System) -> None:
    system.answer("/docs/openapi.json", Answer(body=DOCUMENT))
    spec = ConnectorSpec(name="crm", source=f"{system.url}/docs/openapi.json", private_network=True)
    connector = CompiledConnector.compile(spec, await load_source(spec))
    assert connector.base_url == system.url
    assert "authorization" not in system.seen[0].headers


async def test_yaml_and_redirects(system: System) -> None:
    system.answer("/old", Answer(301, headers=[("location", "/new.yaml")]))
    system.answer("/new.yaml", Answer(body=b"openapi: 3.0.3\npaths: {}\n", media_type="application/yaml"))
    found = await fetch_document(f"{system.url}/old", private_network=True)
    assert (found.minor, found.source) == (0, f"{system.url}/new.yaml")


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (Answer(404), "answered 404"),
        (Answer(302, headers=[("location", "/x")]), "redirects more than"),
        (Answer(302, headers=[("location", "file:///etc/passwd")]), "not a web address"),
        (Answer(302, headers=[("location", "http://u:p@127.0.0.1/")]), "user name or password"),
        (Answer(body=b"<html>", media_type="text/html"), "HTML"),
        (Answer(body=b""), "not an object"),
        (Answer(delay=1), "within 0.3 s"),
    ],
)
async def test_what_cannot_be_fetched_is_said(system: System, answer: Answer, word: str) -> None:
    system.answer("/x", answer)
    timeout_seconds = 0.3 if answer.delay else 30.0
    with pytest.raises(DocumentError, match=word) as caught:
        await fetch_document(f"{system.url}/x", private_network=True, timeout_seconds=timeout_seconds)
    assert caught.value.mend or "within" in word


@pytest.mark.parametrize(
    "url", ["ftp://x/y", "file:///etc/passwd", "x", "http://", "http://[", "http://h:99999/", "http://u:p@h/"]
)
async def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(DocumentError):
        await fetch_document(url)


async def test_private_addresses_are_refused_unless_allowed(system: System) -> None:
    system.answer("/x", Answer(body=DOCUMENT))
    for host in ("127.0.0.1", "localhost", "0"):
        with pytest.raises(DocumentError, match="private"):
            await fetch_document(f"{system.url}/x".replace("127.0.0.1", host))
    assert system.seen == []


async def test_an_address_that_cannot_be_asked_says_how_to_go_on() -> None:
    for host in ("no.such.host.invalid", "0177.0.0.1"):
        with pytest.raises(DocumentError) as refused:
            await fetch_document(f"http://{host}/x")
        assert "Check the address" in (refused.value.mend or "")


async def test_a_dead_server_is_one_clear_error() -> None:
    with pytest.raises(DocumentError, match="cannot be reached"):
        await fetch_document("http://127.0.0.1:1/x", private_network=True)


async def test_a_registration_without_document_or_source_is_refused() -> None:
    with pytest.raises(DocumentError, match="neither"):
        await load_source(ConnectorSpec(name="crm"))
    loaded = await load_source(ConnectorSpec(name="crm", document=json.loads(json.dumps(DOCUMENT))))
    assert loaded.title == "Test"


def test_addresses_are_shown_without_secrets() -> None:
    assert shown("https://u:p@h:1/a?key=s#f") == "https://h:1/a"


REFERRING = document({"/x": {"post": operation(body={"$ref": "schemas/pet.yaml"})}, "/y": {"get": operation()}})


async def test_what_a_document_refers_to_is_fetched_with_it(system: System) -> None:
    system.answer("/docs/openapi.json", Answer(body=REFERRING))
    system.answer("/docs/schemas/pet.yaml", Answer(body=b"type: object\nproperties: {tag: {$ref: tag.json}}\n"))
    system.answer("/docs/schemas/tag.json", Answer(301, headers=[("location", "/moved.json")]))
    system.answer("/moved.json", Answer(body={"type": "string"}))
    spec = ConnectorSpec(name="crm", source=f"{system.url}/docs/openapi.json", private_network=True)
    document = await read_document(spec)
    assert document.notes == ()
    assert document.root["components"]["schemas"]["tag"] == {"type": "string"}
    connector = CompiledConnector.compile(spec, document)
    assert all(entry.tool for entry in connector.report)


async def test_references_reach_no_other_private_address(system: System) -> None:
    system.answer("/docs/openapi.json", Answer(body=REFERRING))
    other = system.url.replace("127.0.0.1", "localhost")
    system.answer("/docs/schemas/pet.yaml", Answer(302, headers=[("location", f"{other}/secret")]))
    system.answer("/secret", Answer(body={"type": "string"}))
    spec = ConnectorSpec(name="crm", source=f"{system.url}/docs/openapi.json", private_network=True)
    document = await read_document(spec)
    assert "private address" in document.notes[0]
    assert [seen.raw_path for seen in system.seen] == ["/docs/openapi.json", "/docs/schemas/pet.yaml"]
    at_hand = ConnectorSpec(
        name="crm",
        private_network=True,
        document=json.loads(json.dumps(REFERRING).replace("schemas/", f"{system.url}/schemas/")),
    )
    assert "private address" in (await read_document(at_hand)).notes[0]
    system.answer("/schemas/pet.yaml", Answer(body={"type": "object"}))
    allowed = at_hand.model_copy(update={"base_url": system.url})
    assert (await read_document(allowed)).notes == ()


async def test_files_beside_a_document_come_with_it_or_from_its_folder(tmp_path: Path) -> None:
    given = ConnectorSpec(
        name="crm", document=json.loads(json.dumps(REFERRING)), documents={"schemas/pet.yaml": {"type": "object"}}
    )
    assert (await read_document(given)).root["components"]["schemas"]["pet"] == {"type": "object"}
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "pet.yaml").write_text("type: object\n")
    (tmp_path / "openapi.json").write_text(json.dumps(REFERRING))
    spec = ConnectorSpec(name="crm", source=(tmp_path / "openapi.json").as_uri())
    found = await read_document(spec, folder_source(tmp_path))
    assert found.root["components"]["schemas"]["pet"] == {"type": "object"}
    with pytest.raises(DocumentError, match="not a web address"):
        await read_document(spec)


async def test_an_overlay_is_applied_to_what_was_read() -> None:
    old = {"swagger": "2.0", "host": "h", "paths": {"/x": {"get": {"operationId": "old"}}}}
    spec = ConnectorSpec(name="crm", document=json.loads(json.dumps(old)))
    patch = ({"op": "replace", "path": "/paths/~1x/get/operationId", "value": "new"},)
    patched = await read_document(spec.model_copy(update={"overlay": patch}))
    assert list(CompiledConnector.compile(spec, patched).tools) == ["crm_new"]
    actions = [{"target": "$.paths['/x'].get", "update": {"operationId": "newer"}}, {"target": "$.z", "remove": True}]
    overlaid = await read_document(spec.model_copy(update={"overlay": {"overlay": "1.0.0", "actions": actions}}))
    assert list(CompiledConnector.compile(spec, overlaid).tools) == ["crm_newer"]
    assert overlaid.notes == ("Action 2 of the overlay fits nothing: $.z",)
    with pytest.raises(DocumentError, match="Operation 1"):
        await read_document(spec.model_copy(update={"overlay": ({"op": "remove", "path": "/absent"},)}))
