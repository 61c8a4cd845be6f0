"""`practicum rules`, `access`, `keys`, `secrets` and `tenants`."""

import os
from pathlib import Path

from practicum.contracts.access import (
    Budget,
    Considered,
    Decision,
    Explanation,
    FieldChange,
    IssuedKey,
    KeyInfo,
    Outcome,
    Preview,
    Role,
    Rule,
    RuleSet,
    SealReport,
)
from practicum.contracts.issuers import Issuer
from practicum.contracts.tenants import NewTenant, Tenant
from practicum.contracts.tools import Effect
from tests.sdk.cli.conftest import Types
from tests.sdk.stand_in import Answer, StandIn

KEY_INFO = KeyInfo(id="k1", prefix="prk_ab", principal="ada", role=Role.DEVELOPER)


def test_rules(gateway: StandIn, practicum: Types, tmp_path: Path) -> None:
    rules = RuleSet(rules=(Rule(id="notes", tools=("crm.add_note",), outcome=Outcome.ALLOW),))
    gateway.on("GET", "/v1/rules", rules)
    gateway.on("PUT", "/v1/rules", rules)
    assert "crm.add_note" in practicum("rules", "show").out
    path = tmp_path / "rules.json"
    for text in (rules.model_dump_json(), '[{"id": "notes", "tools": ["crm.add_note"], "outcome": "allow"}]'):
        path.write_text(text)
        assert practicum("rules", "set", str(path)).out == "1 rules are in force.\n"
        assert RuleSet.model_validate(gateway.seen[-1].json) == rules
    path.write_text('[{"id": "notes", "outcome": "perhaps"}]')
    shown = practicum("rules", "set", str(path))
    assert shown.status == 5
    assert "rules.0.outcome" in shown.err
    gateway.on("GET", "/v1/rules", RuleSet())
    assert "No rules are set" in practicum("rules", "show").out
    spent = (Budget(id="day", money=1000, amount="/amount", seconds=86400), Budget(id="turns", tokens=5000))
    gateway.on("GET", "/v1/rules", RuleSet(budgets=spent))
    gateway.on("PUT", "/v1/rules", RuleSet(budgets=spent))
    shown = practicum("rules", "show").out
    assert all(word in shown for word in ("1000 at /amount", "86400 s", "5000 tokens", "all time"))
    path.write_text(RuleSet(budgets=spent).model_dump_json(exclude_unset=True))
    assert practicum("rules", "set", str(path)).out == "0 rules and 2 budgets are in force.\n"


def test_what_the_rules_would_say(gateway: StandIn, practicum: Types) -> None:
    decision = Decision(outcome=Outcome.ASK, rule="built-in.ask", reason="Rule 'built-in.ask' asks a person about it.")
    considered = (
        Considered(rule="small", matched=False, reason="The arguments do not fit its schema."),
        Considered(rule="built-in.ask", matched=True, reason=decision.reason),
    )
    found = Explanation(
        tool="erp_create_refund",
        address="erp.create_refund",
        effect=Effect.MONEY,
        principal="refund-bot",
        role=Role.AGENT,
        decision=decision,
        considered=considered,
    )
    gateway.on("POST", "/v1/rules/explain", found)
    shown = practicum("access", "explain", "--as", "refund-bot", "erp_create_refund", '{"amount": 250}')
    assert shown.out.startswith("ask: Rule 'built-in.ask'")
    assert "The arguments do not fit" in shown.out
    assert gateway.seen[-1].json == {
        "tool": "erp_create_refund",
        "arguments": {"amount": 250},
        "principal": "refund-bot",
        "role": "agent",
    }
    assert practicum("access", "explain", "erp_create_refund", "--json").json["decision"]["outcome"] == "ask"


def test_keys(gateway: StandIn, practicum: Types) -> None:
    gateway.on("POST", "/v1/keys", Answer(201, IssuedKey(key="prk_new", info=KEY_INFO).model_dump_json().encode()))
    gateway.on("GET", "/v1/keys", [KEY_INFO])
    gateway.on("DELETE", "/v1/keys/k1", Answer(204))
    shown = practicum("keys", "create", "ada", "--role", "developer", "--expires-in", "60")
    assert shown.out == "prk_new\n"
    assert gateway.seen[-1].json == {"principal": "ada", "role": "developer", "expires_in_seconds": 60}
    assert practicum("keys", "create", "ada", "--role", "developer", "--json").json["key"] == "prk_new"
    assert "prk_ab" in practicum("keys", "list").out
    assert practicum("keys", "revoke", "k1").out == "Revoked k1.\n"
    assert practicum("keys", "create", "ada", "--role", "king").status == 2
    gateway.on(
        "POST", "/v1/keys/k1/rotate", Answer(201, IssuedKey(key="prk_2", info=KEY_INFO).model_dump_json().encode())
    )
    assert practicum("keys", "rotate", "k1").out == "prk_2\n"
    assert gateway.seen[-1].json == {"grace_seconds": 3600}
    assert practicum("keys", "rotate", "k1", "--grace", "0", "--json").json["key"] == "prk_2"
    assert gateway.seen[-1].json == {"grace_seconds": 0}


def test_issuers(gateway: StandIn, practicum: Types) -> None:
    okta = Issuer(
        name="okta",
        issuer="https://x.okta.com",
        audience="practicum",
        roles={"admins": Role.ADMIN},
        required={"hd": "example.com", "email_verified": True, "tid": None},
    )
    gateway.on("PUT", "/v1/issuers/okta", okta)
    gateway.on("GET", "/v1/issuers", [okta])
    gateway.on("GET", "/v1/issuers/okta", okta)
    gateway.on("DELETE", "/v1/issuers/okta", Answer(204))
    least = ("issuers", "add", "okta", "https://x.okta.com", "--audience", "practicum", "--role", "admins=admin")
    required = ("--require", "hd=example.com", "--require", "email_verified=true", "--require", "tid=*")
    assert "okta:..." in practicum(*least, *required).out
    assert Issuer.model_validate(gateway.seen[-1].json) == okta
    more = ("--jwks-url", "https://x.okta.com/keys", "--algorithm", "ES512", "--leeway", "5", "--longest", "600")
    claims = ("--roles-claim", "groups", "--principal-claim", "email", "--private-network")
    assert practicum(*least, *more, *claims, "--json").json["name"] == "okta"
    assert gateway.seen[-1].json == {
        "name": "okta",
        "issuer": "https://x.okta.com",
        "audience": "practicum",
        "jwks_url": "https://x.okta.com/keys",
        "algorithms": ["ES512"],
        "principal_claim": "email",
        "roles_claim": "groups",
        "roles": {"admins": "admin"},
        "required": {},
        "leeway_seconds": 5,
        "longest_seconds": 600,
        "private_network": True,
    }
    assert "admins=admin" in practicum("issuers", "list").out
    assert "hd=example.com email_verified=True tid=*" in practicum("issuers", "show", "okta").out
    assert "practicum-tenant" not in gateway.seen[-1].headers
    os.environ["PRACTICUM_TENANT"] = "sales"
    assert practicum("issuers", "remove", "okta").out == "Removed okta.\n"
    assert gateway.seen[-1].headers["practicum-tenant"] == "sales"
    gateway.on("GET", "/v1/issuers", [])
    assert practicum("issuers", "list").out == "No tokens are taken, only keys.\n"
    for wrong in (("http://x.okta.com", "admins=admin"), ("https://x", "admins=worker"), ("https://x", "admins")):
        refused = practicum("issuers", "add", "okta", wrong[0], "--audience", "practicum", "--role", wrong[1])
        assert refused.status != 0


def test_tenants(gateway: StandIn, practicum: Types) -> None:
    issued = IssuedKey(key="prk_sales.new", info=KEY_INFO)
    made = NewTenant(tenant=Tenant(name="sales"), key=issued)
    gateway.on("POST", "/v1/tenants", Answer(201, made.model_dump_json().encode()))
    gateway.on("POST", "/v1/tenants/sales/keys", Answer(201, issued.model_dump_json().encode()))
    gateway.on("GET", "/v1/tenants", [Tenant(name="main"), Tenant(name="sales")])
    gateway.on("DELETE", "/v1/tenants/sales", Answer(204))
    shown = practicum("tenants", "create", "sales", "--admin", "ada@example.com")
    assert (shown.out, "prk_sales.new" in shown.err) == ("prk_sales.new\n", False)
    assert gateway.seen[-1].json == {"name": "sales", "admin": "ada@example.com"}
    assert practicum("tenants", "key", "sales").out == "prk_sales.new\n"
    assert "sales" in practicum("tenants", "list").out
    refused = practicum("tenants", "remove", "sales")
    assert (refused.status, "--yes" in refused.err) == (2, True)
    assert practicum("tenants", "remove", "sales", "--yes").out == "Removed sales.\n"


def test_secrets(gateway: StandIn, practicum: Types) -> None:
    gateway.on("POST", "/v1/secrets/rotate", SealReport(key_id="12ab34cd", credentials=3))
    assert practicum("secrets", "rotate").out == "3 credentials are sealed under the key 12ab34cd.\n"
    assert practicum("secrets", "rotate", "--json").json == {"key_id": "12ab34cd", "credentials": 3}


def test_what_a_call_would_change(gateway: StandIn, practicum: Types) -> None:
    change = FieldChange(where="level", before="gold", after="silver")
    found = Preview(read_with="crm_get_customer", record='{"level":"gold"}', changes=(change,))
    gateway.on("GET", "/v1/approvals/ap1/preview", found)
    shown = practicum("approvals", "preview", "ap1").out
    assert all(word in shown for word in ("crm_get_customer says now", "level", "gold", "silver"))
    gateway.on("GET", "/v1/approvals/ap1/preview", Preview(note="The system has no operation that reads it."))
    assert practicum("approvals", "preview", "ap1").out == "The system has no operation that reads it.\n"
