"""The readers of forms, parts, bytes and text must be able to contradict their writers."""

from dataclasses import replace
from typing import Any

import pytest

from practicum.errors import CallError
from practicum_connectors.exchange import Payload
from practicum_connectors.request.bodies import Written
from practicum_connectors.request.check import RequestCheck
from practicum_connectors.request.views import SchemaView
from tests.connectors.documents import Json, compiled, document
from tests.connectors.request.bodies import BYTES, FORM, MULTIPART, taking

TEXTS: Json = {"type": "array", "items": {"type": "string"}}
INSIDE: Json = {"type": "object", "properties": {"n": {"type": "integer"}, "l": TEXTS}}
FIELDS: Json = {"type": "object", "properties": {"a": {"type": "string"}, "o": INSIDE, "l": TEXTS}}
PARTS: Json = {"type": "object", "properties": {"a": {"type": "string"}, "o": INSIDE, "f": BYTES}}
FIELD_VALUES: Json = {"a": "x y", "o": {"n": 1, "l": ["p"]}, "l": ["r", "s"]}
PART_VALUES: Json = {"a": "x", "o": {"n": 1}, "f": {"text": "hi", "name": "a.txt"}}
CASES: list[tuple[Json, Json, bytes, bytes]] = [
    (taking(FORM, FIELDS), FIELD_VALUES, b"a=x+y", b"a=x"),
    (taking(FORM, FIELDS), FIELD_VALUES, b"a=x+y", b"a=x+y&a=z"),
    (taking(FORM, FIELDS), FIELD_VALUES, b"a=x+y&", b""),
    (taking(FORM, FIELDS), FIELD_VALUES, b"o%5Bn%5D=1", b"o%5Bn%5D=one"),
    (taking(FORM, FIELDS), FIELD_VALUES, b"o%5Bl%5D%5B%5D=p", b"o%5Bl%5D%5Bx%5D=p"),
    (taking(FORM, FIELDS), FIELD_VALUES, b"l=r&l=s", b"l=s&l=r"),
    (taking(FORM, FIELDS), FIELD_VALUES, b"l=r&l=s", b"l=r,s"),
    (taking(FORM, FIELDS), FIELD_VALUES, b"l=r&l=s", "l=ü".encode()),
    (taking(MULTIPART, PARTS), PART_VALUES, b"\r\n\r\nx\r\n", b"\r\n\r\ny\r\n"),
    (taking(MULTIPART, PARTS), PART_VALUES, b'{"n": 1}', b'{"n": 2}'),
    (taking(MULTIPART, PARTS), PART_VALUES, b'{"n": 1}', b'{"n": '),
    (taking(MULTIPART, PARTS), PART_VALUES, b"\r\n\r\nhi\r\n", b"\r\n\r\nhi \r\n"),
    (taking(MULTIPART, PARTS), PART_VALUES, b'filename="a.txt"', b'filename="b.txt"'),
    (taking(MULTIPART, PARTS), PART_VALUES, b"Content-Type: text/plain", b"Content-Type: text/html"),
    (taking(MULTIPART, PARTS), PART_VALUES, b'name="a"', b'name="o"'),
    (taking(MULTIPART, PARTS), PART_VALUES, b"--\r\n", b"\r\n"),
    (taking("application/octet-stream", BYTES), {"body": {"text": "hi"}}, b"hi", b"ho"),
    (taking("text/plain", {"type": "string"}), {"body": "hi"}, b"hi", b"hi\n"),
    (taking("text/plain", {"type": "string"}), {"body": "hi"}, b"hi", b"\xff"),
    (taking("application/json", {"type": "boolean"}), {"body": True}, b"true", b"1"),
]


def meant(made: Json, arguments: Json) -> tuple[Any, Written, RequestCheck]:
    """A built request, what was written of it, and the check that reads it."""
    connector = compiled(document({"/t": {"post": made}}))
    prepared = connector.prepare("crm_act", arguments)
    builder = connector._builders["crm_act"]  # pyright: ignore[reportPrivateUsage]
    writer = builder._writer  # pyright: ignore[reportPrivateUsage]
    assert writer is not None
    files: dict[str, Payload] = {}
    written = writer.write(arguments if writer.plan.flat else arguments["body"], files)
    view = SchemaView(prepared.plan.definitions.closure(prepared.plan.needs))
    return prepared.request, written, RequestCheck(prepared.plan, "http://127.0.0.1:1", view)


@pytest.mark.parametrize(("made", "arguments", "right", "wrong"), CASES)
def test_a_wrong_body_is_caught(made: Json, arguments: Json, right: bytes, wrong: bytes) -> None:
    request, written, check = meant(made, arguments)
    check.check(request, {}, written.meant, has_body=True)
    assert right in request.body
    with pytest.raises(CallError):
        check.check(replace(request, body=request.body.replace(right, wrong)), {}, written.meant, has_body=True)
