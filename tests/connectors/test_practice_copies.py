"""A connector at its practice copies: the same tools, another place, another credential."""

from collections.abc import Iterator
from typing import Any

import pytest

from practicum.contracts.connectors import (
    ApiKeyAuth,
    BearerAuth,
    ClientCredentialsAuth,
    Mode,
    PracticeSpec,
)
from practicum.contracts.tools import CallStatus, Observation
from practicum.errors import CallError, DocumentError, ForbiddenError, RequestError, UpstreamError
from practicum_connectors import CompiledConnector, Delivery
from practicum_connectors.practice import State
from tests.connectors.documents import Json, compiled, document, operation, path
from tests.connectors.loopback import Answer, System
from tests.serving import in_a_thread

LIVE_SECRET, PRACTICE_SECRET = "live-secret-canary", "practice-secret-canary"
SCHEMES: Json = {
    "Key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "OAuth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "token", "scopes": {}}}},
}
DOCUMENT = document(
    {
        "/orders/{id}": {"get": operation(path("id"), operationId="get_order")},
        "/elsewhere": {"post": {**operation(operationId="act"), "servers": [{"url": "https://elsewhere.example"}]}},
    },
    components={"securitySchemes": SCHEMES},
)
STATE: State = {"orders": {"7": {"paid": 20.0}}}


@pytest.fixture
def live() -> Iterator[System]:
    app = System()
    with in_a_thread(app) as url:
        app.url = url
        yield app


def connector_of(live: str, practice: System, auth: Any = None, **more: Any) -> CompiledConnector:
    spec = PracticeSpec(
        base_url=f"{practice.url}/crm/",
        auth=auth or ApiKeyAuth(value=PRACTICE_SECRET),
        private_network=True,
    )
    return compiled(DOCUMENT, live, ApiKeyAuth(value=LIVE_SECRET), practice=spec, **more)


async def call(connector: CompiledConnector) -> Observation:
    return connector.observe(await connector.send(connector.prepare("crm_get_order", {"id": "7"})))


async def test_each_copy_is_called_at_its_own_place_with_the_practice_credential(live: System, system: System) -> None:
    async with connector_of(live.url, system) as connector:
        for copy in ("ep_1", "ep_2"):
            there = connector.at_practice(copy)
            assert there.base_url == f"{system.url}/crm/{copy}"
            assert (await call(there)).status is CallStatus.OK
        assert (await call(connector)).status is CallStatus.OK
    assert [seen.raw_path for seen in system.seen] == ["/crm/ep_1/orders/7", "/crm/ep_2/orders/7"]
    assert [seen.raw_path for seen in live.seen] == ["/orders/7"]
    assert {seen.headers["x-key"] for seen in system.seen} == {PRACTICE_SECRET}
    assert live.seen[0].headers["x-key"] == LIVE_SECRET


async def test_operations_with_servers_of_their_own_go_to_the_copy_too(system: System) -> None:
    own = PracticeSpec(base_url=system.url, auth=BearerAuth(token=PRACTICE_SECRET), private_network=True)
    made = DOCUMENT | {"servers": [{"url": "https://live.example"}]}
    async with compiled(made, None, practice=own) as connector:
        prepared = connector.at_practice("ep_1").prepare("crm_act", {})
        assert prepared.request.url == f"{system.url}/ep_1/elsewhere"
        assert connector.prepare("crm_act", {}).request.url == "https://elsewhere.example/elsewhere"


async def test_what_the_copy_echoes_is_redacted(system: System) -> None:
    async with connector_of("http://127.0.0.1:1", system) as connector:
        there = connector.at_practice("ep_1")
        observation = await call(there)
        assert PRACTICE_SECRET not in observation.model_dump_json()
        assert there.redact(f"a {PRACTICE_SECRET}") == "a [redacted]"


async def test_a_model_cannot_leave_its_copy(system: System) -> None:
    async with connector_of("http://127.0.0.1:1", system) as connector:
        there = connector.at_practice("ep_1")
        for value in ("..", "../../ep_2/orders/7", "%2e%2e", "..%2fep_2"):
            with pytest.raises(CallError):
                there.prepare("crm_get_order", {"id": value})


async def test_tokens_are_fetched_at_the_copy_and_kept_for_it(system: System) -> None:
    auth = ClientCredentialsAuth(client_id="me", client_secret=PRACTICE_SECRET)
    for copy in ("ep_1", "ep_2"):
        system.answer(f"/crm/{copy}/token", Answer(body={"access_token": f"token-{copy}", "expires_in": 600}))
    async with connector_of("http://127.0.0.1:1", system, auth) as connector:
        for copy in ("ep_1", "ep_2", "ep_1"):
            await call(connector.at_practice(copy))
    fetched = [seen.raw_path for seen in system.seen if seen.raw_path.endswith("/token")]
    assert fetched == ["/crm/ep_1/token", "/crm/ep_2/token"]
    used = [seen.headers["authorization"] for seen in system.seen if "orders" in seen.raw_path]
    assert used == ["Bearer token-ep_1", "Bearer token-ep_2", "Bearer token-ep_1"]


async def test_a_copy_is_begun_read_and_ended(system: System) -> None:
    system.answer("/crm/ep_1/_practice/state", Answer(204), Answer(body=STATE), Answer(204))
    system.answer("/crm/ep_1/_practice/reset", Answer(204))
    async with connector_of("http://127.0.0.1:1", system) as connector:
        practice = connector.practice
        assert practice is not None
        await practice.begin("ep_1", STATE)
        assert await practice.state("ep_1") == STATE
        await practice.end("ep_1")
        await practice.begin("ep_1", None)
    asked = [(seen.method, seen.raw_path.rpartition("/")[2]) for seen in system.seen]
    assert asked == [("PUT", "state"), ("GET", "state"), ("DELETE", "state"), ("POST", "reset")]
    assert system.seen[0].json() == STATE
    assert {seen.headers["x-key"] for seen in system.seen} == {PRACTICE_SECRET}


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (Answer(422, {"detail": "no such table: /dragons"}), RequestError, "no such table"),
        (Answer(401, {"detail": f"wrong key {PRACTICE_SECRET}"}), UpstreamError, "401"),
        (Answer(429, headers=[("retry-after", "5")]), UpstreamError, "429"),
        (Answer(500), UpstreamError, "500"),
        (Answer(404), UpstreamError, "404"),
    ],
)
async def test_a_copy_that_does_not_begin_says_why(
    system: System, answer: Answer, error: type[Exception], says: str
) -> None:
    system.answer("/crm/ep_1/_practice/state", answer)
    async with connector_of("http://127.0.0.1:1", system) as connector:
        assert connector.practice is not None
        with pytest.raises(error, match=says) as caught:
            await connector.practice.begin("ep_1", STATE)
    assert PRACTICE_SECRET not in str(caught.value)
    assert getattr(caught.value, "retry_after", None) == (5 if answer.status == 429 else None)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Answer(404), "gone"),
        (Answer(500), "500"),
        (Answer(200, ["no", "state"]), "shows no state"),
        (Answer(200, b"<html>"), "shows no state"),
        (Answer(200, {"orders": {"7": "paid"}}), "shows no state"),
    ],
)
async def test_a_state_that_cannot_be_read_is_no_empty_state(system: System, answer: Answer, says: str) -> None:
    system.answer("/crm/ep_1/_practice/state", answer)
    async with connector_of("http://127.0.0.1:1", system) as connector:
        assert connector.practice is not None
        with pytest.raises(UpstreamError, match=says):
            await connector.practice.state("ep_1")


async def test_a_copy_that_is_gone_has_ended(system: System) -> None:
    system.answer("/crm/ep_1/_practice/state", Answer(404), Answer(410), Answer(503))
    async with connector_of("http://127.0.0.1:1", system) as connector:
        assert connector.practice is not None
        await connector.practice.end("ep_1")
        await connector.practice.end("ep_1")
        with pytest.raises(UpstreamError, match="cannot be ended"):
            await connector.practice.end("ep_1")


async def test_private_copies_need_leave(system: System) -> None:
    spec = PracticeSpec(base_url=system.url, auth=ApiKeyAuth(value=PRACTICE_SECRET))
    async with compiled(DOCUMENT, "http://127.0.0.1:1", practice=spec) as connector:
        assert connector.practice is not None
        with pytest.raises(UpstreamError, match="private address"):
            await connector.practice.begin("ep_1", {})
        there = connector.at_practice("ep_1")
        assert (await there.send(there.prepare("crm_get_order", {"id": "7"}))).delivery is Delivery.NOT_SENT
    assert system.seen == []


@pytest.mark.parametrize(
    ("spec", "more", "says"),
    [
        (PracticeSpec(base_url="ftp://copies"), {}, "web address"),
        (PracticeSpec(base_url="http://copies/?key=1"), {}, "query"),
        (PracticeSpec(base_url="http://127.0.0.1:1/"), {}, "address of the live system"),
        (PracticeSpec(base_url="http://copies"), {"mode": Mode.PRACTICE}, "has no practice copies"),
    ],
)
def test_copies_that_make_no_sense_are_refused(spec: PracticeSpec, more: Any, says: str) -> None:
    with pytest.raises(DocumentError, match=says):
        compiled(DOCUMENT, practice=spec, **more)


def test_the_copies_secret_is_not_shown_to_the_live_systems_token_server() -> None:
    flows: Json = {"clientCredentials": {"tokenUrl": "https://login.live.example/token", "scopes": {}}}
    made = DOCUMENT | {"components": {"securitySchemes": {"O": {"type": "oauth2", "flows": flows}}}}
    auth = ClientCredentialsAuth(client_id="me", client_secret=PRACTICE_SECRET)
    with pytest.raises(DocumentError, match="not where the practice copies are"):
        compiled(made, practice=PracticeSpec(base_url="https://copies.example", auth=auth))
    given = auth.model_copy(update={"token_url": "https://login.copies.example/token"})
    compiled(made, practice=PracticeSpec(base_url="https://copies.example", auth=given))


def test_a_connector_says_where_its_copies_are(system: System) -> None:
    practice = connector_of("http://live", system).practice
    assert practice is not None
    assert practice.base_url == f"{system.url}/crm"
    without = compiled(DOCUMENT)
    assert without.practice is None
    with pytest.raises(ForbiddenError):
        without.at_practice("ep_1")
