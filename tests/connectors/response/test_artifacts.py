"""What is kept beside an observation, to the last byte."""

import json
from typing import Any

import pytest

from practicum_connectors import CompiledConnector
from practicum_connectors.exchange import HttpResponse
from practicum_connectors.response.artifacts import file_name, keep
from practicum_connectors.response.observe import Observed
from tests.connectors.documents import compiled, document, operation
from tests.connectors.loopback import Answer, System

PNG = b"\x89PNG\0\1\2"


@pytest.fixture
def connector(system: System) -> CompiledConnector:
    return compiled(document({"/free": {"get": operation(operationId="free")}}), system.url)


async def observed(system: System, connector: CompiledConnector, answer: Answer, limit: int = 1000) -> Observed:
    system.answer("/free", answer)
    async with connector:
        return connector.shape(await connector.send(connector.prepare("crm_free", {})), limit)


async def test_binary_content_is_kept_and_described(system: System, connector: CompiledConnector) -> None:
    headers = [("content-disposition", 'attachment; filename="chart.png"')]
    seen = await observed(system, connector, Answer(body=PNG, media_type="image/png", headers=headers))
    ((artifact_id, payload),) = seen.payloads
    (artifact,) = seen.observation.artifacts
    assert (payload.content, payload.media_type, payload.name, payload.complete) == (
        PNG,
        "image/png",
        "chart.png",
        True,
    )
    assert (artifact.id, artifact.bytes) == (artifact_id, 7)
    assert json.loads(seen.observation.content)["artifact"] == artifact.model_dump(mode="json")
    assert not seen.observation.truncated


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("text/csv", b"a,b\n1,2\n"),
        ("application/json", json.dumps(["x" * 50] * 100).encode()),
        ("text/plain", b"line\n" * 1000),
        ("text/html", b"<p>word</p>" * 1000),
        ("application/x-ndjson", b'{"a": "long enough"}\n' * 200),
    ],
)
async def test_tables_and_what_is_cut_are_kept_whole(
    system: System, connector: CompiledConnector, media_type: str, body: bytes
) -> None:
    seen = await observed(system, connector, Answer(body=body, media_type=media_type))
    ((artifact_id, payload),) = seen.payloads
    assert (payload.content, payload.media_type) == (body, media_type)
    assert any(artifact_id in warning for warning in seen.observation.warnings)


@pytest.mark.parametrize("answer", [Answer(body={"a": 1}), Answer(204), Answer(body=b"words", media_type="text/plain")])
async def test_what_is_shown_whole_is_not_kept(system: System, connector: CompiledConnector, answer: Answer) -> None:
    seen = await observed(system, connector, answer)
    assert (seen.payloads, seen.observation.artifacts) == ((), ())


async def test_what_was_not_read_to_its_end_says_so(system: System, connector: CompiledConnector) -> None:
    seen = await observed(system, connector, Answer(body=b"\0" * (17 * 1024 * 1024), media_type="video/mp4"))
    ((_, payload),) = seen.payloads
    assert (payload.complete, len(payload.content)) == (False, 16 * 1024 * 1024)
    assert seen.observation.truncated
    assert json.loads(seen.observation.content)["artifact"]["complete"] is False


def test_the_same_content_has_the_same_id() -> None:
    ids = [keep(HttpResponse(200, headers, body))[0].id for headers, body in SAME_AND_OTHERS]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 4
    assert all(len(artifact_id) == 28 for artifact_id in ids)


SAME_AND_OTHERS: list[Any] = [
    ((("content-type", "image/png"),), PNG),
    ((("content-type", "image/png; q=1"), ("date", "today")), PNG),
    ((("content-type", "image/gif"),), PNG),
    ((("content-type", "image/png"),), PNG + b"1"),
    ((("content-type", "image/png"), ("content-disposition", "inline; filename=a.png")), PNG),
]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (None, None),
        ("attachment", None),
        ('attachment; filename="a b.pdf"', "a b.pdf"),
        ("attachment; filename=a.pdf; size=7", "a.pdf"),
        ('attachment; filename="say \\"hi\\".txt"', 'say "hi".txt'),
        ("attachment; filename*=UTF-8''gr%C3%B6%C3%9Fe.csv; filename=x.csv", "größe.csv"),
        ("attachment; filename*=nonsense''a%20b", "a b"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ('attachment; filename="..\\\\..\\\\x.exe"', "x.exe"),
        ('attachment; filename=".."', None),
        ('attachment; filename=""', None),
        ("attachment; filename*=UTF-8''a%0Ab%00.txt", "ab.txt"),
    ],
)
def test_file_names(header: str | None, name: str | None) -> None:
    headers = (("content-disposition", header),) if header else ()
    assert file_name(HttpResponse(200, headers)) == name
