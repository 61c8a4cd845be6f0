"""What a declaration says, and how it is told what is wrong with it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from practicum.cli.declared import declared_in
from practicum.contracts.connectors import ApiKeyAuth, SchemesAuth
from practicum.errors import ConfigurationError
from tests.sdk.stand_in import scrubbed_environment

DOCUMENT = '{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {}}'
GOOD = """
practicum: 1
tenants:
  main:
    connectors:
      crm:
        document: crm.json
        auth: {kind: schemes, schemes: {key: {kind: api_key, value: "env:CRM_KEY"}}}
        practice: {base_url: https://copies.example, auth: {kind: bearer, token: "file:token"}}
      erp:
        document: https://erp.example/openapi.json
        overlay: overlay.yaml
        auth: {kind: basic, username: app, password: "vault:erp/api#password"}
    rules: rules.yaml
    budgets: [{id: rate, calls: 60, seconds: 60}]
    models:
      mini: {target: openai/gpt-5-mini, api_key: "env:CRM_KEY"}
  sales:
    key: env:SALES_KEY
"""
BAD = """
practicum: 1
tenants:
  main:
    connectors:
      crm:
        document: crm.json
        base_ulr: https://crm.example
        auth: {kind: api_key, value: canary-91f7}
        limits:
          per_second: -5
      erp:
        auth: {kind: bearer, token: "env:NOWHERE"}
        name: erp
    rules:
      - {id: one, outcome: allow}
      - {id: one, outcome: perhaps}
    issuers:
      okta: {issuer: http://okta.example, audience: practicum, roles: {a: admin}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    files = {
        "crm.json": DOCUMENT,
        "overlay.yaml": "overlay: 1.0.0\ninfo: {title: O, version: '1'}\nactions: []\n",
        "rules.yaml": "- {id: all, outcome: deny}\n",
        "token": "file-secret\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with scrubbed_environment():
        os.environ["CRM_KEY"] = "env-secret"
        yield tmp_path


def read(folder: Path, text: str) -> Path:
    path = folder / "practicum.yaml"
    path.write_text(text)
    return path


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as failed:
        declared_in(str(read(folder, text)))
    assert "canary" not in str(failed.value)
    return [f"{each.where.partition('practicum.yaml:')[2]} {each.what}" for each in failed.value.errors] or [
        failed.value.detail
    ]


def test_a_declaration_stands_for_registrations_with_all_that_it_names_read_from_its_folder(folder: Path) -> None:
    _, (main, sales) = declared_in(str(read(folder, GOOD)))
    assert main.connectors is not None
    crm, erp = main.connectors
    assert crm.document is not None
    assert isinstance(crm.auth, SchemesAuth)
    assert crm.auth.schemes == {"key": ApiKeyAuth(value="env-secret")}
    assert crm.practice is not None
    assert crm.practice.auth.model_dump()["token"] == "file-secret"
    assert (erp.source, erp.document) == ("https://erp.example/openapi.json", None)
    assert isinstance(erp.overlay, dict)
    assert erp.auth.model_dump() == {
        "kind": "basic",
        "username": "app",
        "password": "secret://vault/erp/api#password",
    }, "the gateway reads it itself"
    assert [rule.id for rule in main.rules or ()] == ["all"]
    assert [budget.id for budget in main.budgets or ()] == ["rate"]
    assert main.models is not None
    assert main.models[0].api_key == "env-secret"
    assert main.issuers is None, "what is not spoken of is left alone"
    assert (sales.key, sales.connectors, sales.rules) == ("env:SALES_KEY", None, None)
    assert "secret" not in repr(main)


def test_every_fault_is_told_at_once_with_its_line_and_without_what_was_written(folder: Path) -> None:
    found = faults(folder, BAD)
    at = "tenants.main"
    assert [fault.partition(" ")[2].partition(" ")[0] if fault else "" for fault in found]
    assert f"8 {at}.connectors.crm.base_ulr there is no such key; is `base_url` meant?" in found
    assert any(fault.startswith(f"9 {at}.connectors.crm.auth.value a credential never stands") for fault in found)
    assert any(fault.startswith(f"11 {at}.connectors.crm.limits.per_second ") for fault in found)
    assert any(fault.startswith(f"12 {at}.connectors.erp it has no `document`") for fault in found)
    assert any(
        fault.startswith(f"13 {at}.connectors.erp.auth.token There is no secret in env:NOWHERE") for fault in found
    )
    assert f"14 {at}.connectors.erp.name no such key here." in found
    assert any(fault.startswith(f"17 {at}.rules.1.outcome ") for fault in found)
    assert any(fault.startswith(f"19 {at}.issuers.okta") and "https://" in fault for fault in found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("practicum: 1\ntenants:\n  main: {}\n  main: {}\n", "practicum.yaml:4 gives the key `main` a second time."),
        ("practicum: 2\ntenants: {}\n", "1 practicum this version of practicum reads declarations of the form 1."),
        ("tenants: [\n", "is no YAML"),
        ("- just\n- a list\n", "1 it has to be a map of keys and values."),
        ("", "1 it has to be a map of keys and values."),
        ("practicum: 1\ntenants: {main: 3}\n", "2 tenants.main it has to be a map of keys and values."),
        (
            "practicum: 1\ntenants: {main: {rulez: []}}\n",
            "2 tenants.main.rulez there is no such key; is `rules` meant?",
        ),
        ("practicum: 1\ntenants: {main: {rules: none.json}}\n", "2 tenants.main.rules "),
        (
            "practicum: 1\ntenants: {main: {models: {m: {target: x, api_key: 'vault:../canary'}}}}\n",
            "2 tenants.main.models.m.api_key a reference is secret://vault/PATH#FIELD",
        ),
        ("practicum: 1\ntenants: {main: {key: prk_canary}}\n", "2 tenants.main.key a key is named by its place"),
    ],
)
def test_what_is_no_declaration_is_refused(folder: Path, text: str, said: str) -> None:
    assert any(said in fault for fault in faults(folder, text))
