"""Calls to systems that are slow, busy or down, over real connections."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import pytest

from practicum.contracts.connectors import BearerAuth, ClientCredentialsAuth, ConnectorLimits
from practicum.contracts.tools import CallStatus
from practicum_connectors import Delivery, HttpRequest
from practicum_connectors.auth import Keyring, NoCredentials
from practicum_connectors.exchange import Exchange
from practicum_connectors.resilience import Clock, Repeat
from practicum_connectors.sender import Sender
from practicum_connectors.site import Site
from tests.connectors.documents import Json, compiled, document, header, operation
from tests.connectors.loopback import Answer, System

DOCUMENT = document(
    {
        "/read": {"get": operation(operationId="read")},
        "/keyed": {"post": operation(header("Idempotency-Key"), operationId="keyed")},
        "/plain": {"post": operation(operationId="plain")},
        "/put": {"put": operation(operationId="put_thing")},
        "/drop": {"delete": operation(operationId="delete_thing")},
        "/search": {"post": operation(operationId="search_things")},
        "/deactivate": {"get": operation(operationId="deactivate_user")},
    }
)
OK = Answer(200, {"ok": True})


class Time:
    """A clock that moves on by as much as somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@contextlib.asynccontextmanager
async def site_at(url: str, time: Time | None = None, **limits: float) -> AsyncGenerator[Site]:
    clock = Clock() if time is None else Clock(lambda: time.now, time.sleep)
    sender = Sender(private_network=True)
    yield Site(url, Keyring({}, NoCredentials()), sender, ConnectorLimits.model_validate(limits), clock)
    await sender.aclose()


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def outcome(system: System, tool: str, key: str | None = "ep_1:0:0") -> tuple[int | None, int, int]:
    """Status, tries told of, and requests that arrived."""
    async with compiled(DOCUMENT, system.url) as connector:
        sent = await connector.send(connector.prepare(tool, {}), idempotency_key=key)
    return sent.response and sent.response.status, sent.attempts, len(system.seen)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_read_gets_through_to_a_system_that_comes_back(system: System, status: int) -> None:
    system.answer("/read", Answer(status, {}), OK)
    assert await outcome(system, "crm_read") == (200, 2, 2)


async def test_a_read_is_given_up_in_the_end(system: System) -> None:
    system.answer("/read", Answer(503, {}))
    assert await outcome(system, "crm_read") == (503, 3, 3)


@pytest.mark.parametrize(
    "tool", ["crm_plain", "crm_put_thing", "crm_delete_thing", "crm_search_things", "crm_deactivate_user"]
)
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_what_may_do_it_twice_arrives_once(system: System, tool: str, status: int) -> None:
    for path in ("/plain", "/put", "/drop", "/search", "/deactivate"):
        system.answer(path, Answer(status, {}), OK)
    assert await outcome(system, tool) == (status, 1, 1)


@pytest.mark.parametrize(("status", "tries"), [(429, 2), (503, 2), (500, 1), (502, 1), (504, 1)])
async def test_a_call_with_the_systems_key_is_repeated_under_it_where_nothing_was_done(
    system: System, status: int, tries: int
) -> None:
    system.answer("/keyed", Answer(status, {}), OK)
    assert (await outcome(system, "crm_keyed"))[1:] == (tries, tries)
    assert {seen.headers["idempotency-key"] for seen in system.seen} == {"ep_1:0:0"}


async def test_without_a_key_at_hand_it_arrives_once(system: System) -> None:
    system.answer("/keyed", Answer(503, {}), OK)
    assert await outcome(system, "crm_keyed", None) == (503, 1, 1)


@dataclass
class Dropping:
    """Breaks off each connection once a request has arrived."""

    url: str = ""
    arrived: int = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.arrived += 1
        writer.close()
        await writer.wait_closed()


@contextlib.asynccontextmanager
async def dropping() -> AsyncGenerator[Dropping]:
    found = Dropping()
    server = await asyncio.start_server(found.answer, "127.0.0.1", 0)
    async with server:
        found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield found


@pytest.mark.parametrize(
    ("tool", "arrived"), [("crm_read", 3), ("crm_plain", 1), ("crm_keyed", 1), ("crm_deactivate_user", 1)]
)
async def test_a_call_whose_answer_is_lost(tool: str, arrived: int) -> None:
    async with dropping() as server, compiled(DOCUMENT, server.url) as connector:
        sent = await connector.send(connector.prepare(tool, {}), idempotency_key="k")
        assert (sent.delivery, server.arrived) == (Delivery.LOST, arrived)


async def test_the_system_says_when(system: System) -> None:
    time = Time()
    system.answer("/read", Answer(429, {}, headers=[("retry-after", "7")]), OK)
    async with site_at(system.url, time) as site:
        ended = await site.send(HttpRequest("GET", f"{system.url}/read"), 30, repeat=Repeat.FREELY)
    assert ended.attempts == 2
    assert 7 <= time.now < 8


async def test_a_wait_that_is_too_long_is_handed_on(system: System) -> None:
    system.answer("/read", Answer(429, {}, headers=[("retry-after", "120")]))
    async with compiled(DOCUMENT, system.url) as connector:
        sent = await connector.send(connector.prepare("crm_read", {}))
        seen = connector.observe(sent)
    assert (sent.attempts, sent.retry_after, len(system.seen)) == (1, 120.0, 1)
    assert (seen.status, "120" in " ".join(seen.warnings)) == (CallStatus.UNAVAILABLE, True)


async def test_all_tries_fit_into_the_time_of_the_call(system: System) -> None:
    system.answer("/read", Answer(delay=5))
    async with compiled(DOCUMENT, system.url) as connector:
        sent = await connector.send(connector.prepare("crm_read", {}), timeout_seconds=0.4)
    assert (sent.delivery, sent.attempts) == (Delivery.LOST, 1)
    assert sent.seconds < 2


async def test_the_connectors_own_time_holds_where_none_is_given(system: System) -> None:
    system.answer("/read", Answer(delay=5))
    async with compiled(DOCUMENT, system.url, limits=ConnectorLimits(timeout_seconds=0.3)) as connector:
        sent = await connector.send(connector.prepare("crm_read", {}))
    assert (sent.delivery, sent.seconds < 2) == (Delivery.LOST, True)


async def ask(site: Site, method: str = "GET", path: str = "/read") -> Exchange:
    return await site.send(HttpRequest(method, f"{site.base_url}{path}"), 30)


async def test_a_dead_system_is_left_alone_and_tried_again_later(system: System) -> None:
    time = Time()
    system.answer("/read", Answer(503, {}))
    async with site_at(system.url, time, breaker_failures=3, breaker_seconds=20) as site:
        for _ in range(3):
            await ask(site)
        left_alone = await ask(site, "POST")
        assert (len(system.seen), left_alone.delivery, left_alone.tried) == (3, Delivery.NOT_SENT, False)
        assert left_alone.retry_after == 20.0
        assert "left alone" in (left_alone.reason or "")
        assert left_alone.mend
        time.now += 21
        await ask(site)
        await ask(site)
        assert len(system.seen) == 4
        system.answer("/read", OK)
        time.now += 21
        assert [(await ask(site)).delivery for _ in range(3)] == [Delivery.ANSWERED] * 3


async def test_what_cannot_be_reached_counts_as_well() -> None:
    async with site_at(f"http://127.0.0.1:{closed_port()}", breaker_failures=2) as site:
        tried = [(await ask(site)).tried for _ in range(3)]
    assert tried == [True, True, False]


async def test_mistakes_of_ours_say_nothing_of_the_system(system: System) -> None:
    system.answer("/read", Answer(500, {}))
    system.answer("/none", Answer(404, {}))
    async with site_at(system.url, breaker_failures=2) as site:
        for _ in range(3):
            await ask(site)
            await ask(site, path="/none")
            assert not (await ask(site, method="GET\n")).tried
        assert (await ask(site)).tried


async def test_one_origin_does_not_answer_for_another(system: System) -> None:
    async with site_at(system.url, breaker_failures=1) as site:
        elsewhere = HttpRequest("GET", f"http://127.0.0.1:{closed_port()}/x")
        assert [(await site.send(elsewhere, 5)).tried for _ in range(2)] == [True, False]
        assert (await ask(site)).delivery is Delivery.ANSWERED


@dataclass
class Counting:
    """Counts the requests that it holds at the same time."""

    under_way: int = 0
    most: int = 0
    connections: set[asyncio.Task[None] | None] = field(default_factory=set[asyncio.Task[None] | None])

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.add(asyncio.current_task())
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.under_way += 1
                self.most = max(self.most, self.under_way)
                await asyncio.sleep(0.02)
                self.under_way -= 1
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
                await writer.drain()
        writer.close()
        await writer.wait_closed()


async def test_no_more_calls_at_once_than_the_system_takes() -> None:
    counting = Counting()
    server = await asyncio.start_server(counting.answer, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with compiled(DOCUMENT, url, limits=ConnectorLimits(concurrent=3)) as connector:
            prepared = connector.prepare("crm_plain", {})
            sent = await asyncio.gather(*(connector.send(prepared) for _ in range(12)))
        await asyncio.wait([task for task in counting.connections if task is not None])
    assert {one.delivery for one in sent} == {Delivery.ANSWERED}
    assert counting.most == 3


async def test_calls_beyond_the_rate_wait_or_are_told_that_they_would(system: System) -> None:
    time = Time()
    async with site_at(system.url, time, per_second=0.5) as site:
        await ask(site)
        await ask(site)
        assert time.now == 2.0
        busy = await site.send(HttpRequest("POST", f"{system.url}/x"), 1.0)
    assert (busy.delivery, busy.tried, busy.retry_after) == (Delivery.NOT_SENT, False, 2.0)
    assert "limits" in (busy.mend or "")
    assert len(system.seen) == 2


async def test_a_fresh_token_counts_against_the_rate_too(system: System) -> None:
    schemes: Json = {"Sign": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/token", "scopes": {}}}}}
    source = document({"/x": {"post": operation()}}, components={"securitySchemes": schemes})
    auth = ClientCredentialsAuth(client_id="me", client_secret="very secret&")
    system.answer("/token", Answer(body={"access_token": "tok-1"}))
    system.answer("/x", Answer(401, {}), OK)
    limits = ConnectorLimits(per_second=0.1, timeout_seconds=3)
    async with compiled(source, system.url, auth, limits=limits) as connector:
        sent = await connector.send(connector.prepare("crm_act", {}))
    assert sent.response is not None
    assert sent.response.status == 401
    assert [seen.raw_path for seen in system.seen if seen.raw_path == "/x"] == ["/x"]


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_credential_names_the_way_out(system: System, status: int) -> None:
    system.answer("/read", Answer(status, {"detail": "no"}))
    async with compiled(DOCUMENT, system.url, BearerAuth(token="bearer-secret")) as connector:
        seen = connector.observe(await connector.send(connector.prepare("crm_read", {})))
    assert seen.status is CallStatus.ERROR
    warning = " ".join(seen.warnings)
    assert "credential" in warning
    assert "crm" in warning
    assert "bearer-secret" not in seen.content + warning


async def test_a_missing_credential_names_the_way_out(system: System) -> None:
    system.answer("/read", Answer(401, {}))
    async with compiled(DOCUMENT, system.url) as connector:
        seen = connector.observe(await connector.send(connector.prepare("crm_read", {})))
    assert "sends no credential" in " ".join(seen.warnings)


async def test_a_dead_system_names_the_way_out() -> None:
    async with compiled(DOCUMENT, f"http://127.0.0.1:{closed_port()}") as connector:
        seen = connector.observe(await connector.send(connector.prepare("crm_read", {})))
    assert seen.status is CallStatus.UNAVAILABLE
    assert "base_url" in seen.content + " ".join(seen.warnings)
