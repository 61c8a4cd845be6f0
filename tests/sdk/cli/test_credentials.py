"""Credentials on the command line: where a secret stands, never the secret."""

import os
from pathlib import Path

import pytest

from tests.sdk.cli.conftest import Types
from tests.sdk.stand_in import StandIn

ADD = ("connectors", "add", "crm", "http://crm/o.json")


@pytest.fixture(autouse=True)
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.environ |= {"ID": "me", "SECRET": "hush", "TOKEN": "fresh"}
    for name in ("cert.pem", "key.pem", "odd:env:name=1", "a:b"):
        Path(name).write_text(f"in {name}\n")


@pytest.mark.parametrize(
    ("form", "sent"),
    [
        ("authorization_code:env:ID:env:TOKEN", {"client_id": "me", "client_secret": None, "refresh_token": "fresh"}),
        (
            "authorization_code:env:ID:env:SECRET:env:TOKEN",
            {"client_id": "me", "client_secret": "hush", "refresh_token": "fresh"},
        ),
        (
            "authorization_code:env:ID:file:a:b:env:TOKEN",
            {"client_id": "me", "client_secret": "in a:b", "refresh_token": "fresh"},
        ),
        (
            "client_certificate:file:cert.pem:file:key.pem",
            {"certificate": "in cert.pem", "private_key": "in key.pem"},
        ),
        ("bearer:file:odd:env:name=1", {"token": "in odd:env:name=1"}),
        ("basic:file:a:b:env:SECRET", {"username": "in a:b", "password": "hush"}),
        ("api_key:file:a:b:query:key", {"value": "in a:b", "location": "query", "name": "key"}),
    ],
)
def test_forms(gateway: StandIn, practicum: Types, form: str, sent: dict[str, object]) -> None:
    practicum(*ADD, "--auth", form)
    auth = gateway.seen[0].json["auth"]
    assert auth["kind"] == form.partition(":")[0]
    assert {field: auth[field] for field in sent} == sent


def test_one_for_each_scheme(gateway: StandIn, practicum: Types) -> None:
    given = ("--auth", "app=api_key:env:ID", "--auth", "user id=bearer:file:odd:env:name=1")
    practicum(*ADD, *given, "--practice", "http://copies", "--practice-auth", "app=bearer:env:TOKEN")
    sent = gateway.seen[0].json
    assert sent["auth"]["kind"] == "schemes"
    assert sent["auth"]["schemes"]["app"]["value"] == "me"
    assert sent["auth"]["schemes"]["user id"] == {"kind": "bearer", "token": "in odd:env:name=1"}
    assert sent["practice"]["auth"] == {"kind": "schemes", "schemes": {"app": {"kind": "bearer", "token": "fresh"}}}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("bearer:env:TOKEN", "app=bearer:env:TOKEN"), "each names its security scheme"),
        (("bearer:env:TOKEN", "bearer:env:ID"), "each names its security scheme"),
        (("none", "app=bearer:env:TOKEN"), "each names its security scheme"),
        (("app=bearer:env:TOKEN", "app=bearer:env:ID"), "given two credentials"),
        (("app=none",), "without a credential is left out"),
        (("bearer=sk-plain==",), "no credential"),
        (("sk-plain==",), "no credential"),
        (("beare:env:TOKEN",), "`bearer:env:TOKEN`"),
        (("client_certificate:file:cert.pem",), "`client_certificate:file:cert.pem:file:key.pem`"),
        (("app=basic:sk-plain:env:SECRET",), "no credential"),
    ],
)
def test_what_is_no_credential_is_told_and_not_repeated(
    gateway: StandIn, practicum: Types, given: tuple[str, ...], told: str
) -> None:
    shown = practicum(*ADD, *(part for form in given for part in ("--auth", form)))
    said = " ".join(shown.err.replace("│", " ").split())
    assert shown.status == 2
    assert told in said
    assert "sk-plain" not in said
    assert gateway.seen == []
