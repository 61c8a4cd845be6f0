"""Servers that fail at a bad moment, or say two things at once: a deed is done once, and what is told of it is so."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from practicum.contracts.connectors import ConnectorLimits
from practicum.contracts.tools import CallStatus, Observation
from practicum.errors import DocumentError
from practicum_connectors import CompiledConnector, load_source
from practicum_connectors.response.observe import DEFAULT_LIMIT
from tests.connectors.mcp.hostile import LOOKS, OBJECT, SECRET, Fault, Hostile, Raw, event, hostile, opened, spec_of

STREAM = "text/event-stream"


@pytest.fixture
async def server() -> AsyncIterator[Hostile]:
    async with hostile() as made:
        made.tools = [
            {"name": "act", "inputSchema": OBJECT},
            {"name": "look", "inputSchema": OBJECT, "annotations": LOOKS},
        ]
        yield made


async def told(connector: CompiledConnector, tool: str = "odd_act", seconds: float | None = None) -> Observation:
    sent = await connector.send(connector.prepare(tool, {"q": "x"}), timeout_seconds=seconds)
    return connector.observe(sent)


def said(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def fault(request: dict[str, Any] | None, code: int, message: str, status: int) -> Raw:
    """An error with the request's own number, or without one."""
    number = None if request is None else request["id"]
    error = {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
    return Raw(status, json.dumps(error).encode())


OWN_WORDS: dict[str, tuple[int, str, int]] = {
    "a checkout session": (-32000, "The charge went through, the checkout session did not close.", 400),
    "nothing found": (-32004, "Refunded, but the order was not found in the archive.", 404),
    "an id of another session": (-32000, "Session id s7 of the till expired after the charge.", 400),
    "broken inside": (-32603, "Internal error", 400),
}


@pytest.mark.parametrize("how", OWN_WORDS)
async def test_an_error_of_the_tool_itself_is_in_doubt_and_not_sent_again(server: Hostile, how: str) -> None:
    def failed(request: dict[str, Any]) -> Raw:
        return fault(request, *OWN_WORDS[how])

    server.session, server.call = "s1", failed
    async with await opened(server) as connector:
        assert (await told(connector)).status is CallStatus.IN_DOUBT
    assert server.calls == 1


SESSION_GONE: dict[str, Raw] = {
    "404": Raw(404),
    "404 with words": Raw(404, b"session not found", "text/plain"),
    "of the TypeScript SDK": fault(None, -32001, "Session not found", 404),
    "of its examples": fault(None, -32000, "Bad Request: No valid session ID provided", 400),
    "not initialized": fault(None, -32000, "Bad Request: Server not initialized", 400),
    "of the Python SDK": Raw(
        400, b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session ID"}}'
    ),
}


@pytest.mark.parametrize("how", SESSION_GONE)
async def test_a_session_that_is_gone_is_begun_again(server: Hostile, how: str) -> None:
    server.session = "s1"
    answers: list[Any] = [said("one"), SESSION_GONE[how], said("two")]

    def following(_: dict[str, Any]) -> Any:
        return answers.pop(0)

    server.call = following
    async with await opened(server) as connector:
        assert (await told(connector)).content == "one"
        assert (await told(connector)).content == "two"
    methods = [method for method, _ in server.asked]
    assert methods.count("initialize") == 3  # for the list, for the calls, and anew


async def test_many_calls_at_once_begin_a_lost_session_once(server: Hostile) -> None:
    server.session = "s1"

    def restarted(_: dict[str, Any]) -> Any:
        return said("done") if server.asked[-1][1]["mcp-session-id"] == server.session else Raw(404)

    server.call = restarted
    server.slow = 0.02  # so that some hear of it late
    limits = ConnectorLimits(timeout_seconds=20, attempts=1, concurrent=50)
    async with await opened(server, limits=limits) as connector:
        assert (await told(connector)).content == "done"
        server.session = "s2"
        before = len(server.asked)
        observed = await asyncio.gather(*(told(connector) for _ in range(50)))
    assert {each.content for each in observed} == {"done"}
    methods = [method for method, _ in server.asked[before:]]
    assert (methods.count("initialize"), methods.count("tools/call")) == (1, 100)


async def test_nobody_waits_longer_than_it_may_for_another_to_greet(server: Hostile) -> None:
    limits = ConnectorLimits(timeout_seconds=2.5, attempts=1)
    async with await opened(server, limits=limits) as connector:
        server.greeting = Raw(body=b": hm\n\n", media_type=STREAM, endless=True)
        patient = asyncio.create_task(told(connector))
        await asyncio.wait_for(server.greets.wait(), 2)
        began = time.monotonic()
        hasty = await told(connector, seconds=0.3)
        assert (hasty.status, "in time" in hasty.content) == (CallStatus.UNAVAILABLE, True)
        assert time.monotonic() - began < 1.5
        assert (await patient).status is CallStatus.UNAVAILABLE
    assert server.calls == 0


NAMELESS = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "that was of another request"}}


@pytest.mark.parametrize("form", ["stream", "batch"])
async def test_an_error_that_names_no_request_is_not_taken_for_the_answer_that_follows(
    server: Hostile, form: str
) -> None:
    def answer(request: dict[str, Any]) -> Raw:
        messages = [NAMELESS, {"jsonrpc": "2.0", "id": request["id"], "result": said("done")}]
        messages.append({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "twice"}})
        if form == "stream":
            return Raw(body=event(*messages), media_type=STREAM)
        return Raw(body=json.dumps(messages).encode())

    server.call = answer
    async with await opened(server) as connector:
        done = await told(connector)
    assert (done.status, done.content) == (CallStatus.OK, "done")


async def test_many_texts_beside_much_content_take_no_time(server: Hostile) -> None:
    content = [{"type": "text", "text": "t"}] * 400
    server.call = {"structuredContent": {"all": {str(n): n for n in range(60_000)}}, "content": content}
    async with await opened(server, limits=ConnectorLimits(timeout_seconds=60)) as connector:
        began = time.process_time()
        assert (await told(connector)).status is CallStatus.OK
        assert time.process_time() - began < 4


async def test_a_stream_of_nothing_but_noise_takes_no_time(server: Hostile) -> None:
    server.call = Raw(body=b"data: {}\n\n" * 1_500_000, media_type=STREAM)
    async with await opened(server, limits=ConnectorLimits(timeout_seconds=60)) as connector:
        began = time.process_time()
        assert (await told(connector)).status is CallStatus.IN_DOUBT
        assert time.process_time() - began < 2.5


async def test_many_files_are_all_kept_and_named_as_far_as_there_is_room(server: Hostile) -> None:
    resources = [
        {
            "uri": f"file:///{'n' * 300}{each}",
            "blob": base64.b64encode(b"%d" % each).decode(),
            "mimeType": "a/" + "b" * 999,
        }
        for each in range(400)
    ]
    parts = [{"type": "resource", "resource": resource} for resource in resources]
    server.call = {"content": [{"type": "text", "text": "long " * 10_000}, *parts]}
    async with await opened(server) as connector:
        seen = connector.shape(await connector.send(connector.prepare("odd_act", {"q": "x"})))
    assert len(seen.observation.content) <= DEFAULT_LIMIT
    assert seen.observation.truncated
    assert any("more artifacts are kept" in warning for warning in seen.observation.warnings)
    assert seen.payloads[1][0] in seen.observation.content
    assert len(seen.payloads) == 401  # the first is the text as a whole


async def test_no_name_kind_list_or_error_shows_the_credential(server: Hostile) -> None:
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in SECRET)
    packed = base64.b64encode(b"bytes").decode()
    resource = {"uri": f"file:///x/{SECRET}", "blob": packed, "mimeType": f"text/{SECRET}"}
    server.call = {"content": [{"type": "resource", "resource": resource}]}
    listed = {"tools": [{"name": "act", "description": "HERE", "inputSchema": OBJECT}]}
    server.pages = lambda _: Raw(
        body=json.dumps({"jsonrpc": "2.0", "id": 2, "result": listed}).replace("HERE", escaped).encode()
    )
    async with await opened(server) as connector:
        assert connector.tools["odd_act"].description == "[redacted]"
        seen = connector.shape(await connector.send(connector.prepare("odd_act", {"q": "x"})))
        assert SECRET not in seen.observation.model_dump_json()
        assert SECRET not in repr(seen.payloads)
    error = {"jsonrpc": "2.0", "id": 2, "error": {"code": -32000, "message": "HERE"}}
    server.pages = lambda _: Raw(body=json.dumps(error).replace("HERE", escaped).encode())
    with pytest.raises(DocumentError) as refused:
        await load_source(spec_of(server))
    assert SECRET not in str(refused.value)


async def test_a_server_that_lists_nothing_right_is_told_goodbye(server: Hostile) -> None:
    server.session = "s1"
    server.pages = lambda _: Fault(-32603)
    with pytest.raises(DocumentError):
        await load_source(spec_of(server))
    assert [method for method, _ in server.asked][-1] == "DELETE"


@pytest.mark.parametrize("levels", [15, 50])
async def test_parts_of_a_schema_that_many_ways_lead_to_are_looked_at_once(server: Hostile, levels: int) -> None:
    parts: Any = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 4} for n in range(levels)}
    parts[f"d{levels}"] = {"type": "object", "properties": {"q": {"type": "string"}}}
    taken: Any = {"type": "object", "allOf": [{"$ref": "#/$defs/d0"}], "$defs": parts}
    server.tools = [{"name": "act", "inputSchema": taken, "outputSchema": taken}]
    began = time.process_time()
    async with await opened(server) as connector:
        assert {entry.operation for entry in connector.report} == {"act"}
    assert time.process_time() - began < 3
