"""Answers as systems write them, over real connections: what is one, what is none, and which connection goes on."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator

import httpx
import pytest

from practicum_connectors.wire import STARTED, Transport

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Scripted:
    """A system that answers each request, over whatever connection, with the next of its lines."""

    def __init__(self, *answers: bytes, closing: bool = False) -> None:
        self.answers = list(answers)
        self.closing = closing
        self.connections = 0
        self.seen: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while self.answers:
                self.seen.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(self.answers.pop(0))
                await writer.drain()
                if self.closing:
                    break
        writer.close()


@contextlib.asynccontextmanager
async def reached(system: Scripted) -> AsyncGenerator[tuple[Transport, str]]:
    server = await asyncio.start_server(system, "127.0.0.1", 0)
    tls = ssl.create_default_context()
    transport = Transport(tls=tls, connections=2, keep_alive=2.0, connect_seconds=5.0)
    async with server, asyncio.timeout(60):
        yield transport, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/x"
        await transport.aclose()


async def asked(transport: Transport, url: str, method: str = "GET") -> tuple[int, bytes]:
    response = await transport.handle_async_request(httpx.Request(method, url))
    try:
        return response.status_code, await response.aread()
    finally:
        await response.aclose()


@pytest.mark.parametrize(
    ("answer", "body", "again"),
    [
        (OK, b"ok", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + OK, b"ok", True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\nA: b\r\n\r\n", b"ok", True),
        (OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), b"ok", False),
        (OK.replace(b"1.1", b"1.0"), b"ok", False),
        (OK + b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad", b"ok", False),
    ],
)
async def test_an_answer_is_read_and_its_connection_used_again_where_it_goes_on(
    answer: bytes, body: bytes, again: bool
) -> None:
    system = Scripted(answer, OK)
    async with reached(system) as (transport, url):
        assert (await asked(transport, url))[1] == body
        assert await asked(transport, url) == (200, b"ok")
    assert system.connections == (1 if again else 2)


async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    async with reached(Scripted(b"HTTP/1.1 200 OK\r\n\r\nall of it", closing=True)) as (transport, url):
        assert await asked(transport, url) == (200, b"all of it")


async def test_an_answer_to_head_has_no_body_whatever_it_says() -> None:
    async with reached(Scripted(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")) as (transport, url):
        assert await asked(transport, url, "HEAD") == (200, b"")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nok",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000,
        b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 40_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"a" * 200_000,
    ],
)
async def test_what_is_no_whole_answer_is_an_error(answer: bytes) -> None:
    async with reached(Scripted(answer, closing=True)) as (transport, url):
        with pytest.raises(httpx.TransportError):
            await asked(transport, url)


async def test_a_connection_that_ended_meanwhile_is_not_used() -> None:
    system = Scripted(OK, OK, closing=True)
    async with reached(system) as (transport, url):
        assert await asked(transport, url) == (200, b"ok")
        await asyncio.sleep(0.05)
        assert await asked(transport, url) == (200, b"ok")


async def test_no_more_connections_are_made_than_may_be_and_those_cancelled_make_room() -> None:
    system = Scripted(*[b""] * 9)  # never answered
    async with reached(system) as (transport, url):
        asking = [asyncio.create_task(asked(transport, url)) for _ in range(5)]
        await asyncio.sleep(0.05)
        assert system.connections == 2
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        system.answers = [OK]
        assert await asked(transport, url) == (200, b"ok")


@pytest.mark.parametrize(
    "headers",
    [{"A": "b\r\nC: d"}, {"A b": "c"}, {"A": " b"}, {"A": "b\0"}, {"Transfer-Encoding": "x"}, {"Content-Length": "7"}],
)
async def test_what_is_no_request_is_not_sent(headers: dict[str, str]) -> None:
    started: list[bool] = []
    system = Scripted(OK)
    async with reached(system) as (transport, url):
        request = httpx.Request("GET", url, headers=headers, extensions={STARTED: lambda: started.append(True)})
        with pytest.raises(httpx.LocalProtocolError):
            await transport.handle_async_request(request)
    assert (system.seen, started) == ([], [])
