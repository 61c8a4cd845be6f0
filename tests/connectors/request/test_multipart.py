"""Bodies in parts: read as a server of today reads them, with python-multipart, which knows nothing of us."""

import base64
import io
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from python_multipart import parse_form
from python_multipart.multipart import Field, File

from practicum.contracts.connectors import Fidelity
from practicum.errors import CallError
from practicum_connectors import HttpRequest
from practicum_connectors.exchange import Payload
from tests.connectors.documents import Json, compiled, document, one_tool, properties
from tests.connectors.request.bodies import BYTES, MULTIPART, built, refusal, taking

TEXT: Json = {"type": "string"}
NOTE: Json = {"type": "object", "properties": {"n": {"type": "integer"}, "l": {"type": "array", "items": {}}}}
PNG = Payload("image/png", "a.png", b"\x89PNG\r\n\x00--x\r\n", complete=True)


def parts(encoding: Json | None = None, required: list[str] | None = None, /, **members: Json) -> Json:
    schema: Json = {"type": "object", "properties": members, "required": required or []}
    return taking(MULTIPART, schema, encoding=encoding or {})


def served(request: HttpRequest) -> list[tuple[str, str | None, bytes]]:
    """Name, file name and content of each part, as a server reads them."""
    found: list[tuple[str, str | None, bytes]] = []

    def on_field(field: Any) -> None:
        read = cast("Field", field)
        found.append(((read.field_name or b"").decode(), None, read.value or b""))

    def on_file(file: Any) -> None:
        read = cast("File", file)
        read.file_object.seek(0)
        found.append(((read.field_name or b"").decode(), (read.file_name or b"").decode(), read.file_object.read()))

    headers = {"Content-Type": (request.header("content-type") or "").encode()}
    parse_form(headers, io.BytesIO(request.body or b""), on_field, on_file)
    return found


def test_the_bytes_of_a_body_in_parts() -> None:
    made = parts(note=NOTE, name=TEXT, file=BYTES)
    request = built(made, {"name": "x", "note": {"n": 1}, "file": {"text": "hi", "name": "a.txt"}})
    boundary = (request.header("content-type") or "").removeprefix("multipart/form-data; boundary=")
    assert boundary.isalnum()
    assert (
        request.body
        == (
            f'--{boundary}\r\nContent-Disposition: form-data; name="note"\r\nContent-Type: application/json\r\n\r\n'
            f'{{"n": 1}}\r\n--{boundary}\r\nContent-Disposition: form-data; name="name"\r\n\r\nx\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n'
            f"Content-Type: text/plain\r\n\r\nhi\r\n--{boundary}--\r\n"
        ).encode()
    )


def test_the_same_call_is_the_same_request() -> None:
    made, arguments = parts(file=BYTES), {"file": {"text": "hi"}}
    assert built(made, arguments) == built(made, arguments)


PARTS: list[tuple[Json, Json, list[tuple[str, str | None, bytes]]]] = [
    (parts(a=TEXT), {"a": "ü\r\n x"}, [("a", None, "ü\r\n x".encode())]),
    (parts(a=TEXT), {"a": ""}, [("a", None, b"")]),
    (
        parts(n={"type": "integer"}, t={"type": "boolean"}),
        {"n": 0, "t": False},
        [("n", None, b"0"), ("t", None, b"false")],
    ),
    (parts(f=BYTES), {"f": {"base64": "AP8NCg=="}}, [("f", "file", b"\x00\xff\r\n")]),
    (parts(f=BYTES), {"f": {"artifact": "art_1"}}, [("f", "a.png", PNG.content)]),
    (parts(f=BYTES), {"f": {"artifact": "art_1", "name": "b.png"}}, [("f", "b.png", PNG.content)]),
    (parts(f=BYTES), {"f": {"text": "", "name": 'ü "x".txt'}}, [("f", "ü %22x%22.txt", b"")]),
    (
        parts(f={"type": "array", "items": BYTES}),
        {"f": [{"text": "1", "name": "1"}, {"text": "2", "name": "2"}]},
        [("f", "1", b"1"), ("f", "2", b"2")],
    ),
    (parts(l={"type": "array", "items": TEXT}), {"l": ["x", "y"]}, [("l", None, b"x"), ("l", None, b"y")]),
    (parts(l={"type": "array", "items": TEXT}), {"l": ["x"]}, [("l", None, b"x")]),
    (parts(l={"type": "array", "items": NOTE}), {"l": [{"n": 1}, {}]}, [("l", None, b'{"n": 1}'), ("l", None, b"{}")]),
    (parts(o=NOTE), {"o": {"l": []}}, [("o", None, b'{"l": []}')]),
    (
        parts({"o": {"style": "deepObject"}}, o=NOTE),
        {"o": {"n": 1, "l": ["x"]}},
        [("o[n]", None, b"1"), ("o[l][]", None, b"x")],
    ),
    (parts({"j": {"contentType": "application/json"}}, j={}), {"j": "x"}, [("j", None, b'"x"')]),
]


@pytest.mark.parametrize(("made", "arguments", "expected"), PARTS)
def test_parts(made: Json, arguments: Json, expected: list[tuple[str, str | None, bytes]]) -> None:
    assert served(built(made, arguments, {"art_1": PNG})) == expected


def test_a_body_without_parts() -> None:
    request = built(parts(a=TEXT), {})
    assert (request.body or b"").endswith(b"--\r\n")


@pytest.mark.parametrize(
    ("said", "given", "sent"),
    [
        (None, {"text": "x"}, "application/octet-stream"),
        (None, {"text": "x", "name": "a.csv"}, "text/csv"),
        (None, {"text": "x", "media_type": "text/x-log; charset=utf-8"}, "text/x-log; charset=utf-8"),
        ("image/png, image/jpeg", {"text": "x"}, "image/png"),
        ("image/png, image/jpeg", {"text": "x", "name": "a.jpg"}, "image/jpeg"),
        ("image/*", {"text": "x", "media_type": "image/gif"}, "image/gif"),
        ("application/octet-stream", {"text": "x", "name": "a.zip"}, "application/octet-stream"),
    ],
)
def test_a_file_goes_under_the_media_type_that_fits(said: str | None, given: Json, sent: str) -> None:
    request = built(parts({"f": {"contentType": said}} if said else None, f=BYTES), {"f": given})
    assert f"Content-Type: {sent}\r\n".encode() in (request.body or b"")


def test_what_a_schema_says_of_its_file_is_its_media_type() -> None:
    body = built(parts(f={"contentMediaType": "application/pdf"}), {"f": {"text": "x"}}).body or b""
    assert b"Content-Type: application/pdf\r\n" in body


def test_headers_of_a_part_that_the_document_fixes_are_sent() -> None:
    said = {"f": {"headers": {"X-Part": {"schema": {"const": "v1"}}, "X-Free": {"schema": TEXT}}}}
    body = built(parts(said, f=BYTES), {"f": {"text": "x"}}).body or b""
    assert b"\r\nX-Part: v1\r\n" in body
    assert b"X-Free" not in body


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"f": {}}, ["f:", "exactly one of text, base64, artifact"]),
        ({"f": {"text": "x", "base64": "eA=="}}, ["f:", "exactly one of text, base64, artifact"]),
        ({"f": {"base64": "%%"}}, ["f.base64", "byte"]),
        ({"f": {"artifact": "art_9"}}, ["f:", "no artifact 'art_9'"]),
        ({"f": {"artifact": "cut"}}, ["f:", "cut"]),
        ({"f": {"text": "x", "media_type": "text/plain\r\nEvil: 1"}}, ["f:", "media type"]),
        ({"f": {"text": "x", "media_type": "png"}}, ["f:", "media type"]),
        ({"f": {"text": "x", "name": "a\x00b"}}, ["f:", "no name can carry"]),
        ({"f": {"text": "x", "name": "a%22b"}}, ["f:", "does not arrive"]),
        ({"f": {"text": "x", "name": "a\\"}}, ["f:", "no name can carry"]),
        ({"p": {"text": "x", "media_type": "image/gif"}}, ["p:", "one of image/png"]),
        ({"l": []}, ["l:", "leave it out"]),
        ({"n": None}, ["n:", "null"]),
        ({"f": "x"}, ["f:", "object"]),
        ({"f": {"text": "\ud800"}}, ["f:", "surrogate"]),
    ],
)
def test_what_would_arrive_as_something_else_is_refused(arguments: Json, words: list[str]) -> None:
    made = parts(
        {"p": {"contentType": "image/png"}},
        f=BYTES,
        p=BYTES,
        l={"type": "array", "items": TEXT},
        n={"type": ["string", "null"]},
    )
    text = refusal(made, arguments, {"cut": Payload("text/plain", None, b"x", complete=False)})
    assert all(word in text for word in words), text


@pytest.mark.parametrize(
    "schema",
    [
        BYTES,
        {"type": "string", "contentMediaType": "image/png"},
        {"$ref": "#/components/schemas/Bytes"},
        {"allOf": [{"$ref": "#/components/schemas/Bytes"}], "description": "The file."},
        {"type": ["string", "null"], "format": "binary"},
    ],
)
def test_what_stands_for_bytes_is_a_file(schema: Json) -> None:
    tool = one_tool(document({"/t": {"post": parts(f=schema)}}, components={"schemas": {"Bytes": BYTES}}))
    assert properties(tool)["f"]["properties"].keys() == {"text", "base64", "artifact", "name", "media_type"}


@pytest.mark.parametrize(
    "schema", [TEXT, {"type": "string", "format": "byte"}, {"type": "string", "contentEncoding": "base64"}]
)
def test_what_is_text_is_none(schema: Json) -> None:
    assert properties(one_tool(document({"/t": {"post": parts(f=schema)}})))["f"]["type"] == "string"


def test_an_optional_body_with_files_is_all_or_nothing() -> None:
    made = parts(None, ["f"], f=BYTES, a=TEXT)
    made["requestBody"]["required"] = False
    assert built(made, {}).body is None
    assert served(built(made, {"body": {"f": {"text": "x"}, "a": "y"}})) == [("f", "file", b"x"), ("a", None, b"y")]


def test_json_is_preferred_and_says_what_it_cannot_carry() -> None:
    schema = {"type": "object", "properties": {"f": BYTES}}
    several = {
        MULTIPART: {"schema": schema},
        "application/json": {"schema": {"type": "object", "properties": {"a": TEXT}}},
    }
    made: Json = {"operationId": "act", "requestBody": {"content": several}}
    (entry,) = compiled(document({"/t": {"post": made}})).report
    assert entry.fidelity is Fidelity.DEGRADED
    assert "multipart/form-data only" in entry.notes[0]


def test_parts_are_preferred_to_fields_where_there_are_files() -> None:
    schema = {"type": "object", "properties": {"f": BYTES}}
    several = {"application/x-www-form-urlencoded": {"schema": schema}, MULTIPART: {"schema": schema}}
    made: Json = {"operationId": "act", "requestBody": {"content": several}}
    assert (built(made, {"f": {"text": "x"}}).header("content-type") or "").startswith(MULTIPART)


@given(st.binary(max_size=200), st.text(max_size=20), st.text(st.sampled_from('ab"%\\;.ü '), min_size=1, max_size=8))
def test_any_bytes_and_names_arrive_or_are_refused(content: bytes, text: str, name: str) -> None:
    arguments: Json = {"f": {"base64": base64.b64encode(content).decode(), "name": name}, "a": text}
    try:
        request = built(parts(f=BYTES, a=TEXT), arguments)
    except CallError:
        assert {"%", "\\"} & set(name)
        return
    assert served(request) == [("f", name.replace('"', "%22"), content), ("a", None, text.encode())]
