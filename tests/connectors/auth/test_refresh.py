"""A sign-in that lasts: access tokens for a refresh token, which the server may replace."""

import asyncio
from urllib.parse import parse_qs

import pytest

from practicum.contracts.connectors import AuthorizationCodeAuth, ConnectorSpec, PracticeSpec, SchemesAuth
from practicum.errors import ConfigurationError, DocumentError
from practicum_connectors import CompiledConnector, Delivery, load_document
from practicum_connectors.auth import Rotated
from tests.connectors.documents import Json, compiled, document, operation
from tests.connectors.loopback import Answer, System

FLOW: Json = {"authorizationUrl": "/authorize", "tokenUrl": "/token", "scopes": {}}
PUBLIC = AuthorizationCodeAuth(client_id="me", refresh_token="refresh-0")
SECRET = AuthorizationCodeAuth(client_id="me", client_secret="very secret&", refresh_token="refresh-0", scopes=("a",))


def described(flow: Json | None = None, name: str = "authorizationCode") -> Json:
    schemes = {"Sign": {"type": "oauth2", "flows": {name: flow or FLOW}}}
    return document({"/x": {"post": operation(security=[{"Sign": []}])}}, components={"securitySchemes": schemes})


def grant(token: str, refresh: str | None = None, seconds: int = 3600) -> Answer:
    replaced = {} if refresh is None else {"refresh_token": refresh}
    return Answer(body={"access_token": token, "expires_in": seconds, **replaced})


def connector_of(
    system: System, auth: AuthorizationCodeAuth | SchemesAuth, rotated: Rotated | None = None
) -> CompiledConnector:
    spec = ConnectorSpec(name="crm", base_url=system.url, auth=auth, private_network=True)
    return CompiledConnector.compile(spec, load_document(described()), on_rotated=rotated)


class Kept:
    """Where refresh tokens are stored; it fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.tokens: list[tuple[str, str]] = []
        self.failures = failures

    async def __call__(self, scheme: str, token: str) -> None:
        await asyncio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise ConfigurationError("The store is away.", mend="Wait.")
        self.tokens.append((scheme, token))


async def call(connector: CompiledConnector) -> Delivery:
    return (await connector.send(connector.prepare("crm_act", {}))).delivery


def forms(system: System, path: str = "/token") -> list[dict[str, list[str]]]:
    return [parse_qs(seen.body.decode()) for seen in system.seen if seen.raw_path == path]


async def test_a_public_client_sends_its_name_and_no_secret(system: System) -> None:
    system.answer("/token", grant("tok-1"))
    async with connector_of(system, PUBLIC) as connector:
        await asyncio.gather(*(call(connector) for _ in range(5)))
    assert forms(system) == [
        {"grant_type": ["refresh_token"], "refresh_token": ["refresh-0"], "client_id": ["me"]},
    ]
    assert "authorization" not in system.seen[0].headers
    assert {s.headers["authorization"] for s in system.seen if s.raw_path == "/x"} == {"Bearer tok-1"}


async def test_a_client_with_a_secret_proves_itself(system: System) -> None:
    system.answer("/token", Answer(401, {"error": "invalid_client"}), grant("tok-1"))
    async with connector_of(system, SECRET) as connector:
        assert await call(connector) is Delivery.ANSWERED
    assert system.seen[0].headers["authorization"].startswith("Basic ")
    assert forms(system)[1]["client_secret"] == ["very secret&"]
    assert forms(system)[1]["scope"] == ["a"]


async def test_a_replaced_refresh_token_is_stored_before_a_call_is_made_and_used_next(system: System) -> None:
    system.answer("/token", grant("tok-1", "refresh-1"), grant("tok-2", "refresh-2"), grant("tok-3"))
    system.answer("/x", Answer(200, {}), Answer(401, {}), Answer(200, {}), Answer(401, {}), Answer(200, {}))
    kept = Kept()
    async with connector_of(system, PUBLIC, kept) as connector:
        for expected in (["refresh-1"], ["refresh-1", "refresh-2"], ["refresh-1", "refresh-2"]):
            await call(connector)
            assert [token for _, token in kept.tokens] == expected
        assert connector.redact("refresh-0 refresh-1 refresh-2 tok-3") == " ".join(["[redacted]"] * 4)
    assert [form["refresh_token"] for form in forms(system)] == [["refresh-0"], ["refresh-1"], ["refresh-2"]]


async def test_no_call_is_made_while_a_replaced_token_could_not_be_stored(system: System) -> None:
    system.answer("/token", grant("tok-1", "refresh-1"))
    kept = Kept(failures=2)
    async with connector_of(system, PUBLIC, kept) as connector:
        assert [await call(connector) for _ in range(3)] == [Delivery.NOT_SENT, Delivery.NOT_SENT, Delivery.ANSWERED]
    assert [seen.raw_path for seen in system.seen] == ["/token", "/x"]
    assert kept.tokens == [("", "refresh-1")]


async def test_who_gives_up_waiting_does_not_lose_the_token_that_replaces_the_one_in_use(system: System) -> None:
    system.answer("/token", Answer(200, grant("tok-1", "refresh-1").body, delay=0.3), grant("tok-2"))
    kept = Kept()
    async with connector_of(system, PUBLIC, kept) as connector:
        hasty = await connector.send(connector.prepare("crm_act", {}), timeout_seconds=0.05)
        assert hasty.delivery is Delivery.NOT_SENT
        assert await call(connector) is Delivery.ANSWERED
    assert len(forms(system)) == 1
    assert kept.tokens == [("", "refresh-1")]


@pytest.mark.parametrize("auth", [PUBLIC, SECRET])
async def test_a_sign_in_that_is_over_is_told_with_the_way_out_and_tried_once(
    system: System, auth: AuthorizationCodeAuth
) -> None:
    system.answer("/token", Answer(400, {"error": "invalid_grant", "error_description": "refresh-0 is old"}))
    async with connector_of(system, auth) as connector:
        outcome = await connector.send(connector.prepare("crm_act", {}))
    assert outcome.delivery is Delivery.NOT_SENT
    assert "invalid_grant" in (outcome.reason or "")
    assert "refresh-0" not in (outcome.reason or "")
    assert "Sign in again" in (outcome.mend or "")
    assert [seen.raw_path for seen in system.seen] == ["/token"]


async def test_the_scheme_is_named_where_several_are_held(system: System) -> None:
    system.answer("/token", grant("tok-1", "refresh-1"))
    kept = Kept()
    async with connector_of(system, SchemesAuth(schemes={"Sign": PUBLIC}), kept) as connector:
        await call(connector)
    assert kept.tokens == [("Sign", "refresh-1")]


async def test_a_refresh_url_of_the_document_comes_first(system: System) -> None:
    system.answer("/again", grant("tok-1"))
    async with compiled(described(FLOW | {"refreshUrl": "/again"}), system.url, PUBLIC) as connector:
        assert await call(connector) is Delivery.ANSWERED
    assert len(forms(system, "/again")) == 1


def test_a_document_without_the_flow_is_refused_unless_the_address_is_given() -> None:
    other = described({"tokenUrl": "/token", "scopes": {}}, "clientCredentials")
    with pytest.raises(DocumentError, match="authorization code"):
        compiled(other, auth=PUBLIC)
    compiled(other, auth=PUBLIC.model_copy(update={"token_url": "https://login.example.com/token"}))


def test_practice_copies_cannot_share_a_sign_in(system: System) -> None:
    practice = PracticeSpec(base_url=f"{system.url}/crm", auth=PUBLIC)
    with pytest.raises(DocumentError, match="refresh token of one sign-in"):
        compiled(described(), "http://127.0.0.1:1", practice=practice)


def test_nothing_shows_the_tokens(system: System) -> None:
    connector = connector_of(system, SECRET)
    shown = repr(vars(connector)) + repr(SECRET) + str(SECRET)
    assert "refresh-0" not in shown
    assert "very secret" not in shown
