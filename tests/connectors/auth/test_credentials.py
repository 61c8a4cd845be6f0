"""Credentials over real connections: put in last, bound to their origin, never shown."""

import asyncio
import base64
import json
from urllib.parse import parse_qs

import pytest

from practicum.contracts.connectors import (
    ApiKeyAuth,
    Auth,
    BasicAuth,
    BearerAuth,
    ClientCredentialsAuth,
    ConnectorSpec,
    NoAuth,
)
from practicum.contracts.tools import CallStatus
from practicum.errors import DocumentError
from practicum_connectors import CompiledConnector, Delivery, load_document
from practicum_connectors.auth import credentials_for
from practicum_connectors.auth.refresh import ClientGrant
from practicum_connectors.auth.tokens import Client, Endpoint, Tokens
from practicum_connectors.exchange import HttpRequest
from practicum_connectors.resilience import Clock
from practicum_connectors.sender import Sender
from tests.connectors.documents import Json, compiled, document, operation
from tests.connectors.loopback import Answer, System

SCHEMES: Json = {
    "Query": {"type": "apiKey", "in": "query", "name": "api_key"},
    "Header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "Cookie": {"type": "apiKey", "in": "cookie", "name": "session"},
    "OAuth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/token", "scopes": {}}}},
}


def described(*schemes: str) -> Json:
    components = {"securitySchemes": {name: SCHEMES[name] for name in schemes}}
    return document({"/x": {"get": operation()}, "/y": {"post": operation(operationId="post")}}, components=components)


OAUTH = ClientCredentialsAuth(client_id="me", client_secret="very secret&", scopes=("a", "b"))


async def call(connector: CompiledConnector, tool: str = "crm_act") -> str:
    return connector.observe(await connector.send(connector.prepare(tool, {}))).content


CASES: list[tuple[Auth, tuple[str, ...], str, str | None]] = [
    (NoAuth(), ("Header",), "authorization", None),
    (ApiKeyAuth(value="topsecret"), ("Header",), "x-key", "topsecret"),
    (ApiKeyAuth(value="topsecret"), ("Cookie",), "cookie", "session=topsecret"),
    (ApiKeyAuth(value="topsecret", name="session"), ("Header", "Cookie"), "cookie", "session=topsecret"),
    (ApiKeyAuth(value="topsecret", name="X-Own"), ("Query",), "x-own", "topsecret"),
    (ApiKeyAuth(value="topsecret", name="X-Own", location="header"), (), "x-own", "topsecret"),
    (BearerAuth(token="topsecret"), (), "authorization", "Bearer topsecret"),
    (
        BasicAuth(username="me", password="topsecret"),
        (),
        "authorization",
        "Basic " + base64.b64encode(b"me:topsecret").decode(),
    ),
]


@pytest.mark.parametrize(("auth", "schemes", "header", "value"), CASES)
async def test_fixed_credentials(
    system: System, auth: Auth, schemes: tuple[str, ...], header: str, value: str | None
) -> None:
    async with compiled(described(*schemes), system.url, auth) as connector:
        content = await call(connector)
    assert system.seen[0].headers.get(header) == value
    assert "topsecret" not in content
    assert base64.b64encode(b"me:topsecret").decode() not in content


async def test_a_key_in_the_query(system: System) -> None:
    async with compiled(described("Query"), system.url, ApiKeyAuth(value="top secret&")) as connector:
        sent = await connector.send(connector.prepare("crm_act", {}))
        assert "secret" not in connector.observe(sent).content
    assert system.seen[0].query == "api_key=top%20secret%26"
    assert "secret" not in repr(sent)


def test_a_key_in_the_query_of_a_link_is_replaced(system: System) -> None:
    request = HttpRequest("GET", f"{system.url}/x?a=1&api_key=%5Bredacted%5D&b=2&api%5Fkey=x&c")
    assert request.with_query("api_key", "key").url == f"{system.url}/x?a=1&b=2&c&api_key=key"
    assert HttpRequest("GET", "http://h/x").with_query("a b", "c&d").url == "http://h/x?a%20b=c%26d"


async def test_the_documents_own_order_decides_between_schemes(system: System) -> None:
    source: Json = described("Query", "Header") | {"security": [{"Header": []}]}
    async with compiled(source, system.url, ApiKeyAuth(value="topsecret")) as connector:
        await call(connector)
    assert system.seen[0].headers["x-key"] == "topsecret"


@pytest.mark.parametrize("auth", [ApiKeyAuth(value="topsecret"), OAUTH, BearerAuth(token="a\nb")])
def test_a_credential_that_the_document_leaves_open_is_refused(auth: Auth) -> None:
    with pytest.raises(DocumentError) as caught:
        compiled(described(), auth=auth)
    assert caught.value.mend
    assert "secret" not in str(caught.value).replace("client's secret", "")


def test_a_documents_token_url_must_not_carry_the_secret_elsewhere_in_the_clear() -> None:
    flows: Json = {"clientCredentials": {"tokenUrl": "http://elsewhere.example/token", "scopes": {}}}
    source = document({}, components={"securitySchemes": {"O": {"type": "oauth2", "flows": flows}}})
    with pytest.raises(DocumentError, match="another host"):
        CompiledConnector.compile(
            ConnectorSpec(name="crm", base_url="https://api.example.com", auth=OAUTH), load_document(source)
        )


async def test_the_credential_stays_with_its_origin(system: System) -> None:
    source: Json = described() | {"servers": [{"url": "http://127.0.0.1:1"}]}
    source["paths"]["/x"]["get"]["servers"] = [{"url": system.url}]
    async with compiled(source, None, BearerAuth(token="topsecret")) as connector:
        await call(connector)
        assert "credential is not sent" in " ".join(connector.report[0].notes)
    assert "authorization" not in system.seen[0].headers


@pytest.mark.parametrize("auth", [case[0] for case in CASES[1:]])
async def test_nothing_shows_a_secret(auth: Auth) -> None:
    source = load_document(described("Header", "Cookie", "Query"))
    sender = Sender()
    keyring = credentials_for(auth, source, "http://h", sender)
    credentials = keyring.for_operation(None)
    assert credentials is not None
    dressed = await credentials.apply(HttpRequest("GET", "http://h/x"))
    connector = compiled(source.canonical, auth=auth)
    shown = [
        repr(keyring),
        repr(credentials),
        repr(dressed),
        repr(sender),
        repr(vars(connector)),
        repr(connector.report),
        str(auth),
    ]
    assert not any("topsecret" in text for text in shown)
    assert any("topsecret" in secret for secret in credentials.secrets())


def grant(token: str, seconds: float | None = 3600) -> Answer:
    return Answer(body={"access_token": token, "token_type": "bearer"} | ({"expires_in": seconds} if seconds else {}))


async def test_one_token_serves_many_calls(system: System) -> None:
    system.answer("/token", Answer(200, grant("tok-1").body, delay=0.05))
    async with compiled(described("OAuth"), system.url, OAUTH) as connector:
        await asyncio.gather(*(call(connector) for _ in range(10)))
        assert "tok-1" not in await call(connector)
        assert connector.redact("x tok-1 very secret& y") == "x [redacted] [redacted] y"
    tokens = [seen for seen in system.seen if seen.raw_path == "/token"]
    assert len(tokens) == 1
    assert parse_qs(tokens[0].body.decode()) == {"grant_type": ["client_credentials"], "scope": ["a b"]}
    assert base64.b64decode(tokens[0].headers["authorization"].split()[1]) == b"me:very+secret%26"
    assert {seen.headers["authorization"] for seen in system.seen if seen.raw_path == "/x"} == {"Bearer tok-1"}


async def test_a_server_that_wants_the_secret_in_the_body_gets_it(system: System) -> None:
    system.answer("/token", Answer(401, {"error": "invalid_client"}), grant("tok-1"))
    async with compiled(described("OAuth"), system.url, OAUTH) as connector:
        await call(connector)
    assert parse_qs(system.seen[1].body.decode())["client_secret"] == ["very secret&"]
    assert system.seen[2].headers["authorization"] == "Bearer tok-1"


async def test_a_refused_token_is_replaced_once(system: System) -> None:
    system.answer("/token", grant("tok-1"), grant("tok-2"))
    system.answer("/y", Answer(401, {"detail": "expired"}), Answer(201, {"id": 1}))
    async with compiled(described("OAuth"), system.url, OAUTH) as connector:
        assert await call(connector, "crm_post") == '{"id":1}'
        system.answer("/y", Answer(401, {"detail": "never"}))
        seen = connector.observe(await connector.send(connector.prepare("crm_post", {})))
    assert seen.status is CallStatus.ERROR
    bearers = [seen.headers["authorization"] for seen in system.seen if seen.raw_path == "/y"]
    assert bearers == ["Bearer tok-1", "Bearer tok-2", "Bearer tok-2", "Bearer tok-2"]


async def test_a_fixed_credential_is_not_tried_twice(system: System) -> None:
    system.answer("/x", Answer(401, {"detail": "no"}))
    async with compiled(described("Header"), system.url, ApiKeyAuth(value="topsecret")) as connector:
        await call(connector)
    assert len(system.seen) == 1


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (Answer(401, {"error": "invalid_client"}), "401 (invalid_client)"),
        (Answer(500, b"very secret&"), "500"),
        (Answer(body={"token": "x"}), "access_token"),
        (Answer(body={"access_token": "a\nb"}), "access_token"),
        (Answer(body=b"[]"), "access_token"),
    ],
)
async def test_without_a_token_nothing_is_sent(system: System, answer: Answer, word: str) -> None:
    system.answer("/token", answer)
    async with compiled(described("OAuth"), system.url, OAUTH) as connector:
        sent = await connector.send(connector.prepare("crm_post", {}))
    assert (sent.delivery, sent.in_doubt) == (Delivery.NOT_SENT, False)
    assert word in (sent.reason or "")
    assert "very secret" not in (sent.reason or "")
    assert sent.mend
    assert all(seen.raw_path == "/token" for seen in system.seen)


@pytest.mark.parametrize(("life", "used"), [(3600, 3000), (60, 40), (None, 200), ("100", 60)])
async def test_tokens_are_renewed_before_they_expire(system: System, life: float | None, used: float) -> None:
    system.answer("/token", Answer(body={"access_token": "tok-1", "expires_in": life}), grant("tok-2"))
    now = [1000.0]
    sender = Sender(private_network=True)

    async def endpoint() -> Endpoint:
        return Endpoint(f"{system.url}/token")

    client = Client("me", "very secret&")
    credentials = Tokens(client, ClientGrant(), endpoint, sender, Clock(now=lambda: now[0]))
    request = HttpRequest("GET", f"{system.url}/x")
    first = await credentials.apply(request)
    now[0] += used
    second = await credentials.apply(request)
    now[0] += used * 2
    third = await credentials.apply(request)
    await sender.aclose()
    headers = [dressed.header("Authorization") for dressed in (first, second, third)]
    assert headers == ["Bearer tok-1", "Bearer tok-1", "Bearer tok-2"]
    assert "very secret" not in json.dumps([seen.query for seen in system.seen])


async def test_a_registered_token_url_wins(system: System) -> None:
    system.answer("/other", grant("tok-9"))
    auth = OAUTH.model_copy(update={"token_url": f"{system.url}/other"})
    async with compiled(described("OAuth"), system.url, auth) as connector:
        await call(connector)
    assert system.seen[-1].headers["authorization"] == "Bearer tok-9"
