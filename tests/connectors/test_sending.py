"""How far a request came, over real connections."""

import asyncio
import contextlib
import gzip
import socket
import threading
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from practicum.contracts.connectors import ConnectorLimits
from practicum.contracts.tools import CallStatus
from practicum_connectors import CompiledConnector, Delivery, HttpRequest
from practicum_connectors.addresses import AddressError, is_public, public_address
from practicum_connectors.sender import Sender
from tests.connectors.documents import Json, compiled, document, header, operation, query
from tests.connectors.loopback import Answer, System

DOCUMENT = document(
    {
        "/read": {"get": operation(query("q"), operationId="read")},
        "/write": {
            "post": operation(
                header("Idempotency-Key"), operationId="write", body={"type": "object", "properties": {"a": {}}}
            )
        },
        "/plain": {"post": operation(operationId="plain")},
        "/search": {"post": operation(operationId="search_things")},
        "/files/{path}": {
            "get": operation({"name": "path", "in": "path", "schema": {"type": "string"}}, operationId="file")
        },
    }
)
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def raw_server(handler: Handler) -> AsyncGenerator[str]:
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def sent(connector: CompiledConnector, tool: str) -> tuple[Delivery, CallStatus, bool]:
    async with connector:
        outcome = await connector.send(connector.prepare(tool, {}))
        return outcome.delivery, connector.observe(outcome).status, outcome.in_doubt


async def test_an_answer_comes_back_and_the_request_arrived_as_built(system: System) -> None:
    async with compiled(DOCUMENT, system.url) as connector:
        prepared = connector.prepare("crm_write", {"a": [1]})
        outcome = await connector.send(
            prepared, idempotency_key="ep_1:0:0", traceparent="00-" + "1" * 32 + "-" + "2" * 16 + "-01"
        )
        read = await connector.send(connector.prepare("crm_file", {"path": "a/b c%2F"}))
    write, file = system.seen
    assert (outcome.delivery, outcome.response and outcome.response.status, read.delivery) == (
        Delivery.ANSWERED,
        200,
        Delivery.ANSWERED,
    )
    assert (write.method, write.json()) == ("POST", {"a": [1]})
    assert write.headers["idempotency-key"] == "ep_1:0:0"
    assert write.headers["traceparent"].startswith("00-111")
    assert write.headers["content-type"] == "application/json"
    assert write.headers["host"] == system.url.removeprefix("http://")
    assert file.raw_path == "/files/a%2Fb%20c%252F"
    assert prepared.request.header("idempotency-key") is None
    assert outcome.seconds > 0


async def test_a_refused_connection_is_surely_not_sent() -> None:
    for tool in ("crm_read", "crm_plain"):
        connector = compiled(DOCUMENT, f"http://127.0.0.1:{closed_port()}")
        assert await sent(connector, tool) == (Delivery.NOT_SENT, CallStatus.UNAVAILABLE, False)


async def test_what_cannot_be_written_is_not_sent_and_not_quoted(system: System) -> None:
    for url, value in ((system.url, "canäry"), (system.url, "can\nary"), ("http://xn--/", ""), ("http://h:99999/", "")):
        sender = Sender(private_network=True)
        exchange = await sender.send(HttpRequest("GET", url, (("Authorization", value),), None))
        assert exchange.delivery is Delivery.NOT_SENT
        assert (exchange.reason or "").startswith("The request is not valid HTTP (")
        await sender.aclose()


async def test_an_unknown_host_is_surely_not_sent() -> None:
    connector = compiled(DOCUMENT, "http://nowhere.invalid")
    assert await sent(connector, "crm_plain") == (Delivery.NOT_SENT, CallStatus.UNAVAILABLE, False)


@pytest.mark.parametrize(
    ("tool", "status", "in_doubt"),
    [
        ("crm_read", CallStatus.UNAVAILABLE, False),
        ("crm_plain", CallStatus.IN_DOUBT, True),
        ("crm_write", CallStatus.IN_DOUBT, True),
    ],
)
async def test_a_connection_that_breaks_after_sending_leaves_unsafe_calls_in_doubt(
    tool: str, status: CallStatus, in_doubt: bool
) -> None:
    async def drop(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with raw_server(drop) as url:
        assert await sent(compiled(DOCUMENT, url), tool) == (Delivery.LOST, status, in_doubt)


async def test_an_answer_that_breaks_off_is_lost() -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        await writer.drain()
        writer.close()

    async with raw_server(half) as url:
        assert await sent(compiled(DOCUMENT, url), "crm_plain") == (Delivery.LOST, CallStatus.IN_DOUBT, True)


async def test_no_answer_in_time_is_lost(system: System) -> None:
    system.answer("/plain", Answer(delay=1))
    system.answer("/read", Answer(delay=1))
    async with compiled(DOCUMENT, system.url) as connector:
        write = await connector.send(connector.prepare("crm_plain", {}), timeout_seconds=0.3)
        read = await connector.send(connector.prepare("crm_read", {}), timeout_seconds=0.3)
    assert (write.delivery, write.in_doubt, read.delivery, read.in_doubt) == (Delivery.LOST, True, Delivery.LOST, False)
    assert "0.3 s" in (write.reason or "")
    assert write.seconds < 2


async def test_a_connection_that_is_never_taken_up_is_not_sent() -> None:
    with socket.socket() as listening:  # a full backlog: the handshake of the last one is never answered
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        address = listening.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        outcome = await Sender(private_network=True).send(
            HttpRequest("POST", f"http://127.0.0.1:{address[1]}/"), timeout_seconds=0.3
        )
        for filler in fillers:
            filler.close()
    assert outcome.delivery is Delivery.NOT_SENT


@pytest.mark.parametrize(
    ("code", "tool", "status"),
    [
        (200, "crm_plain", CallStatus.OK),
        (204, "crm_plain", CallStatus.OK),
        (302, "crm_plain", CallStatus.ERROR),
        (400, "crm_plain", CallStatus.ERROR),
        (409, "crm_plain", CallStatus.ERROR),
        (429, "crm_plain", CallStatus.UNAVAILABLE),
        (500, "crm_read", CallStatus.UNAVAILABLE),
        (502, "crm_read", CallStatus.UNAVAILABLE),
        (500, "crm_plain", CallStatus.IN_DOUBT),
        (504, "crm_plain", CallStatus.IN_DOUBT),
        (503, "crm_plain", CallStatus.UNAVAILABLE),
        (501, "crm_plain", CallStatus.UNAVAILABLE),
        (500, "crm_search_things", CallStatus.UNAVAILABLE),
    ],
)
async def test_statuses(system: System, code: int, tool: str, status: CallStatus) -> None:
    for path in ("/plain", "/read", "/search"):
        system.answer(path, Answer(code, b"" if code == 204 else {"a": 1}))
    connector = compiled(DOCUMENT, system.url, limits=ConnectorLimits(attempts=1))
    assert (await sent(connector, tool))[1] is status
    assert len(system.seen) == 1


async def test_redirects_are_not_followed_and_cookies_not_kept(system: System) -> None:
    system.answer(
        "/read", Answer(302, headers=[("location", f"{system.url}/elsewhere"), ("set-cookie", "session=stolen")])
    )
    async with compiled(DOCUMENT, system.url) as connector:
        seen = connector.observe(await connector.send(connector.prepare("crm_read", {})))
        await connector.send(connector.prepare("crm_plain", {}))
    assert [request.raw_path for request in system.seen] == ["/read", "/plain"]
    assert "/elsewhere" in seen.content
    assert "cookie" not in system.seen[1].headers


async def test_private_addresses_are_refused_unless_allowed(system: System) -> None:
    request = HttpRequest("GET", f"{system.url}/x")
    refused = await Sender().send(request)
    named = await Sender().send(HttpRequest("GET", request.url.replace("127.0.0.1", "localhost")))
    assert (refused.delivery, named.delivery, system.seen) == (Delivery.NOT_SENT, Delivery.NOT_SENT, [])
    assert "private" in (refused.reason or "")
    assert "private_network" in (refused.mend or "")
    async with contextlib.aclosing(Sender(private_network=True)) as allowed:
        assert (await allowed.send(request)).delivery is Delivery.ANSWERED


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.0.1", False),
        ("192.0.0.192", False),
        ("::ffff:168.63.129.16", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 (an address to refuse)
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("fec0::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
    ],
)
def test_public_and_private_addresses(address: str, public: bool) -> None:
    assert is_public(address) is public


async def test_names_are_looked_up_beside_what_else_is_done_in_threads() -> None:
    busy, done = ThreadPoolExecutor(1), threading.Event()
    asyncio.get_running_loop().set_default_executor(busy)
    waiting = asyncio.create_task(asyncio.to_thread(done.wait))
    try:
        async with asyncio.timeout(30):
            assert set(await asyncio.gather(*(public_address("8.8.8.8", 443) for _ in range(100)))) == {"8.8.8.8"}
            with pytest.raises(AddressError, match="not known"):
                await public_address("nowhere.invalid", 443)
    finally:
        done.set()
    await waiting


async def test_a_body_is_read_only_to_the_limit(system: System) -> None:
    system.answer("/x", Answer(body=b"y" * 100_000, media_type="text/plain"))
    async with contextlib.aclosing(Sender(private_network=True, max_response_bytes=1000)) as sender:
        outcome = await sender.send(HttpRequest("GET", f"{system.url}/x"))
    assert outcome.response is not None
    assert (len(outcome.response.body), outcome.response.complete) == (1000, False)


async def test_a_body_in_a_broken_encoding_is_still_an_answer(system: System) -> None:
    system.answer("/x", Answer(body=b"not gzip", headers=[("content-encoding", "gzip")]))
    async with contextlib.aclosing(Sender(private_network=True)) as sender:
        outcome = await sender.send(HttpRequest("GET", f"{system.url}/x"))
    assert (outcome.delivery, outcome.response and outcome.response.complete) == (Delivery.ANSWERED, False)


async def test_a_body_that_is_packed_twice_is_not_unpacked(system: System) -> None:
    once, plain = gzip.compress(b"0" * 100_000), b"y" * 100_000
    answers = (
        ("gzip", once, 100_000),
        ("gzip, gzip", gzip.compress(once), 0),
        ("deflate", zlib.compress(plain), 100_000),
    )
    async with contextlib.aclosing(Sender(private_network=True)) as sender:
        for encoding, body, length in answers:
            system.answer("/x", Answer(body=body, headers=[("content-encoding", encoding)]))
            outcome = await sender.send(HttpRequest("GET", f"{system.url}/x"))
            assert outcome.response is not None
            assert (len(outcome.response.body), outcome.response.complete) == (length, length > 0)


@pytest.mark.parametrize(
    "schema", [{"format": "uuid"}, {"maxLength": 10}, {"maxLength": 36}, {"pattern": "^[0-9a-f]+$"}, {}]
)
async def test_idempotency_keys_fit_the_systems_header(system: System, schema: Json) -> None:
    made = operation(header("Idempotency-Key", {"type": "string", **schema}, required=True))
    async with compiled(document({"/t": {"post": made}}), system.url) as connector:
        prepared = connector.prepare("crm_act", {})
        for key in ("one", "one", "two", "long" * 100):
            await connector.send(prepared, idempotency_key=key)
    keys = [seen.headers["idempotency-key"] for seen in system.seen]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert all(len(key) <= schema.get("maxLength", 255) for key in keys)


async def test_many_calls_at_once_share_the_connections(system: System) -> None:
    async with compiled(DOCUMENT, system.url) as connector:
        prepared = connector.prepare("crm_read", {"q": "x"})
        outcomes = await asyncio.gather(*(connector.send(prepared) for _ in range(40)))
    assert [outcome.delivery for outcome in outcomes] == [Delivery.ANSWERED] * 40
