"""What a model is told of an answer."""

import json
from typing import Any

import pytest

from practicum.contracts.tools import CallStatus, Observation
from practicum_connectors import CompiledConnector
from tests.connectors.documents import Json, compiled, document, operation, query
from tests.connectors.loopback import Answer, System

ITEM = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}, "name": {"type": "string", "nullable": True}},
}
RESPONSES = {
    "200": {"description": "ok", "content": {"application/json": {"schema": {"type": "array", "items": ITEM}}}},
    "204": {"$ref": "#/components/responses/Nothing"},
}
DOCUMENT = document(
    {
        "/things": {
            "get": operation(query("limit", {"type": "integer"}), operationId="list", responses=RESPONSES),
            "post": operation(operationId="add", responses=RESPONSES),
        },
        "/free": {"get": operation(operationId="free")},
    },
    "3.0.3",
    components={"responses": {"Nothing": {"description": "nothing"}}},
)


@pytest.fixture
def connector(system: System) -> CompiledConnector:
    return compiled(DOCUMENT, system.url)


async def answered(
    system: System, connector: CompiledConnector, answer: Answer, tool: str = "crm_list", limit: int = 20_000
) -> Observation:
    for path in ("/things", "/free"):
        system.answer(path, answer)
    async with connector:
        return connector.observe(await connector.send(connector.prepare(tool, {})), limit)


async def test_json_is_passed_on_compact(system: System, connector: CompiledConnector) -> None:
    body = b'[ {"id": 9007199254740993,\n "name": "\\u00fc", "price": 1.5e3} ]'
    seen = await answered(system, connector, Answer(body=body))
    assert seen == Observation(
        status=CallStatus.OK, content='[{"id":9007199254740993,"name":"ü","price":1500.0}]', http_status=200
    )


@pytest.mark.parametrize(
    ("media_type", "body", "content"),
    [
        ("application/vnd.acme.v2+json", b'{"a":1}', '{"a":1}'),
        ("text/plain", b'{"a": 1}', '{"a":1}'),
        ("", b"[1]", "[1]"),
        ("text/csv", b"a,b\n1,2\n", "a,b\n1,2\n"),
        ("text/plain; charset=latin-1", b"\xfc", "ü"),
        ("text/plain; charset=nonsense", "ü".encode(), "ü"),
        (
            "text/html; charset=utf-8",
            b"<html><head><title>T</title></head><body><script>x</script><p>One<p>Two &amp; three</html>",
            "One\nTwo & three",
        ),
        ("application/xml", b"<a>1</a>", "<a>1</a>"),
        ("application/x-ndjson", b'{"a":1}\n\n{"a":2}\n', '[{"a":1},{"a":2}]'),
        ("application/json", b'{"a":NaN}', '{"a":null}'),
        ("application/json", b'{"a":1e999,"b":-1.5}', '{"a":null,"b":-1.5}'),
        ("application/octet-stream", b"plain words", "plain words"),
    ],
)
async def test_contents(
    system: System, connector: CompiledConnector, media_type: str, body: bytes, content: str
) -> None:
    seen = await answered(system, connector, Answer(body=body, media_type=media_type), "crm_free")
    assert (seen.status, seen.content, seen.truncated) == (CallStatus.OK, content, False)


@pytest.mark.parametrize(
    ("code", "headers", "words"), [(204, [], ["204"]), (201, [("location", "/things/7")], ["201", "/things/7"])]
)
async def test_no_content_still_says_something(
    system: System, connector: CompiledConnector, code: int, headers: Any, words: list[str]
) -> None:
    seen = await answered(system, connector, Answer(code, headers=headers), "crm_add")
    assert seen.status is CallStatus.OK
    assert all(word in seen.content for word in words)


async def test_an_empty_answer_where_json_is_described_is_no_failure(
    system: System, connector: CompiledConnector
) -> None:
    assert (await answered(system, connector, Answer())).status is CallStatus.OK


async def test_errors_keep_the_systems_own_words(system: System, connector: CompiledConnector) -> None:
    problem = {"title": "Too much", "detail": "only 20 left", "status": 409}
    seen = await answered(system, connector, Answer(409, problem, "application/problem+json"), "crm_add")
    assert (seen.status, seen.http_status, json.loads(seen.content), seen.warnings) == (
        CallStatus.ERROR,
        409,
        problem,
        (),
    )
    page = await answered(system, connector, Answer(404, b"<h1>Not Found</h1><p>nginx</p>", "text/html"))
    assert (page.status, page.content) == (CallStatus.ERROR, "Not Found\nnginx")


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (Answer(body=[{"id": "7"}]), "`0.id` in the answer should be integer"),
        (Answer(body={"id": 7}), "should be array"),
        (Answer(body=[{}]), "is missing 'id'"),
        (Answer(206, []), "status 206"),
        (Answer(body=b"[]", media_type="application/vnd.x+json"), "media type"),
        (Answer(body=b"{oops"), "announced JSON"),
    ],
)
async def test_departing_from_the_document_is_a_warning(
    system: System, connector: CompiledConnector, answer: Answer, word: str
) -> None:
    seen = await answered(system, connector, answer)
    assert seen.status is CallStatus.OK
    assert word in " ".join(seen.warnings)


async def test_what_fits_the_document_gives_no_warning(system: System, connector: CompiledConnector) -> None:
    assert (await answered(system, connector, Answer(body=[{"id": 7, "name": None}]))).warnings == ()


async def test_a_broken_description_of_the_answer_does_no_harm(system: System) -> None:
    responses = {
        "200": {"content": {"application/json": {"schema": {"$ref": "#/absent"}}}},
        "404": {"$ref": "#/absent"},
    }
    connector = compiled(document({"/things": {"get": operation(operationId="list", responses=responses)}}), system.url)
    assert (await answered(system, connector, Answer(body=[1]))).warnings == ()


async def test_long_lists_lose_whole_items_and_say_so(system: System, connector: CompiledConnector) -> None:
    items: list[Json] = [{"id": number, "name": "x" * 50} for number in range(200)]
    seen = await answered(system, connector, Answer(body=items), limit=1000)
    shown = json.loads(seen.content)
    assert shown == items[: len(shown)]
    assert 5 < len(shown) < 20
    assert seen.truncated
    assert any(f"{len(shown)} of 200 items" in warning for warning in seen.warnings)


async def test_a_tool_without_pages_is_told_how_to_ask_for_less(system: System) -> None:
    connector = compiled(
        document({"/things": {"get": operation(query("count", {"type": "integer"}), operationId="list")}}), system.url
    )
    assert not connector.tools["crm_list"].paged
    seen = await answered(system, connector, Answer(body=["x" * 50] * 200), limit=1000)
    assert (seen.truncated, seen.next) == (True, None)
    assert any("`count`" in warning for warning in seen.warnings)


async def test_a_long_text_inside_is_shortened_and_said_to_be(system: System, connector: CompiledConnector) -> None:
    seen = await answered(system, connector, Answer(body={"id": 1, "name": "x" * 5000}), "crm_free", limit=1000)
    assert json.loads(seen.content)["id"] == 1
    assert seen.truncated
    assert "Long texts are shortened." in seen.warnings


async def test_an_answer_beyond_all_bounds_begins_with_whole_items(system: System) -> None:
    items: list[Json] = [{"id": number, "name": "x" * 1000} for number in range(17_500)]
    connector = compiled(DOCUMENT, system.url)
    seen = await answered(system, connector, Answer(body=items))
    shown = json.loads(seen.content)
    assert shown == items[: len(shown)]
    assert len(shown) > 10
    assert seen.truncated
    assert any("too long to be read to its end" in warning for warning in seen.warnings)
    assert not any("something else" in warning for warning in seen.warnings)


async def test_long_texts_lose_whole_lines(system: System, connector: CompiledConnector) -> None:
    seen = await answered(
        system, connector, Answer(body=b"0123456789\n" * 100, media_type="text/plain"), "crm_free", limit=105
    )
    assert seen.content == "0123456789\n" * 9
    assert seen.truncated


async def test_a_wish_to_wait_is_passed_on(system: System, connector: CompiledConnector) -> None:
    seen = await answered(system, connector, Answer(429, {"detail": "slow down"}, headers=[("retry-after", "1")]))
    assert seen.status is CallStatus.UNAVAILABLE
    assert "Retry-After: 1" in seen.warnings[0]


async def test_a_dead_system_is_told_with_what_to_do() -> None:
    async with compiled(DOCUMENT) as connector:
        seen = connector.observe(await connector.send(connector.prepare("crm_list", {})))
    assert seen.status is CallStatus.UNAVAILABLE
    assert "cannot be reached" in seen.content
    assert "`base_url`" in seen.content
