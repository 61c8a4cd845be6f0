import json
from pathlib import Path
from typing import Any

import pytest

from practicum.errors import DocumentError
from practicum_connectors import load_document

SMALL = {"openapi": "3.1.0", "info": {"title": "Small", "version": "2"}, "paths": {}}


def test_a_document_is_the_same_from_every_source(tmp_path: Path) -> None:
    file = tmp_path / "small.json"
    file.write_text(json.dumps(SMALL, indent=2))
    texts: list[Any] = [
        SMALL,
        json.dumps(SMALL),
        json.dumps(SMALL).encode(),
        b"\xef\xbb\xbf" + json.dumps(SMALL).encode(),
        file,
    ]
    documents = [load_document(source) for source in texts]
    assert {document.digest for document in documents} == {documents[0].digest}
    assert (documents[0].title, documents[0].version, documents[0].minor) == ("Small", "2", 1)


def test_its_canonical_text_gives_it_again() -> None:
    document = load_document({**SMALL, "info": {"title": "Ümläut \ud800 ☃", "version": "1"}})
    assert document.title == "Ümläut \ufffd ☃"
    again = load_document(document.canonical)
    assert again.root == document.root
    assert again.digest == document.digest


def test_nobody_can_change_it_from_outside() -> None:
    source: dict[str, Any] = {**SMALL, "paths": {"/a": {}}}
    document = load_document(source)
    source["paths"]["/b"] = {}
    assert list(document.root["paths"]) == ["/a"]


@pytest.mark.parametrize("version", ["3.0", "3.0.3", "3.1.0", "3.1.1", "3.2.0", 3.1, "3.1.0-rc1"])
def test_versions_three_are_read(version: str | float) -> None:
    load_document({**SMALL, "openapi": version})


@pytest.mark.parametrize(
    ("source", "word"),
    [
        (b"", "not an object"),
        (b"[]", "not an object"),
        (b'"text"', "not an object"),
        (b"just words", "not an object"),
        (b'{"openapi": "3.1.0", }', "line 1, column"),
        (b'{"openapi": "3.1.0"', "line 1, column"),
        (b"\xff\xfe{}", "UTF-8"),
        (b"<!doctype html><html>", "HTML"),
        (b"openapi: [unclosed", "not valid YAML"),
        (b'{"swagger": "1.2"}', "Swagger '1.2'"),
        (b'{"swagger": "2.0", "paths": []}', "`paths`"),
        (b'{"openapi": "4.0.0"}', "4.0.0"),
        (b'{"paths": {}}', "no `openapi` field"),
        (b'{"openapi": "3.1.0", "paths": []}', "`paths`"),
        (b'{"openapi": "3.1.0", "components": 3}', "`components`"),
        (b'{"a":' * 100_000, "too deep"),
        (b'{"openapi": ' + b"1" * 5000 + b"}", "not valid JSON"),
    ],
)
def test_what_is_no_document_is_refused_with_the_reason(source: bytes, word: str) -> None:
    with pytest.raises(DocumentError, match=word) as caught:
        load_document(source)
    assert caught.value.mend


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"absent\.yaml"):
        load_document(tmp_path / "absent.yaml")


def test_values_that_are_no_json_do_not_lose_the_document() -> None:
    document = load_document(b'{"openapi": "3.1.0", "paths": {}, "x-example": [NaN, Infinity, 12345678901234567890]}')
    assert document.root["x-example"] == [None, None, 12345678901234567890]


def test_half_a_character_does_not_lose_the_document() -> None:
    halves = (
        rb'{"openapi": "3.1.0", "info": {"title": "a\ud83d \udE00b \ud83d\ude00 \\ud83d", "version": "1"}, "paths": {}}'
    )
    document = load_document(halves)
    assert document.title == "a\ufffd \ufffdb \U0001f600 \\ud83d"
    assert document.canonical.decode("utf-8")


def test_swagger_is_read_as_openapi_three() -> None:
    old: dict[str, Any] = {
        "swagger": "2.0",
        "info": {"title": "Old", "version": "3"},
        "host": "h",
        "paths": {"/a": {"get": {}}},
    }
    document = load_document(json.dumps(old))
    assert (document.minor, document.title, document.version) == (0, "Old", "3")
    assert document.root["servers"] == [{"url": "https://h"}]
    assert load_document(document.canonical).digest == document.digest


def test_a_swagger_document_that_nests_too_deep_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(600):
        schema = {"items": schema}
    with pytest.raises(DocumentError, match="too deep"):
        load_document({"swagger": "2.0", "paths": {}, "definitions": {"Deep": schema}})


def test_a_document_that_names_its_address_is_resolved_against_it() -> None:
    named = {**SMALL, "openapi": "3.2.0", "$self": "/api/openapi.json"}
    assert (
        load_document(named, origin="https://docs.example.com/x").source == "https://docs.example.com/api/openapi.json"
    )
    assert load_document({**named, "$self": "file:///etc/x"}, origin="https://h/x").source == "https://h/x"
    assert load_document(named).source is None
