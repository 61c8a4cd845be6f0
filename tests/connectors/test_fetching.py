"""Documents from URLs."""

import json

import pytest

from practicum.contracts.connectors import ConnectorSpec
from practicum.errors import DocumentError
from practicum_connectors import CompiledConnector, load_source
from practicum_connectors.fetch import fetch_document, shown
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
    with pytest.raises(DocumentError, match=word) as caught:
        await fetch_document(f"{system.url}/x", private_network=True, timeout_seconds=0.3)
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
