"""A hostile client, byte by byte: what is no clean HTTP ends in a problem or a closed connection, and harms nobody."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from practicum_gateway.estate import Estate
from practicum_gateway.http.server import MOST_HEAD_BYTES, Connection
from tests.gateway.http.hostile import Raw, connect, head, in_earnest, posted, say

CANARY = "canary-7f3e"
PATIENCE = 30.0
"""Seconds for what takes one at most, on a machine that has other things to do."""
RULES = b'{"rules": []}'


@pytest.fixture
async def url(estate: Estate) -> AsyncIterator[str]:
    async with in_earnest(estate) as url:
        yield url


@pytest.fixture
def key(estate: Estate) -> str:
    return (estate.main.settings.data_dir / "admin.key").read_text().strip()


async def answers_still(url: str, key: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=20) as client:
        assert (await client.get("/readyz")).status_code == 200
        listed = await client.get("/v1/rules", headers={"Authorization": f"Bearer {key}"})
        assert (listed.status_code, listed.json()["rules"]) == (200, [])


def put(*headers: str, body: bytes = b"", version: str = "1.1") -> str:
    return "\r\n".join([f"PUT /v1/rules HTTP/{version}", "Host: gateway", *headers, "", ""]) + body.decode("latin-1")


# What a server before the gateway may read otherwise, what no server reads, what has no end; K stands for a valid key.
GARBLED = {
    "both lengths": put("Authorization: K", "Transfer-Encoding: chunked", "Content-Length: 5", body=b"0\r\n\r\n"),
    "both lengths, no key": put("Content-Length: 5", "transfer-encoding: chunked", body=b"0\r\n\r\n"),
    "two lengths": put("Authorization: K", "Content-Length: 5", "Content-Length: 6", body=b"{}"),
    "a list of lengths": put("Authorization: K", "Content-Length: 5, 6", body=b"{}"),
    "a negative length": put("Authorization: K", "Content-Length: -1"),
    "a signed length": put("Authorization: K", "Content-Length: +2", body=b"{}"),
    "an endless length": put("Authorization: K", f"Content-Length: {'9' * 5000}"),
    "an odd coding": put("Authorization: K", "Transfer-Encoding: xchunked"),
    "a doubled coding": put("Authorization: K", "Transfer-Encoding: chunked, chunked"),
    "an odd chunk": put("Authorization: K", "Transfer-Encoding: chunked", body=b"zz\r\nxx\r\n"),
    "two keys": put(f"Authorization: Bearer {CANARY}", "Authorization: K"),
    "two hosts": put("Host: other", "Authorization: K"),
    "a space before the colon": put("Authorization : K"),
    "a line without a colon": put(f"Authorization K {CANARY}"),
    "a NUL": put("Authorization: K\0"),
    "a bare CR": put("X: a\rAuthorization: K"),
    "a long header": put(f"X: {'a' * MOST_HEAD_BYTES}"),
    "many headers": put(*(f"X-{number}: {CANARY}" for number in range(10_000))),
    "a long line": f"GET /v1/tools?query={'a' * MOST_HEAD_BYTES} HTTP/1.1\r\nHost: gateway\r\n\r\n",
    "letters beyond ASCII": "GET /v1/to\xf6ls HTTP/1.1\r\nHost: gateway\r\n\r\n",
    "no host": "GET /v1/tools HTTP/1.1\r\n\r\n",
    "HTTP/0.9": "GET /v1/tools\r\n\r\n",
    "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "nonsense": f"{CANARY}\r\n\r\n",
    "a folded line": put("Authorization: K", "X: a", " b"),
    "a bare LF": put("Authorization: K", "X: a\nX-Y: b"),
    "a control character": put("Authorization: K", "X: a\x01"),
    "the same length twice": put("Authorization: K", "Content-Length: 2", "Content-Length: 2", body=b"{}"),
    "a hexadecimal length": put("Authorization: K", "Content-Length: 0x2", body=b"{}"),
    "no length": put("Authorization: K", "Content-Length: ", body=b"{}"),
    "the same coding twice": put("Authorization: K", *["Transfer-Encoding: chunked"] * 2, body=b"0\r\n\r\n"),
    "no coding": put("Authorization: K", "Transfer-Encoding: identity", body=b"{}"),
    "a coding of old": put("Authorization: K", "Transfer-Encoding: chunked", body=b"0\r\n\r\n", version="1.0"),
    "a header without a name": put("Authorization: K", ": b"),
    "a tab in the target": "GET /v1/\ttools HTTP/1.1\r\nHost: gateway\r\n\r\n",
    "HTTP/1.2": "GET /v1/tools HTTP/1.2\r\nHost: gateway\r\n\r\n",
    "bare LFs": "GET /v1/tools HTTP/1.1\nHost: gateway\n\n",
} | {
    f"the chunks {chunks!r}": put(
        "Authorization: K", "Content-Type: application/json", "Transfer-Encoding: chunked", body=chunks
    )
    for chunks in (b"2\r\n{}X\r\n", b"-1\r\n", b"0x1\r\n{\r\n", b"\r\n", b"1" * 17 + b"\r\n", b"2 2\r\n{}\r\n")
}


@pytest.mark.parametrize("what", GARBLED)
async def test_what_is_no_clean_http_is_refused_and_closed(
    url: str, key: str, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    sent = GARBLED[what].replace("Authorization: K", f"Authorization: Bearer {key}")
    answers = await say(url, sent.encode("latin-1"))
    last = answers[-1]
    assert last.status in {0, 400, 413}, last
    assert len(answers) == 1
    if last.status:
        assert last.problem.code == "request"
    assert CANARY not in f"{last.head}{last.body!r}{caplog.text}"
    assert key not in f"{last.head}{last.body!r}{caplog.text}"
    await answers_still(url, key)


AROUND = (
    "//v1/keys",
    "/v1/../v1/keys",
    "/healthz/../v1/keys",
    "/healthz/%2e%2e/v1/keys",
    "/v1/./keys",
    "/v1%2fkeys",
    "/%2576%2531/keys",
    "/v1/keys%00",
    "/v1/keys%20",
    "/v1/keys;x=1",
    "/v1/keys/..%2f",
    "/openapi.json/../v1/keys",
    "/openapi.json%00/v1/keys",
    "/v1\\keys",
    "\\v1\\keys",
    "/%EF%BC%8Fv1/keys",
    "/%C0%AFv1/keys",
    "/\xef\xbd\x961/keys",
    "http://gateway/v1/keys",
    "http://other@gateway/v1/keys",
    "/v1/tools/%0d%0aSet-Cookie:%20a=b",
    "*",
)


@pytest.mark.parametrize("path", AROUND)
async def test_no_spelling_of_a_path_leads_around_the_door(url: str, path: str) -> None:
    for method in ("GET", "POST", "DELETE", "OPTIONS", "HEAD"):
        (answer,) = await say(url, head(method, path, "", "Connection: close"))
        assert answer.status in {0, 400, 401, 404, 405}, (method, answer)
        assert "set-cookie" not in answer.head
        if method != "HEAD" and answer.status:
            assert answer.problem.code in {"request", "unauthenticated", "not_found"}


async def test_methods_that_nobody_offers_are_problems(url: str, key: str) -> None:
    offered = dict.fromkeys(("TRACE", "OPTIONS", "PATCH", "PROPFIND"), 405) | dict.fromkeys(("GETT", "get"), 400)
    for method, status in offered.items():
        (answer,) = await say(url, head(method, "/v1/keys", key, f"X-Canary: {CANARY}", "Connection: close"))
        assert (answer.status, answer.problem.code) == (status, "request"), method
        assert CANARY not in answer.body.decode()
    (answer,) = await say(url, head("CONNECT", "other:443", key, "Connection: close"))
    assert (answer.status, answer.problem.code) == (400, "request")


async def test_a_page_of_another_site_gets_nothing(url: str) -> None:
    """A page whose name was bound to this address has no key; nothing tells its browser to let it read on."""
    page = ("Host: evil.example", "Origin: https://evil.example", "Cookie: a=b", "Connection: close")
    asked = ("Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization")
    for lines, path in (
        (["GET /v1/keys HTTP/1.1", *page], 401),
        (["OPTIONS /v1/keys HTTP/1.1", *page, *asked], 401),
        (["OPTIONS /healthz HTTP/1.1", *page, *asked], 405),
    ):
        (answer,) = await say(url, "\r\n".join([*lines, "", ""]).encode())
        assert answer.status == path
        assert "access-control" not in answer.head


async def test_no_upgrade_leads_around_the_door(url: str, key: str) -> None:
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAA")
    (answer,) = await say(url, head("GET", "/v1/keys", "", *upgrade))
    assert answer.status == 401
    (answer,) = await say(url, head("GET", "/v1/rules", key, *upgrade))
    assert (answer.status, answer.body[:8]) == (200, b'{"rules"')


async def test_requests_sent_together_are_answered_one_by_one(url: str, key: str) -> None:
    together = (
        head("GET", "/v1/rules", key),
        head("GET", "/v1/rules", CANARY),
        posted("/v1/rules/explain", key, {"tool": "none"}),
        head("GET", "/healthz", "", "Connection: close"),
        head("DELETE", "/v1/keys/boot_admin", key),
    )
    assert [answer.status for answer in await say(url, b"".join(together))] == [200, 401, 404, 200]
    await answers_still(url, key)


async def test_garbage_behind_a_request_takes_nothing_from_its_answer(url: str, key: str) -> None:
    (answer,) = await say(
        url, head("GET", "/v1/rules", key) + b"GARBAGE\r\n\r\n" + head("DELETE", "/v1/keys/boot_admin", key)
    )
    assert (answer.status, answer.body[:8], "connection: close" in answer.head) == (200, b'{"rules"', True)
    await answers_still(url, key)


async def test_what_follows_a_body_is_no_request_of_the_one_before(url: str, key: str) -> None:
    smuggled = head("GET", "/v1/keys", "", "Connection: close")
    answers = await say(url, posted("/v1/rules/explain", key, b'{"tool": "x"}' + smuggled), quiet=1)
    assert [answer.status for answer in answers] == [400]
    lying = head("PUT", "/v1/rules", key, "Content-Type: application/json", "Content-Length: 13") + RULES + smuggled
    assert [answer.status for answer in await say(url, lying)] == [200, 401]


async def test_old_clients_and_parts_of_answers(url: str, key: str) -> None:
    (answer,) = await say(url, head("GET", "/v1/rules", key, version="1.0"))
    assert (answer.status, "connection: close" in answer.head) == (200, True)
    (answer,) = await say(url, head("GET", "/v1/rules", key, f"Range: bytes={'0-1,' * 5000}0-1", "Connection: close"))
    assert (answer.status, answer.body[:8]) == (200, b'{"rules"')


class Hasty(Connection):
    """A connection of a server that has no time."""

    head_seconds = 0.5
    linger_seconds = 0.2


class Crowded(Connection):
    """A connection of a server that holds few."""

    head_seconds = 5.0
    most = 50


async def test_who_sends_a_head_too_slowly_is_given_up(estate: Estate, key: str) -> None:
    """Far sooner than a connection on which nothing is asked."""
    first = head("GET", "/healthz")

    async def one(url: str, sent: bytes) -> None:
        reader, writer = await connect(url)
        try:
            writer.write(sent)
            said = await asyncio.wait_for(reader.read(), PATIENCE)
        finally:
            writer.close()
        assert said.count(b"HTTP/1.1 200") == sent.count(b"gateway\r\n\r\n"), sent

    async with in_earnest(estate, Hasty) as url:
        await asyncio.gather(*(one(url, sent) for sent in (b"", b"G", first[:-2], first + b"G", first + first[:-1])))
        await answers_still(url, key)


async def test_who_sends_nothing_keeps_nobody_else_out(estate: Estate, key: str) -> None:
    async with in_earnest(estate, Crowded) as url:
        opened = [await connect(url) for _ in range(Crowded.most + 30)]
        refused = [await asyncio.wait_for(reader.read(), PATIENCE) for reader, _ in opened[Crowded.most :]]
        assert all(b" 503 " in said and b'"code":"gateway_unavailable"' in said for said in refused)
        assert {await asyncio.wait_for(reader.read(), PATIENCE) for reader, _ in opened[: Crowded.most]} == {b""}
        for _, writer in opened:
            writer.close()
        await answers_still(url, key)


async def test_who_waits_behind_another_has_time_for_a_body(estate: Estate, key: str) -> None:
    async with in_earnest(estate, Hasty) as url:
        reader, writer = await connect(url)
        put_rules = head("PUT", "/v1/rules", key, "Content-Type: application/json", f"Content-Length: {len(RULES)}")
        writer.write(head("GET", "/v1/rules", key) + put_rules)
        await asyncio.sleep(3 * Hasty.linger_seconds)
        writer.write(RULES)
        said = b""
        while said.count(b"HTTP/1.1 200") < 2 and (piece := await asyncio.wait_for(reader.read(65_536), PATIENCE)):
            said += piece
        assert said.count(b"HTTP/1.1 200") == 2, said
        writer.close()


async def pour(writer: asyncio.StreamWriter) -> None:
    """Send more than a gigabyte of a body, in chunks."""
    for _ in range(20_000):
        writer.write(b"10000\r\n" + b" " * 65_536 + b"\r\n")
        await asyncio.wait_for(writer.drain(), PATIENCE)
        await asyncio.sleep(0.001)


async def test_a_body_without_end_is_cut_off(estate: Estate, key: str) -> None:
    async with in_earnest(estate, Hasty) as url:
        reader, writer = await connect(url)
        writer.write(head("PUT", "/v1/rules", key, "Content-Type: application/json", "Transfer-Encoding: chunked"))
        with pytest.raises(ConnectionError):
            await pour(writer)
        assert reader.at_eof() or reader.exception()
        writer.close()
        await answers_still(url, key)


async def test_who_never_reads_keeps_nobody_waiting(url: str, key: str) -> None:
    """Followers of an episode that take nothing of what they are sent."""
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        model = {"alias": "m", "provider": "litellm", "target": "openai/x", "base_url": "http://127.0.0.1:9/v1"}
        assert (await client.post("/v1/models", json=model)).status_code == 201
        begun = {"task": "a" * 100_000, "model": "m", "driver": "client"}
        episode = (await client.post("/v1/episodes", json=begun)).json()["id"]
        following = [await connect(url) for _ in range(100)]
        for _, writer in following:
            writer.write(head("GET", f"/v1/episodes/{episode}/events", key))
        rewards = {"reward": 1.0, "source": "test"}
        closed = await client.post(f"/v1/episodes/{episode}/close", json={"status": "failed", "cause": "system"})
        assert closed.status_code == 200
        assert (await client.post(f"/v1/episodes/{episode}/reward", json=rewards)).status_code == 200
        for _, writer in following:
            writer.transport.abort()
        await answers_still(url, key)


async def test_what_is_refused_is_written_down(url: str, key: str) -> None:
    refused: list[Raw] = []
    for _ in range(3):
        refused += await say(url, head("GET", "/v1/keys", CANARY, "Connection: close"))
    assert [answer.problem.code for answer in refused] == ["unauthenticated"] * 3
    async with httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        told = (await client.get("/v1/audit", params={"action": "access.refused"})).json()
    assert sum(entry["details"]["times"] for entry in told if entry["outcome"] == "401") == 3
    assert CANARY not in str(told)
