"""Streams that a system really sends: answered with what came, however they go on."""

import time
from collections.abc import Iterator

import pytest

from practicum_connectors.exchange import Delivery, Exchange, HttpRequest
from practicum_connectors.response.content import Streamed, read_content
from practicum_connectors.response.streams import Bounds, Kind, Stream
from practicum_connectors.sender import Sender
from tests.connectors.response.paging_system import PagingSystem
from tests.serving import in_a_thread

WIDE = Bounds(items=10**6, bytes=10**9, seconds=20.0)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with in_a_thread(PagingSystem()) as url:
        yield url


async def read(url: str, path: str, kind: Kind, bounds: Bounds, timeout_seconds: float = 20.0) -> Exchange:
    sender = Sender(private_network=True)
    try:
        return await sender.send(
            HttpRequest("GET", f"{url}{path}"), timeout_seconds=timeout_seconds, watch=lambda _: Stream(kind, bounds)
        )
    finally:
        await sender.aclose()


def items(exchange: Exchange) -> list[object]:
    assert exchange.delivery is Delivery.ANSWERED
    assert exchange.response is not None
    assert not exchange.response.complete
    content = read_content(exchange.response)
    assert isinstance(content, Streamed)
    return list(content.items)


async def test_lines_are_read_until_there_are_enough(url: str) -> None:
    found = items(await read(url, "/ticks", "lines", Bounds(5, 10**9, 20.0)))
    assert found[:5] == [{"n": 1}, *[{"n": 2}] * 4]
    assert len(found) < 20


async def test_a_stream_is_read_up_to_its_bytes(url: str) -> None:
    exchange = await read(url, "/ticks", "lines", Bounds(10**6, 40, 20.0))
    assert exchange.response is not None
    assert 40 <= len(exchange.response.body) < 200
    assert len(items(exchange)) > 2


@pytest.mark.parametrize(("path", "found"), [("/events", [{"data": {"n": 1}}]), ("/silence", [])])
async def test_a_stream_is_read_for_its_time(url: str, path: str, found: list[object]) -> None:
    started = time.monotonic()
    assert items(await read(url, path, "events", Bounds(10**6, 10**9, 0.5))) == found
    assert time.monotonic() - started < 10


async def test_a_stream_ends_with_the_call_and_is_not_lost(url: str) -> None:
    assert items(await read(url, "/events", "events", WIDE, timeout_seconds=1.5)) == [{"data": {"n": 1}}]
