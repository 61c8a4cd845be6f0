"""Servers that mean no good, or do not know better: nothing hangs, nothing is done twice, nobody is led elsewhere."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from practicum.contracts.connectors import (
    AuthorizationCodeAuth,
    ClientCredentialsAuth,
    ConnectorSpec,
    Mode,
    PracticeSpec,
)
from practicum.contracts.tools import CallStatus, Observation
from practicum.errors import DocumentError
from practicum_connectors import load_source
from practicum_connectors.sender import MAX_RESPONSE_BYTES
from tests.connectors.mcp.hostile import LOOKS, OBJECT, SECRET, Fault, Hostile, Raw, event, hostile, opened, spec_of


@pytest.fixture
async def server() -> AsyncIterator[Hostile]:
    async with hostile() as made:
        yield made


GIVEN: dict[str, dict[str, Any]] = {
    "odd_tree": {"t": {"next": {"next": {}}, "all": {"t": {}}}},
    "odd_bare": {},
    "odd_half": {},
    "odd_open": {"body": {"anything": [1]}},
}


async def test_what_is_listed_is_taken_tool_by_tool(server: Hostile) -> None:
    deep: Any = {}
    for _ in range(200):
        deep = {"type": "object", "properties": {"in": deep}}
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "all": {"$ref": "#"}}}
    server.tools = [
        {"name": "fine", "inputSchema": OBJECT, "annotations": LOOKS},
        {"name": "twin", "inputSchema": OBJECT},
        {"name": "twin", "inputSchema": OBJECT, "description": "The other one."},
        {"name": "", "inputSchema": OBJECT},
        {"name": 7, "inputSchema": OBJECT},
        {"name": "long" * 100, "inputSchema": OBJECT},
        "no tool at all",
        {"name": "schemaless"},
        {"name": "listing", "inputSchema": {"type": "array"}},
        {"name": "deep", "inputSchema": deep},
        {"name": "wide", "inputSchema": {"type": "object", "properties": {str(n): {} for n in range(21_000)}}},
        {"name": "outside", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}},
        {"name": "files", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}},
        {"name": "dangling", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}},
        {"name": "climb/../../x?y#z {a}", "inputSchema": OBJECT},
        {"name": "..", "inputSchema": OBJECT},
        {"name": "ünïcode", "inputSchema": OBJECT},
        {"name": "unnamed/7", "inputSchema": OBJECT},
        {
            "name": "tree",
            "inputSchema": {"type": "object", "properties": {"t": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}},
        },
        {"name": "get_one", "inputSchema": OBJECT, "annotations": {"destructiveHint": False}},
        {"name": "half\ud83d", "inputSchema": {"type": "object", "title": "\udc00"}, "description": "\ud800"},
        {"name": "bare", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "yes", "title": 7}},
        {"name": "open", "inputSchema": {"type": "object", "additionalProperties": True}},
    ]
    async with await opened(server) as connector:
        notes = {entry.operation: " ".join(entry.notes) for entry in connector.report if entry.tool is None}
        assert notes.keys() >= {"twin", "schemaless", "listing", "deep", "wide", "outside", "files", "dangling"}
        assert "2 tools of this name" in notes["twin"]
        assert "points outside the document" in notes["outside"]
        assert [entry.tool for entry in connector.report if entry.operation == "fine"] == ["odd_fine"]
        assert all(len(tool) <= 64 and tool.replace("-", "_").isidentifier() for tool in connector.tools)
        assert all(tool.effect.value != "read" for name, tool in connector.tools.items() if name != "odd_fine")

        def named(asked: dict[str, Any]) -> Any:
            return {"content": [{"type": "text", "text": asked["params"]["name"]}]}

        server.call = named
        done: list[str] = []
        for tool in connector.tools:
            sent = await connector.send(connector.prepare(tool, GIVEN.get(tool, {"q": "x"})))
            done.append(connector.observe(sent).content)
        assert connector.title == "Hostile"
        assert sorted(done) == sorted(
            ["fine", "climb/../../x?y#z {a}", "..", "ünïcode", "unnamed/7", "half�", "tree", "bare", "open", "get_one"]
        )
    assert {headers["host"] for _, headers in server.asked} == {server.url.split("/")[2]}


LISTS: dict[str, tuple[Any, str]] = {
    "no list": ({"tools": "none"}, "in no list"),
    "no result": (Fault(-32601), "no \\(-32601\\)"),
    "html": (Raw(body=b"<html>hello</html>", media_type="text/html"), "text/html that is no message"),
    "broken json": (Raw(body=b'{"jsonrpc": "2.0", "id"'), "no message of the protocol"),
    "deep json": (Raw(body=b"[" * 100_000), "no message of the protocol"),
    "another's answer": (Raw(body=b'{"jsonrpc":"2.0","id":"x","result":{"tools":[]}}'), "no message of the protocol"),
    "redirect": (Raw(307, headers=(("location", "http://169.254.169.254/mcp"),)), "points to http://169.254"),
    "endless": (Raw(body=b": hello\n\n", media_type="text/event-stream", endless=True), "gave no answer in it"),
    "nothing": (Raw(202), "no message of the protocol"),
    "down": (Raw(503), "answered 503"),
}


@pytest.mark.parametrize("how", LISTS)
async def test_a_list_that_is_none_is_refused_and_says_why(server: Hostile, how: str) -> None:
    said, words = LISTS[how]
    server.pages = lambda _: said
    with pytest.raises(DocumentError, match=words) as refused:
        await load_source(spec_of(server))
    assert SECRET not in str(refused.value)
    assert len(server.asked) <= 3


async def test_a_list_has_an_end(server: Hostile) -> None:
    server.pages = lambda cursor: {"tools": [], "nextCursor": "again" if cursor else "once"}
    with pytest.raises(DocumentError, match="leads back"):
        await load_source(spec_of(server))
    server.pages = lambda cursor: {"tools": [], "nextCursor": str(int(cursor or 0) + 1)}
    with pytest.raises(DocumentError, match="500 pages"):
        await load_source(spec_of(server))
    many: Any = [{"name": f"t{n}", "inputSchema": {}} for n in range(6_000)]
    server.pages = lambda _: {"tools": many}
    with pytest.raises(DocumentError, match="more than 5000 tools"):
        await load_source(spec_of(server))
    pages: dict[str | None, Any] = {
        None: {"tools": [{"name": "b", "inputSchema": {}}], "nextCursor": "2"},
        "2": {"tools": [{"name": "a", "inputSchema": {}}]},
    }
    server.pages = lambda cursor: pages[cursor]
    async with await opened(server) as connector:
        assert list(connector.tools) == ["odd_a", "odd_b"]


def huge(asked: dict[str, Any]) -> Raw:
    """An answer that is longer than any is read."""
    text = b"x" * (MAX_RESPONSE_BYTES + 10)
    return Raw(
        body=b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}' % (asked["id"], text)
    )


DONE = {"content": [{"type": "text", "text": "done"}]}
CALLS: dict[str, tuple[Any, CallStatus, CallStatus, str]] = {
    # what the server says, the status of a deed, that of a look, words
    "done": (DONE, CallStatus.OK, CallStatus.OK, "done"),
    "nothing": ({"content": []}, CallStatus.OK, CallStatus.OK, "no content"),
    "no content": ({}, CallStatus.OK, CallStatus.OK, "no content"),
    "content is text": ({"content": "done"}, CallStatus.OK, CallStatus.OK, "no content"),
    "parts of no kind": ({"content": [7, None, {"type": "x"}]}, CallStatus.OK, CallStatus.OK, "no content"),
    "bytes that are none": (
        {"content": [{"type": "image", "data": "%%%", "mimeType": "image/png"}]},
        CallStatus.OK,
        CallStatus.OK,
        "[image: its bytes cannot be read]",
    ),
    "its error": ({**DONE, "isError": True}, CallStatus.ERROR, CallStatus.ERROR, "done"),
    "asks back": (
        {"resultType": "input_required", "inputRequests": {"x": {}}},
        CallStatus.ERROR,
        CallStatus.ERROR,
        "asks for more input",
    ),
    "wrong arguments": (Fault(-32602), CallStatus.ERROR, CallStatus.ERROR, "-32602"),
    "unknown tool": (Fault(-32601, status=404), CallStatus.ERROR, CallStatus.ERROR, "-32601"),
    "internal": (Fault(-32603), CallStatus.IN_DOUBT, CallStatus.UNAVAILABLE, "-32603"),
    "own code": (Fault(-31999), CallStatus.IN_DOUBT, CallStatus.UNAVAILABLE, "-31999"),
    "500": (Raw(500, b"boom", "text/plain"), CallStatus.IN_DOUBT, CallStatus.UNAVAILABLE, "boom"),
    "busy": (Raw(503), CallStatus.UNAVAILABLE, CallStatus.UNAVAILABLE, ""),
    "too many": (Raw(429, headers=(("retry-after", "7"),)), CallStatus.UNAVAILABLE, CallStatus.UNAVAILABLE, ""),
    "redirect": (Raw(307, headers=(("location", "http://10.0.0.1/"),)), CallStatus.ERROR, CallStatus.ERROR, "10.0.0.1"),
    "html": (Raw(body=b"<p>hi", media_type="text/html"), CallStatus.IN_DOUBT, CallStatus.UNAVAILABLE, "text/html"),
    "no json": (Raw(body=b"{"), CallStatus.IN_DOUBT, CallStatus.UNAVAILABLE, "no message"),
    "accepted": (Raw(202), CallStatus.IN_DOUBT, CallStatus.UNAVAILABLE, "no message"),
    "another's": (
        Raw(body=b'{"jsonrpc":"2.0","id":1.5,"result":{}}'),
        CallStatus.IN_DOUBT,
        CallStatus.UNAVAILABLE,
        "no message",
    ),
    "endless": (
        Raw(body=b": hello\n\n", media_type="text/event-stream", endless=True),
        CallStatus.IN_DOUBT,
        CallStatus.UNAVAILABLE,
        "gave no answer",
    ),
    "too big": (huge, CallStatus.IN_DOUBT, CallStatus.UNAVAILABLE, "more bytes than are read"),
    "stream of others": (
        Raw(
            body=event(
                {"jsonrpc": "2.0", "method": "x"}, {"jsonrpc": "2.0", "id": 9, "method": "sampling/createMessage"}
            ),
            media_type="text/event-stream",
        ),
        CallStatus.IN_DOUBT,
        CallStatus.UNAVAILABLE,
        "no message",
    ),
}


@pytest.mark.parametrize("how", CALLS)
async def test_whatever_a_call_is_answered_the_deed_is_done_once(server: Hostile, how: str) -> None:
    said, deed, look, words = CALLS[how]
    server.tools = [
        {"name": "act", "inputSchema": OBJECT},
        {"name": "look", "inputSchema": OBJECT, "annotations": LOOKS},
    ]
    server.call = said
    async with await opened(server) as connector:
        for tool, expected in (("odd_act", deed), ("odd_look", look)):
            told: Observation = connector.observe(await connector.send(connector.prepare(tool, {"q": "x"})))
            assert (told.status, words in told.content) == (expected, True), told
    assert server.calls == 2


GREETINGS: dict[str, tuple[Any, CallStatus]] = {
    "down": (Raw(503), CallStatus.UNAVAILABLE),
    "broken": (Raw(body=b"{"), CallStatus.UNAVAILABLE),
    "endless": (Raw(body=b": x\n\n", media_type="text/event-stream", endless=True), CallStatus.UNAVAILABLE),
    "unauthorized": (Raw(401), CallStatus.ERROR),
    "elsewhere": (Raw(308, headers=(("location", "http://10.0.0.1/mcp"),)), CallStatus.ERROR),
    "of the future": (Fault(-32022, status=400), CallStatus.ERROR),
}


@pytest.mark.parametrize("how", GREETINGS)
async def test_where_no_way_to_speak_is_found_nothing_is_sent_and_nothing_is_in_doubt(
    server: Hostile, how: str
) -> None:
    async with await opened(server) as connector:
        server.greeting, expected = GREETINGS[how]
        told = connector.observe(await connector.send(connector.prepare("odd_act", {"q": "x"})))
    assert (told.status, server.calls) == (expected, 0), told


async def test_arguments_that_intermediaries_route_by_are_repeated_in_headers(server: Hostile) -> None:
    kinds: dict[str, Any] = {"region": "string", "urgent": "boolean", "rate": "number"}
    properties: Any = {name: {"type": kind, "x-mcp-header": name.title()} for name, kind in kinds.items()}
    properties["bad"] = {"type": "string", "x-mcp-header": "Bad\r\nHeader"}
    properties["to"] = {"type": "object", "properties": {"city": {"type": "string", "x-mcp-header": "City"}}}
    server.tools = [{"name": "route", "inputSchema": {"type": "object", "properties": properties}}]
    server.call = DONE
    async with await opened(server) as connector:
        arguments: Any = {"region": "eu", "urgent": True, "rate": 1.5, "bad": "x", "to": {"city": "Köln"}}
        assert connector.observe(await connector.send(connector.prepare("odd_route", arguments))).content == "done"
    headers = next(headers for method, headers in server.asked if method == "tools/call")
    assert {name: value for name, value in headers.items() if name.startswith("mcp-")} == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "route",
        "mcp-param-region": "eu",
        "mcp-param-urgent": "true",
        "mcp-param-city": f"=?base64?{base64.b64encode('Köln'.encode()).decode()}?=",
    }


async def test_what_echoes_a_credential_in_any_spelling_is_cleaned(server: Hostile) -> None:
    spelled = "".join(f"\\u{ord(sign):04x}" for sign in SECRET)
    packed = {"type": "image", "mimeType": "text/x; a", "data": base64.b64encode(SECRET.encode()).decode()}

    def echo(asked: dict[str, Any]) -> Raw:
        parts = json.dumps([{"type": "text", "text": "HERE"}, packed]).replace("HERE", f"{spelled}{' long' * 10_000}")
        return Raw(body=f'{{"jsonrpc":"2.0","id":{asked["id"]},"result":{{"content":{parts}}}}}'.encode())

    server.call = echo
    async with await opened(server) as connector:
        seen = connector.shape(await connector.send(connector.prepare("odd_act", {"q": "x"})))
    assert seen.observation.status is CallStatus.OK
    assert SECRET not in seen.observation.content
    assert seen.observation.truncated
    ((_, kept),) = seen.payloads  # all of the text
    assert kept.content.endswith(b" long\n[image: its bytes cannot be read]")
    assert SECRET.encode() not in kept.content


async def test_big_answers_are_cut_and_kept(server: Hostile) -> None:
    server.call = {"structuredContent": {"items": [{"n": n, "text": "x" * 90} for n in range(2_000)]}, "content": []}
    async with await opened(server) as connector:
        seen = connector.shape(await connector.send(connector.prepare("odd_act", {"q": "x"})))
    assert (seen.observation.status, seen.observation.truncated) == (CallStatus.OK, True)
    assert len(seen.observation.content) <= 20_000
    assert [len(json.loads(payload.content)["items"]) for _, payload in seen.payloads] == [2_000]


async def test_an_answer_in_pieces_of_a_stream_is_found(server: Hostile) -> None:
    async with await opened(server) as connector:
        answers = [
            {"jsonrpc": "2.0", "id": n, "result": {"content": [{"type": "text", "text": "late"}]}} for n in range(9)
        ]
        noise = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"x": "y" * 50_000}}
        server.call = Raw(
            body=event(noise, noise, *answers), media_type="text/event-stream; charset=utf-8", endless=True
        )
        told = connector.observe(await connector.send(connector.prepare("odd_act", {"q": "x"})))
    assert (told.status, told.content) == (CallStatus.OK, "late")


MISFITS: dict[str, dict[str, Any]] = {
    "source": {"source": "http://x/y.json"},
    "base_url": {"base_url": "http://x"},
    "document": {"document": {"openapi": "3.1.0"}},
    "variables": {"variables": {"a": "b"}},
    "no practice copies": {"practice": PracticeSpec(base_url="http://x")},
    "authorization_code": {"auth": AuthorizationCodeAuth(client_id="a", refresh_token="b")},
    "query or fragment": {"mcp": "http://127.0.0.1:9/mcp?key=1"},
    "no address|web address": {"mcp": "stdio:server"},
}


@pytest.mark.parametrize("words", MISFITS)
async def test_what_an_mcp_server_has_no_use_for_is_refused(words: str) -> None:
    spec = ConnectorSpec.model_validate({"name": "odd", "mcp": "http://127.0.0.1:9/mcp"} | MISFITS[words])
    with pytest.raises(DocumentError, match=words):
        await load_source(spec)


async def test_where_tokens_are_given_is_found_out_from_the_server_and_its_issuer(server: Hostile) -> None:
    issuer = server.url.removesuffix("/mcp")
    resource, authority = "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"
    server.beside = {
        resource: {"authorization_servers": [issuer]},
        authority: {"issuer": issuer, "token_endpoint": f"{issuer}/token"},
        "/token": {"access_token": SECRET, "token_type": "Bearer"},
    }
    server.call = DONE
    auth = ClientCredentialsAuth(client_id="me", client_secret="hush")
    async with await opened(server, auth=auth) as connector:
        assert connector.observe(await connector.send(connector.prepare("odd_act", {"q": "x"}))).content == "done"
    calls = [headers for method, headers in server.asked if method == "tools/call"]
    assert [headers["authorization"] for headers in calls] == [f"Bearer {SECRET}"]
    server.beside[authority] = {"issuer": "https://another.example", "token_endpoint": f"{issuer}/token"}
    with pytest.raises(DocumentError, match="another authorization server"):
        await load_source(spec_of(server, auth=auth))
    del server.beside[resource]
    with pytest.raises(DocumentError, match="where its tokens are given"):
        await load_source(spec_of(server, auth=auth))


async def test_a_practice_server_says_so(server: Hostile) -> None:
    async with await opened(server, mode=Mode.PRACTICE) as connector:
        assert connector.practice is None
