"""Mutual TLS over real connections: who is shown a certificate, and what is no certificate."""

from pathlib import Path

import pytest

from practicum.contracts.connectors import ApiKeyAuth, ClientCertificateAuth, SchemesAuth
from practicum.errors import DocumentError
from practicum_connectors import CompiledConnector, Delivery, HttpRequest
from practicum_connectors.sender import Sender, new_tls
from tests.connectors.auth.authority import Authority, Pair, tls_server
from tests.connectors.documents import Json, compiled, document, operation

SCHEMES: Json = {"Mutual": {"type": "mutualTLS"}, "Key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
DOCUMENT: Json = document(
    {
        "/shown": {"post": operation(operationId="shown", security=[{"Mutual": []}])},
        "/both": {"post": operation(operationId="both", security=[{"Mutual": [], "Key": []}])},
        "/open": {"post": operation(operationId="open", security=[])},
    },
    components={"securitySchemes": SCHEMES},
)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(autouse=True)
def _trusted(authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trusted.pem").write_text(authority.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "trusted.pem"))


def auth_of(pair: Pair) -> ClientCertificateAuth:
    return ClientCertificateAuth(certificate=pair.certificate, private_key=pair.key)


async def call(connector: CompiledConnector, tool: str) -> Delivery:
    return (await connector.send(connector.prepare(tool, {}))).delivery


async def test_the_certificate_is_shown(authority: Authority, tmp_path: Path) -> None:
    async with tls_server(authority, tmp_path, required=True) as server:
        async with compiled(DOCUMENT, server.url, auth_of(authority.issue("practicum"))) as connector:
            assert [await call(connector, "crm_shown") for _ in range(2)] == [Delivery.ANSWERED] * 2
        assert server.shown == ["practicum", "practicum"]
        async with compiled(DOCUMENT, server.url, auth_of(Authority().issue("stranger"))) as connector:
            assert await call(connector, "crm_shown") is not Delivery.ANSWERED
    assert len(server.shown) == 2


async def test_it_goes_together_with_a_key_and_only_where_it_is_asked_for(authority: Authority, tmp_path: Path) -> None:
    pair = auth_of(authority.issue("practicum"))
    auth = SchemesAuth(schemes={"Mutual": pair, "Key": ApiKeyAuth(value="key-secret")})
    async with tls_server(authority, tmp_path, required=False) as server:
        async with compiled(DOCUMENT, server.url, auth) as connector:
            assert await call(connector, "crm_both") is Delivery.ANSWERED
        tls = new_tls()
        sender = Sender(private_network=True)
        await sender.send(HttpRequest("GET", f"{server.url}/x"), tls=tls)
        await sender.aclose()
    assert server.shown == ["practicum", None]


async def test_connections_with_a_certificate_are_not_used_without_it(authority: Authority, tmp_path: Path) -> None:
    tls = new_tls()
    pair = authority.issue("practicum")
    (tmp_path / "own.pem").write_text(pair.key + pair.certificate)
    tls.load_cert_chain(tmp_path / "own.pem")
    sender, plain = Sender(private_network=True), new_tls()
    async with tls_server(authority, tmp_path, required=False) as server:
        for context in (tls, plain, tls):
            await sender.send(HttpRequest("GET", f"{server.url}/x"), tls=context)
        await sender.aclose()
    assert server.shown == ["practicum", None, "practicum"]


def unusable(authority: Authority) -> dict[str, ClientCertificateAuth]:
    one, two = authority.issue("one"), authority.issue("two")
    hidden = authority.issue("hidden", b"passphrase")
    return {
        "another key": ClientCertificateAuth(certificate=one.certificate, private_key=two.key),
        "a passphrase": auth_of(hidden),
        "no key": ClientCertificateAuth(certificate=one.certificate, private_key="key-secret"),
        "no certificate": ClientCertificateAuth(certificate="nothing", private_key=one.key),
    }


@pytest.mark.parametrize("kind", ["another key", "a passphrase", "no key", "no certificate"])
def test_what_is_no_usable_certificate_is_refused_at_registration(authority: Authority, kind: str) -> None:
    auth = unusable(authority)[kind]
    with pytest.raises(DocumentError, match="cannot be used") as caught:
        compiled(DOCUMENT, "https://127.0.0.1:1", auth)
    assert "PEM" in (caught.value.mend or "")
    assert auth.private_key not in str(caught.value)


def test_a_certificate_needs_tls(authority: Authority) -> None:
    with pytest.raises(DocumentError, match="over TLS only"):
        compiled(DOCUMENT, "http://127.0.0.1:1", auth_of(authority.issue("practicum")))


def test_nothing_shows_the_key(authority: Authority) -> None:
    auth = auth_of(authority.issue("practicum"))
    connector = compiled(DOCUMENT, "https://127.0.0.1:1", auth)
    inside = auth.private_key.splitlines()[1]
    assert inside not in repr(auth) + str(auth) + repr(vars(connector))
    assert inside not in connector.redact(f"a {auth.private_key} b")
