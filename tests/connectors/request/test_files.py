"""Bodies of bytes and of text."""

import json
from typing import Any

import pytest

from practicum.contracts.connectors import Fidelity
from practicum.contracts.tools import Tool
from practicum_connectors.exchange import Payload
from tests.connectors.documents import Json, compiled, document, one_tool, properties
from tests.connectors.request.bodies import BYTES, MULTIPART, builder, built, refusal, taking

STORED = {"art_1": Payload("application/zip", "a.zip", b"PK\x00\xff", complete=True)}
NUMBERS: Json = {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}


def tool_taking(*content: Any) -> Tool:
    return one_tool(document({"/t": {"post": taking(*content)}}))


@pytest.mark.parametrize(
    ("declared", "schema", "given", "sent", "body"),
    [
        ("application/octet-stream", BYTES, {"base64": "AP8="}, "application/octet-stream", b"\x00\xff"),
        ("application/octet-stream", None, {"text": "ü"}, "application/octet-stream", "ü".encode()),
        (
            "application/octet-stream",
            {"type": "string"},
            {"artifact": "art_1"},
            "application/octet-stream",
            b"PK\x00\xff",
        ),
        ("application/x-tar", {"type": "string", "format": "binary"}, {"text": "x"}, "application/x-tar", b"x"),
        ("image/*", BYTES, {"text": "x", "media_type": "image/gif"}, "image/gif", b"x"),
        ("image/*", BYTES, {"text": "x", "name": "a.png"}, "image/png", b"x"),
        ("*/*", BYTES, {"artifact": "art_1"}, "application/zip", b"PK\x00\xff"),
        ("*/*", BYTES, {"text": "x"}, "application/octet-stream", b"x"),
        ("text/csv", BYTES, {"text": "a,b"}, "text/csv", b"a,b"),
        ("application/octet-stream", BYTES, {"text": ""}, "application/octet-stream", b""),
    ],
)
def test_bytes(declared: str, schema: Any, given: Json, sent: str, body: bytes) -> None:
    request = built(taking(declared, schema), {"body": given}, STORED)
    assert (request.header("content-type"), request.body) == (sent, body)


@pytest.mark.parametrize(
    ("declared", "given", "words"),
    [
        ("image/*", {"text": "x", "media_type": "text/plain"}, ["one of image/*"]),
        ("image/png", {"text": "x", "media_type": "image/gif"}, ["one of image/png"]),
        ("image/*", {"text": "x"}, ["one of image/*"]),
        ("application/octet-stream", {"artifact": "art_2"}, ["no artifact"]),
        ("application/octet-stream", {}, ["exactly one of text, base64, artifact"]),
    ],
)
def test_bytes_that_do_not_fit_are_refused(declared: str, given: Json, words: list[str]) -> None:
    text = refusal(taking(declared, BYTES), {"body": given}, STORED)
    assert "body" in text
    assert all(word in text for word in words), text


@pytest.mark.parametrize(
    ("declared", "schema", "value", "sent", "body"),
    [
        ("text/plain", {"type": "string"}, "hi", "text/plain; charset=utf-8", b"hi"),
        ("text/plain", {"type": "string"}, "", "text/plain; charset=utf-8", b""),
        ("text/plain", {"type": "string"}, "ü\n", "text/plain; charset=utf-8", "ü\n".encode()),
        ("text/plain; charset=utf-8", {"type": "string"}, "ü", "text/plain; charset=utf-8", "ü".encode()),
        ("text/plain", {"type": "integer"}, 0, "text/plain; charset=utf-8", b"0"),
        ("text/csv", None, "a,b\r\n1,2\r\n", "text/csv; charset=utf-8", b"a,b\r\n1,2\r\n"),
        ("text/csv", NUMBERS, "n\n1\n", "text/csv; charset=utf-8", b"n\n1\n"),
        ("application/yaml", {"type": "object"}, "a: 1\n", "application/yaml", b"a: 1\n"),
        ("application/x-ndjson", {"type": "string"}, '{"a":1}\n', "application/x-ndjson", b'{"a":1}\n'),
        ("application/x-ndjson", NUMBERS, [{"n": 1}, {}], "application/x-ndjson", b'{"n": 1}\n{}\n'),
        ("application/x-ndjson", NUMBERS, [], "application/x-ndjson", b""),
        ("application/xml", {"type": "string"}, "<a/>", "application/xml", b"<a/>"),
    ],
)
def test_text(declared: str, schema: Any, value: Any, sent: str, body: bytes) -> None:
    request = built(taking(declared, schema), {"body": value})
    assert (request.header("content-type"), request.body) == (sent, body)


def test_text_is_checked_like_any_argument() -> None:
    assert "maxLength" in refusal(taking("text/plain", {"type": "string", "maxLength": 2}), {"body": "xxx"})
    assert "surrogate" in refusal(taking("text/plain", {"type": "string"}), {"body": "\ud800"})


def test_a_model_sees_one_shape_for_files_wherever_they_stand() -> None:
    whole = properties(tool_taking("application/octet-stream", BYTES))["body"]
    part = properties(tool_taking(MULTIPART, {"type": "object", "properties": {"f": BYTES}}))["f"]
    assert whole == part
    assert [branch["required"] for branch in whole["oneOf"]] == [["text"], ["base64"], ["artifact"]]


def test_the_artifacts_that_a_call_names_are_known_beforehand() -> None:
    schema: Json = {
        "type": "object",
        "properties": {"f": BYTES, "l": {"type": "array", "items": BYTES}, "o": {"type": "object"}},
    }
    arguments: Json = {
        "f": {"artifact": "art_1"},
        "l": [{"artifact": "art_2"}, {"text": "x"}],
        "o": {"artifact": "not a file"},
    }
    assert builder(taking(MULTIPART, schema)).wants(arguments) == {"art_1", "art_2"}
    assert builder(taking("application/json", schema)).wants({"f": "x"}) == frozenset()


@pytest.mark.parametrize("media_type", ["multipart/related", "multipart/mixed"])
def test_bodies_whose_parts_have_no_names_are_refused_with_the_way_out(media_type: str) -> None:
    paths = {"/t": {"post": taking(media_type, {})}, "/u": {"post": taking(media_type, {}, required=False)}}
    refused, degraded = compiled(document(paths)).report
    assert refused.fidelity is Fidelity.REFUSED
    assert media_type in refused.notes[0]
    assert degraded.fidelity is Fidelity.DEGRADED


def test_a_lone_surrogate_never_reaches_the_wire() -> None:
    assert "surrogate" in refusal(taking("application/json", {"type": "string"}), {"body": "\ud800"})


def test_json_is_the_first_choice() -> None:
    several = {name: {"schema": {"type": "object"}} for name in ("application/xml", "text/plain", "application/json")}
    made: Json = {"operationId": "act", "requestBody": {"required": True, "content": several}}
    assert json.loads(built(made, {"body": {"a": 1}}).body or b"") == {"a": 1}
