"""Whatever goes wrong on the way to the gateway is a typed error that says what to do, and shows no key."""

import os
import ssl
import traceback
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from opentelemetry.sdk.trace import TracerProvider

from practicum.client import AsyncPracticum, Practicum
from practicum.client.address import Address, address_of
from practicum.client.faults import KINDS
from practicum.errors import (
    ConfigurationError,
    ConflictError,
    ForbiddenError,
    GatewayUnavailableError,
    InDoubtError,
    PracticumError,
    UnauthenticatedError,
)
from tests.sdk.client.conftest import KEY
from tests.sdk.stand_in import Answer, StandIn, problem, serving


def test_every_exception_of_httpx_is_mapped() -> None:
    exported = {getattr(httpx, name) for name in httpx.__all__}
    exceptions = {each for each in exported if isinstance(each, type) and issubclass(each, Exception)}
    assert exceptions == set(KINDS)


def test_nobody_listens() -> None:
    with serving() as gone:
        url = gone.url
    with Practicum(url, KEY) as client, pytest.raises(GatewayUnavailableError) as caught:
        client.tools.call("erp_refund")
    assert url in caught.value.detail
    assert "practicum up" in (caught.value.mend or "")


async def test_nobody_listens_async() -> None:
    with serving() as gone:
        url = gone.url
    async with AsyncPracticum(url, KEY) as client:
        with pytest.raises(GatewayUnavailableError):
            await client.connectors.list()


def test_a_slow_answer(gateway: StandIn) -> None:
    gateway.on("GET", "/v1/connectors", Answer(delay=30))
    with (
        Practicum(gateway.url, KEY, timeout=0.2) as client,
        pytest.raises(GatewayUnavailableError, match="did not answer in time"),
    ):
        client.connectors.list()


@pytest.mark.parametrize("answer", [Answer(cut=True), Answer(502), Answer(504, b"<html>")])
def test_a_lost_answer_to_an_unsafe_call_is_in_doubt(gateway: StandIn, client: Practicum, answer: Answer) -> None:
    gateway.on("POST", "/v1/tools/erp_refund/call", answer)
    gateway.on("GET", "/v1/connectors", answer)
    with pytest.raises(InDoubtError) as caught:
        client.tools.call("erp_refund", {"order": 1042})
    assert gateway.seen[0].json["idempotency_key"] in (caught.value.mend or "")
    assert len(gateway.seen) == 1, "the client repeats nothing"
    with pytest.raises(GatewayUnavailableError):
        client.connectors.list()


def test_a_problem_becomes_its_error(gateway: StandIn, client: Practicum) -> None:
    gateway.on(
        "GET",
        "/v1/connectors",
        problem(409, "conflict", "The name is in use.", mend="Take another.", trace="t1", newer_field=1),
        problem(418, "teapot", "Short and stout."),
        problem(401, "unauthenticated", "No valid key."),
    )
    with pytest.raises(ConflictError) as caught:
        client.connectors.list()
    error = caught.value
    assert (error.detail, error.mend, error.trace) == ("The name is in use.", "Take another.", "t1")
    with pytest.raises(PracticumError, match="stout"):
        client.connectors.list()
    with pytest.raises(UnauthenticatedError):
        client.connectors.list()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(404, b"<html>no</html>", "text/html"), ConfigurationError),
        (Answer(404, b'{"detail":"Not Found"}'), ConfigurationError),
        (Answer(401, b""), UnauthenticatedError),
        (Answer(403, b"[]"), ForbiddenError),
        (Answer(503, b""), GatewayUnavailableError),
        (Answer(302, headers=(("Location", "https://login.example"),)), ConfigurationError),
        (Answer(200, b"<html>a portal</html>", "text/html"), ConfigurationError),
        (Answer(200, b'[{"name": "crm"}]'), ConfigurationError),
        (Answer(200, b"not gzip", headers=(("Content-Encoding", "gzip"),)), GatewayUnavailableError),
    ],
)
def test_an_answer_that_no_gateway_wrote(
    gateway: StandIn, client: Practicum, answer: Answer, expected: type[PracticumError]
) -> None:
    gateway.on("GET", "/v1/connectors", answer)
    with pytest.raises(PracticumError) as caught:
        client.connectors.list()
    assert type(caught.value) is expected
    assert gateway.url in str(caught.value)


def test_an_unreadable_answer_is_not_quoted(gateway: StandIn, client: Practicum) -> None:
    gateway.on("GET", "/v1/keys", Answer(200, b'[{"id": 1, "prefix": "prk_leaked"}]'))
    with pytest.raises(ConfigurationError) as caught:
        client.keys.list()
    assert "prk_leaked" not in "".join(traceback.format_exception(caught.value))


def test_url_and_key_come_from_arguments_or_the_environment() -> None:
    with pytest.raises(ConfigurationError, match="URL is missing"):
        Practicum(api_key=KEY)
    with pytest.raises(ConfigurationError, match="key to the gateway is missing"):
        Practicum("http://127.0.0.1:1")
    os.environ["PRACTICUM_URL"] = "https://gateway.example/base/"
    os.environ["PRACTICUM_API_KEY"] = KEY
    assert address_of() == Address("https://gateway.example/base", KEY)
    assert address_of("http://other:1").url == "http://other:1"


@pytest.mark.parametrize(
    "url", ["gateway:8700", "ftp://gateway", "http://", "http://host:x", "http://h/?a=1", "http://h:0"]
)
def test_a_url_that_cannot_be_used(url: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be used"):
        Practicum(url, KEY)


def test_secrets_are_not_shown(gateway: StandIn) -> None:
    password = "hunter" + "2"
    with pytest.raises(ConfigurationError) as caught:
        Practicum(f"http://ada:{password}@gateway", KEY)
    assert password not in "".join(traceback.format_exception(caught.value))
    for broken in (f"{KEY}\n", f"{KEY}é", f"Bearer {KEY}"):
        with pytest.raises(ConfigurationError) as caught:
            Practicum(gateway.url, broken)
        assert KEY not in "".join(traceback.format_exception(caught.value))
    with Practicum(gateway.url, KEY) as client:
        assert KEY not in repr(client)
        assert KEY not in repr(address_of(gateway.url, KEY))


@pytest.fixture
def self_signed(tmp_path: Path) -> Path:
    """A certificate for loopback, with its key, that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = tmp_path / "server.pem"
    path.write_bytes(certificate.public_bytes(pem) + private)
    return path


def test_a_certificate_that_nobody_vouches_for_is_not_taken(self_signed: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed)
    with serving(context) as encrypted:
        assert encrypted.url.startswith("https://")
        with Practicum(encrypted.url, KEY) as client, pytest.raises(GatewayUnavailableError, match="certificate"):
            client.connectors.list()
        assert encrypted.seen == []


def test_a_proxy_of_the_machine_is_not_asked_for_loopback(gateway: StandIn) -> None:
    os.environ["HTTP_PROXY"] = "http://127.0.0.1:9"
    gateway.on("GET", "/v1/connectors", [])
    with Practicum(gateway.url, KEY) as client:
        assert client.connectors.list() == []


def test_the_active_span_travels(gateway: StandIn, client: Practicum) -> None:
    gateway.on("GET", "/v1/connectors", [])
    tracer = TracerProvider().get_tracer("test")
    with tracer.start_as_current_span("app") as span:
        client.connectors.list()
    client.connectors.list()
    context = span.get_span_context()
    assert (
        gateway.seen[0].headers["traceparent"]
        == f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    )
    assert "traceparent" not in gateway.seen[1].headers
