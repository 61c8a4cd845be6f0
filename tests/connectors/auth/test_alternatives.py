"""What each operation is sent: its `security` is a choice of alternatives, each a set of schemes."""

from typing import Any

import pytest

from practicum.contracts.connectors import (
    ApiKeyAuth,
    Auth,
    BasicAuth,
    BearerAuth,
    ClientCredentialsAuth,
    ConnectorSpec,
    Fidelity,
    NoAuth,
    SchemesAuth,
)
from practicum.contracts.tools import CallStatus
from practicum.errors import DocumentError
from practicum_connectors import CompiledConnector, Delivery, load_document
from practicum_connectors.auth import credentials_for
from practicum_connectors.sender import Sender
from tests.connectors.documents import Json, compiled, document, operation, properties, query
from tests.connectors.loopback import System

SCHEMES: Json = {
    "Key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "App": {"type": "apiKey", "in": "header", "name": "X-App"},
    "Asked": {"type": "apiKey", "in": "query", "name": "key"},
    "Basic": {"type": "http", "scheme": "basic"},
    "Bearer": {"type": "http", "scheme": "Bearer"},
    "Sign": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "/token", "scopes": {}}}},
    "Digest": {"type": "http", "scheme": "digest"},
}
KEY = ApiKeyAuth(value="key-secret", name="X-Key")
APP = ApiKeyAuth(value="app-secret")
BASIC = BasicAuth(username="me", password="basic-secret")
BEARER = BearerAuth(token="bearer-secret")


def asking(*security: Json | None, root: Any = None, schemes: Json | None = None) -> Json:
    """One operation with these alternatives; None for none of its own."""
    rest: Json = {} if security == (None,) else {"security": list(security)}
    made: Json = document(
        {"/x": {"get": operation(**rest)}}, components={"securitySchemes": SCHEMES if schemes is None else schemes}
    )
    return made if root is None else made | {"security": root}


def sent_with(headers: dict[str, str]) -> set[str]:
    values = {"key-secret": "Key", "app-secret": "App", "Bearer bearer-secret": "Bearer"}
    found = {values[value] for value in headers.values() if value in values}
    return found | ({"Basic"} if headers.get("authorization", "").startswith("Basic ") else set())


def several(**schemes: Any) -> Auth:
    return SchemesAuth(schemes=schemes)


CASES: list[tuple[str, Auth, tuple[Json | None, ...], Any, set[str]]] = [
    ("its own scheme", KEY, ({"Key": []},), None, {"Key"}),
    ("nothing where it says so", KEY, (), [{"Key": []}], set()),
    ("the document's where it has none of its own", BEARER, (None,), [{"Bearer": []}], {"Bearer"}),
    ("its own instead of the document's", several(Key=KEY, Basic=BASIC), ({"Basic": []},), [{"Key": []}], {"Basic"}),
    ("the usual where neither says anything", KEY, (None,), None, {"Key"}),
    ("the first alternative that is held", several(App=APP), ({"Key": []}, {"App": []}), None, {"App"}),
    ("the first of two that are held", several(App=APP, Key=KEY), ({"Key": []}, {"App": []}), None, {"Key"}),
    ("both of a pair", several(App=APP, Key=KEY), ({"Key": [], "App": []},), None, {"Key", "App"}),
    (
        "the next where half of a pair is missing",
        several(App=APP),
        ({"Key": [], "App": []}, {"App": []}),
        None,
        {"App"},
    ),
    ("one if it may, although it need not", KEY, ({}, {"Key": []}), None, {"Key"}),
    ("none if it need not and nothing fits", KEY, ({}, {"Basic": []}), None, set()),
    ("none if all that is offered is none", KEY, ({},), None, set()),
    ("a token for a sign-in", BEARER, ({"Sign": ["read"]},), None, {"Bearer"}),
    ("no credential is registered", NoAuth(), ({"Key": []},), None, set()),
    ("a key where it was said to go", ApiKeyAuth(value="key-secret", name="X-Own"), ({"Basic": []},), None, {"Key"}),
]


@pytest.mark.parametrize(
    ("auth", "security", "root", "expected"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
async def test_what_an_operation_is_sent(
    system: System, auth: Auth, security: tuple[Json | None, ...], root: Any, expected: set[str]
) -> None:
    async with compiled(asking(*security, root=root), system.url, auth) as connector:
        (report,) = connector.report
        assert report.fidelity is Fidelity.EXACT, report.notes
        await connector.send(connector.prepare("crm_act", {}))
    assert sent_with(system.seen[0].headers) == expected


REFUSED: list[tuple[Auth, tuple[Json, ...], tuple[str, ...]]] = [
    (KEY, ({"Basic": []},), ("`Basic`",)),
    (KEY, ({"Key": [], "App": []},), ("`App`",)),
    (several(Key=KEY), ({"Basic": [], "Bearer": []}, {"App": []}), ("`App`",)),
    (BASIC, ({"Key": []},), ("`Key`",)),
    (KEY, ({"Unheard": []},), ("`Unheard`",)),
]


@pytest.mark.parametrize(("auth", "security", "named"), REFUSED)
async def test_an_operation_that_asks_for_what_is_not_held_is_not_called(
    system: System, auth: Auth, security: tuple[Json, ...], named: tuple[str, ...]
) -> None:
    async with compiled(asking(*security), system.url, auth) as connector:
        (report,) = connector.report
        outcome = await connector.send(connector.prepare("crm_act", {}))
        seen = connector.observe(outcome)
    assert system.seen == []
    assert report.fidelity is Fidelity.DEGRADED
    assert (outcome.delivery, outcome.in_doubt, seen.status) == (Delivery.NOT_SENT, False, CallStatus.UNAVAILABLE)
    assert all(name in " ".join(report.notes) for name in named)
    assert all(name in (outcome.reason or "") for name in named)
    assert "credential" in (outcome.mend or "")


async def test_one_key_stands_for_several_names_of_it_but_not_for_two_keys_at_once(system: System) -> None:
    key = ApiKeyAuth(value="key-secret")
    for name, header in (("Key", "x-key"), ("App", "x-app")):
        async with compiled(asking({name: []}), system.url, key) as connector:
            await connector.send(connector.prepare("crm_act", {}))
        assert {k for k, v in system.seen[-1].headers.items() if v == "key-secret"} == {header}
    count = len(system.seen)
    async with compiled(asking({"Key": [], "App": []}), system.url, key) as connector:
        outcome = await connector.send(connector.prepare("crm_act", {}))
    assert (outcome.delivery, len(system.seen)) == (Delivery.NOT_SENT, count)


async def test_a_credential_of_a_kind_that_the_document_does_not_know_is_taken_at_its_word(system: System) -> None:
    only_basic = {"Basic": SCHEMES["Basic"]}
    async with compiled(asking({"Basic": []}, schemes=only_basic), system.url, BEARER) as connector:
        await connector.send(connector.prepare("crm_act", {}))
    async with compiled(asking({"Basic": []}), system.url, BEARER) as connector:
        await connector.send(connector.prepare("crm_act", {}))
    assert [sent_with(seen.headers) for seen in system.seen] == [{"Bearer"}]


async def test_a_key_may_be_the_authorization_header(system: System) -> None:
    schemes: Json = {"Odd": {"type": "apiKey", "in": "header", "name": "Authorization"}}
    async with compiled(asking({"Odd": []}, schemes=schemes), system.url, BEARER) as connector:
        await connector.send(connector.prepare("crm_act", {}))
    async with compiled(asking({"Odd": []}, schemes=schemes), system.url, ApiKeyAuth(value="Token key-secret")) as one:
        await one.send(one.prepare("crm_act", {}))
    assert [seen.headers["authorization"] for seen in system.seen] == ["Bearer bearer-secret", "Token key-secret"]


async def test_a_document_that_says_nothing_gets_all_that_do_not_get_in_each_others_way(system: System) -> None:
    auth = several(Key=KEY, Bearer=BEARER, Basic=BASIC)
    async with compiled(asking(None), system.url, auth) as connector:
        await connector.send(connector.prepare("crm_act", {}))
    assert sent_with(system.seen[0].headers) == {"Key", "Bearer"}


async def test_what_a_credential_fills_is_not_asked_of_the_model(system: System) -> None:
    made = asking({"Asked": [], "Key": []})
    made["paths"]["/x"]["get"]["parameters"] = [query("key", required=True), query("q")]
    auth = several(Asked=ApiKeyAuth(value="asked-secret"), Key=KEY)
    async with compiled(made, system.url, auth) as connector:
        assert set(properties(connector.tools["crm_act"])) == {"q"}
        await connector.send(connector.prepare("crm_act", {"q": "a"}))
    assert system.seen[0].query == "q=a&key=asked-secret"


MISFITS: list[tuple[Auth, str]] = [
    (several(Nothing=KEY), "`Nothing`"),
    (several(), "no credential"),
    (several(Key=BEARER), "does not fit"),
    (several(Basic=ApiKeyAuth(value="key-secret")), "does not fit"),
    (several(Digest=BASIC), "does not fit"),
    (several(Basic=ClientCredentialsAuth(client_id="a", client_secret="key-secret")), "does not fit"),
    (several(Key=ApiKeyAuth(value="key-secret", name="no token")), "no name of a header"),
    (ApiKeyAuth(value="key-secret", name="Token Authorization"), "no name of a header"),
]


@pytest.mark.parametrize(("auth", "word"), MISFITS)
def test_a_registration_that_does_not_fit_its_document_is_refused(auth: Auth, word: str) -> None:
    with pytest.raises(DocumentError, match=word) as caught:
        compiled(asking(None), auth=auth)
    assert caught.value.mend
    assert "secret" not in str(caught.value)


def test_a_scheme_whose_header_cannot_be_sent_is_refused_with_the_way_out() -> None:
    schemes: Json = {"Token": {"type": "apiKey", "in": "header", "name": "Token Authorization"}}
    source = asking(None, schemes=schemes)
    with pytest.raises(DocumentError, match="Token Authorization") as caught:
        compiled(source, auth=ApiKeyAuth(value="key-secret"))
    assert "`name` and `location`" in (caught.value.mend or "")
    compiled(source, auth=ApiKeyAuth(value="Token key-secret", name="Authorization", location="header"))


async def test_nothing_shows_any_of_several_secrets(system: System) -> None:
    auth = several(Key=KEY, Basic=BASIC, Bearer=BEARER)
    source = load_document(asking({"Key": [], "Basic": []}))
    keyring = credentials_for(auth, source, system.url, Sender())
    spec = ConnectorSpec(name="crm", base_url=system.url, auth=auth, private_network=True)
    async with CompiledConnector.compile(spec, source) as connector:
        content = connector.observe(await connector.send(connector.prepare("crm_act", {}))).content
        shown = [content, repr(keyring), repr(vars(connector)), str(spec), connector.redact("bearer-secret key-secret")]
    assert "x-key" in content
    assert not any(secret in text for text in shown for secret in ("key-secret", "basic-secret", "bearer-secret"))
