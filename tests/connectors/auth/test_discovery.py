"""OpenID Connect: the provider says where tokens are given, as far as its word goes."""

import contextlib
from typing import Any

import pytest

from practicum.contracts.connectors import AuthorizationCodeAuth, ClientCredentialsAuth, ConnectorSpec
from practicum.errors import DocumentError, UpstreamError
from practicum_connectors import CompiledConnector, Delivery, load_document
from practicum_connectors.auth.discovery import Discovery
from practicum_connectors.auth.endpoints import TokenRule
from practicum_connectors.resilience import Clock
from practicum_connectors.sender import Sender
from tests.connectors.documents import Json, compiled, document, operation
from tests.connectors.loopback import Answer, System

WELL_KNOWN = "/realm/.well-known/openid-configuration"
CLIENT = ClientCredentialsAuth(client_id="me", client_secret="very secret&")
PERSON = AuthorizationCodeAuth(client_id="me", refresh_token="refresh-0")


def described(url: str = WELL_KNOWN) -> Json:
    schemes = {"Id": {"type": "openIdConnect", "openIdConnectUrl": url}}
    return document({"/x": {"get": operation(security=[{"Id": []}])}}, components={"securitySchemes": schemes})


def provider(system: System, **rest: Any) -> Answer:
    return Answer(body={"issuer": f"{system.url}/realm", "token_endpoint": f"{system.url}/realm/token", **rest})


@pytest.mark.parametrize("auth", [CLIENT, PERSON])
@pytest.mark.parametrize("named", [WELL_KNOWN, "/realm", "/realm/"])
async def test_tokens_are_fetched_where_the_provider_says(
    system: System, auth: ClientCredentialsAuth | AuthorizationCodeAuth, named: str
) -> None:
    system.answer(WELL_KNOWN, provider(system))
    system.answer("/realm/token", Answer(body={"access_token": "tok-1", "expires_in": 3600}))
    async with compiled(described(named), system.url, auth) as connector:
        for _ in range(2):
            await connector.send(connector.prepare("crm_act", {}))
    assert [seen.raw_path for seen in system.seen] == [WELL_KNOWN, "/realm/token", "/x", "/x"]
    assert system.seen[-1].headers["authorization"] == "Bearer tok-1"
    assert "authorization" not in system.seen[0].headers


async def test_the_provider_says_where_the_secret_goes(system: System) -> None:
    system.answer(WELL_KNOWN, provider(system, token_endpoint_auth_methods_supported=["client_secret_post"]))
    system.answer("/realm/token", Answer(body={"access_token": "tok-1"}))
    async with compiled(described(), system.url, CLIENT) as connector:
        await connector.send(connector.prepare("crm_act", {}))
    assert b"client_secret=very+secret%26" in system.seen[1].body
    assert "authorization" not in system.seen[1].headers


def bad(system: System) -> list[Answer]:
    return [
        Answer(404, {}),
        Answer(200, b"<html>", "text/html"),
        Answer(200, []),
        provider(system, issuer="https://another.example"),
        provider(system, issuer=7),
        provider(system, token_endpoint=None),
        provider(system, token_endpoint="ftp://x/token"),
        provider(system, token_endpoint="https://a:b@x.example/token"),
        Answer(302, headers=[("location", f"{system.url}/elsewhere")]),
    ]


@pytest.mark.parametrize("number", range(9))
async def test_a_provider_that_cannot_be_trusted_gets_no_secret_and_the_system_no_call(
    system: System, number: int
) -> None:
    system.answer(WELL_KNOWN, bad(system)[number])
    async with compiled(described(), system.url, CLIENT) as connector:
        outcome = await connector.send(connector.prepare("crm_act", {}))
    assert outcome.delivery is Delivery.NOT_SENT
    assert "OpenID" in (outcome.reason or "")
    assert "token_url" in (outcome.mend or "")
    assert {seen.raw_path for seen in system.seen} == {WELL_KNOWN}
    assert all(b"secret" not in seen.body for seen in system.seen)


async def test_a_provider_that_is_away_is_told(system: System) -> None:
    discovery = Discovery(
        "http://127.0.0.1:1/x", TokenRule(system.url, private_network=True), Sender(private_network=True)
    )
    with pytest.raises(UpstreamError, match="cannot be reached"):
        await discovery.endpoint()


async def test_a_token_endpoint_elsewhere_must_be_encrypted(system: System) -> None:
    system.answer(WELL_KNOWN, provider(system, token_endpoint="http://login.example.com/token"))
    async with contextlib.aclosing(Sender(private_network=True)) as sender:
        with pytest.raises(UpstreamError, match="without encryption"):
            await Discovery(
                f"{system.url}{WELL_KNOWN}", TokenRule(system.url, private_network=False), sender
            ).endpoint()
        system.answer(WELL_KNOWN, provider(system, token_endpoint="https://login.example.com/token"))
        found = await Discovery(
            f"{system.url}{WELL_KNOWN}", TokenRule(system.url, private_network=False), sender
        ).endpoint()
    assert found.url == "https://login.example.com/token"


def test_a_provider_elsewhere_must_be_asked_over_encryption() -> None:
    source = load_document(described("http://login.example.com/"))
    with pytest.raises(DocumentError, match="without encryption"):
        CompiledConnector.compile(ConnectorSpec(name="crm", base_url="https://api.example.com", auth=CLIENT), source)


async def test_what_the_provider_said_is_remembered_for_an_hour(system: System) -> None:
    system.answer(WELL_KNOWN, Answer(500, {}), provider(system))
    now = [0.0]
    async with contextlib.aclosing(Sender(private_network=True)) as sender:
        rule = TokenRule(system.url, private_network=True)
        discovery = Discovery(f"{system.url}{WELL_KNOWN}", rule, sender, Clock(now=lambda: now[0]))
        with pytest.raises(UpstreamError, match="500"):
            await discovery.endpoint()
        await discovery.endpoint()
        now[0] = 3000
        await discovery.endpoint()
        assert len(system.seen) == 2
        now[0] = 4000
        await discovery.endpoint()
    assert len(system.seen) == 3
