"""Tokens of a company's own identity provider at the door: who comes in, with which role, into which tenant."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from practicum.contracts.tenants import MAIN, TENANT_HEADER
from practicum_gateway.app import app_of, build, running
from practicum_gateway.settings import Settings
from tests.gateway.conftest import served, spec_of
from tests.gateway.identity_provider import (
    INVALID,
    IdentityProvider,
    bearer,
    create_provider,
    new_key,
    short_hash,
    shown,
    trust,
)
from tests.gateway.shop import Shop


@pytest.mark.parametrize(
    ("roles", "may"),
    [
        (["developers"], (200, 403, 403)),
        (["auditors"], (200, 200, 403)),
        (["approvers", "unheard-of"], (200, 403, 403)),
        (["developers", "admins"], (200, 200, 201)),
        ("admins", (200, 200, 201)),
    ],
)
async def test_a_token_is_worth_what_its_roles_are_mapped_to(
    gateway: httpx.AsyncClient, okta: IdentityProvider, roles: Any, may: tuple[int, ...]
) -> None:
    headers = bearer(okta.token(roles=roles))
    new = {"principal": "ann", "role": "agent"}
    answers = (
        await gateway.get("/v1/rules", headers=headers),
        await gateway.get("/v1/keys", headers=headers),
        await gateway.post("/v1/keys", json=new, headers=headers),
    )
    assert tuple(answer.status_code for answer in answers) == may


@pytest.mark.parametrize("roles", [None, [], ["unheard-of"], "developers admins", {"developers": True}, [["admins"]]])
async def test_a_token_without_a_mapped_role_is_worth_nothing_and_told_so(
    gateway: httpx.AsyncClient, okta: IdentityProvider, roles: Any
) -> None:
    answer = await gateway.get("/v1/tools", headers=bearer(okta.token(roles=roles)))
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert "nothing in its claim 'roles'" in answer.json()["detail"]
    assert "--role GROUP=ROLE" in answer.json()["mend"]


async def test_claims_may_lie_deep_and_scopes_are_split(gateway: httpx.AsyncClient, okta: IdentityProvider) -> None:
    await trust(gateway, okta.spec(roles_claim="/realm_access/roles", principal_claim="/who/id"))
    deep = okta.token(realm_access={"roles": ["developers"]}, who={"id": 7}, roles=None)
    assert (await shown(gateway, deep))[0] == 200
    await trust(gateway, okta.spec(roles_claim="scope"))
    assert (await shown(gateway, okta.token(scope="openid developers")))[0] == 200
    assert (await shown(gateway, okta.token(scope="openid")))[0] == 403


async def test_what_is_required_must_be_there(gateway: httpx.AsyncClient, okta: IdentityProvider) -> None:
    required = {"hd": "example.com", "email_verified": True, "level": 1, "tid": None, "amr": "mfa"}
    await trust(gateway, okta.spec(required=required))
    right: dict[str, Any] = {
        "hd": "example.com",
        "email_verified": True,
        "level": 1,
        "tid": "any",
        "amr": ["pwd", "mfa"],
    }
    assert (await shown(gateway, okta.token(**right)))[0] == 200
    wrongs: tuple[dict[str, Any], ...] = (
        {"hd": "evil.com"},
        {"email_verified": 1},
        {"level": True},
        {"tid": None},
        {"amr": ["pwd"]},
    )
    for wrong in wrongs:
        status, detail = await shown(gateway, okta.token(**(right | wrong)))
        assert (status, next(iter(wrong)) in detail) == (403, True), wrong


async def test_an_address_that_nobody_verified_names_nobody(gateway: httpx.AsyncClient, okta: IdentityProvider) -> None:
    await trust(gateway, okta.spec(principal_claim="email"))
    assert (await shown(gateway, okta.token(email="ada@example.com")))[0] == 200
    assert (await shown(gateway, okta.token(email="ada@example.com", email_verified=False)))[0] == 403


async def test_names_begin_with_the_issuers_and_are_nobody_elses(
    gateway: httpx.AsyncClient, okta: IdentityProvider, provider: IdentityProvider
) -> None:
    other = IdentityProvider()
    async with served(create_provider(other)) as url:
        other.url = url
        await trust(gateway, other.spec("entra"))
        names: set[str] = set()
        for by, subject in ((okta, "bob"), (other, "bob"), (okta, "entra:bob"), (okta, "bob%20"), (okta, "bob ")):
            token = by.token(sub=subject, roles="admins")
            new = await gateway.post("/v1/keys", json={"principal": "x", "role": "agent"}, headers=bearer(token))
            deed = (await gateway.get("/v1/audit", params={"subject": new.json()["info"]["id"]})).json()[0]
            assert deed["key"] == f"jwt:{deed['actor'].partition(':')[0]}:sha256-{short_hash(token)}"
            names.add(deed["actor"])
    assert names == {"okta:bob", "entra:bob", "okta:entra:bob", "okta:bob%2520", "okta:bob%20"}
    for odd in ("", "a\nb", "\ud800", "x" * 120, True, ["bob"], None):
        token = okta.token(sub="bob", who=odd)
        await trust(gateway, provider.spec(principal_claim="who"))
        assert (await shown(gateway, token))[0] == 403, odd


async def test_an_approval_asked_for_bob_of_one_issuer_is_not_answered_by_him_nor_mixed_up_with_others(
    gateway: httpx.AsyncClient, okta: IdentityProvider, shop: Shop
) -> None:
    await gateway.post("/v1/connectors", json=spec_of(shop).model_dump(mode="json"))
    asking = bearer(okta.token(sub="bob", roles=["admins"], jti="token-1"))
    refund = {"arguments": {"order": 1, "amount": 5}, "idempotency_key": "once"}
    asked = (await gateway.post("/v1/tools/shop_create_refund/call", json=refund, headers=asking)).json()["approval"]
    approval = (await gateway.get(f"/v1/approvals/{asked}")).json()
    assert approval["requested_by"] == "okta:bob"
    answer = {"approve": True, "arguments_hash": approval["arguments_hash"]}
    again = await gateway.post(
        f"/v1/approvals/{asked}", json=answer, headers=bearer(okta.token(sub="bob", roles="admins"))
    )
    assert again.status_code == 403
    other = await gateway.post(
        f"/v1/approvals/{asked}", json=answer, headers=bearer(okta.token(sub="eve", roles="approvers"))
    )
    assert (other.status_code, other.json()["decided_by"]) == (200, "okta:eve")
    done = await gateway.post("/v1/tools/shop_create_refund/call", json=refund, headers=asking)
    assert (done.json()["status"], len(shop.refunds)) == ("ok", 1)
    entries = (await gateway.get("/v1/audit", params={"actor": "okta:bob", "action": "tool.called"})).json()
    assert {(entry["actor"], entry["role"], entry["key"]) for entry in entries} == {
        ("okta:bob", "admin", "jwt:okta:token-1")
    }


async def test_no_key_bears_a_name_of_an_issuers_principals(
    gateway: httpx.AsyncClient, provider: IdentityProvider
) -> None:
    key = (await gateway.post("/v1/keys", json={"principal": "okta:bob", "role": "agent"})).json()
    assert (await trust(gateway, provider.spec())).status_code == 409
    assert (await gateway.delete(f"/v1/keys/{key['info']['id']}")).status_code == 204
    assert (await trust(gateway, provider.spec())).status_code == 200
    assert (await gateway.post("/v1/keys", json={"principal": "okta:bob", "role": "agent"})).status_code == 409
    assert (await gateway.post("/v1/keys", json={"principal": "other:bob", "role": "agent"})).status_code == 201


async def test_an_issuer_that_is_removed_opens_nothing_any_more(
    gateway: httpx.AsyncClient, okta: IdentityProvider
) -> None:
    token = okta.token()
    assert (await shown(gateway, token))[0] == 200
    assert (await gateway.delete("/v1/issuers/okta")).status_code == 204
    assert await shown(gateway, token) == (401, INVALID)
    assert (await gateway.delete("/v1/issuers/okta")).status_code == 404
    assert (await gateway.get("/v1/issuers")).json() == []
    entries = (await gateway.get("/v1/audit")).json()
    assert {"issuer.trusted", "issuer.removed"} <= {entry["action"] for entry in entries}


async def test_what_cannot_be_trusted_is_refused(gateway: httpx.AsyncClient, provider: IdentityProvider) -> None:
    wrongs: tuple[dict[str, Any], ...] = (
        {"algorithms": ["HS256"]},
        {"algorithms": ["none"]},
        {"algorithms": []},
        {"roles": {}},
        {"roles": {"x": "worker"}},
        {"roles": {"x": "king"}},
        {"issuer": "file:///etc/passwd"},
        {"issuer": "http://user:password@127.0.0.1"},
        {"private_network": False},
        {"issuer": "https://127.0.0.1:1", "private_network": False},
        {"jwks_url": f"{provider.url}/nothing"},
        {"jwks_url": "http://[::1"},
        {"audience": ""},
        {"leeway_seconds": 3600},
    )
    for wrong in wrongs:
        answer = await trust(gateway, provider.spec() | wrong)
        assert answer.status_code == 422, (wrong, answer.text)
    assert (await gateway.put("/v1/issuers/other", json=provider.spec())).status_code == 422
    for described in ({"issuer": "https://evil.example"}, {"jwks_uri": "file:///etc/passwd"}, {"jwks_uri": None}):
        provider.described = described
        assert (await trust(gateway, provider.spec())).status_code == 422, described
    provider.described = {}
    secret, odd = {"kty": "oct", "k": "c2VjcmV0"}, {"kty": 1}
    useless: tuple[Any, ...] = ({}, {"keys": []}, [], {"keys": [secret]}, {"keys": ["x", odd]})
    for jwks in useless:
        provider.jwks = jwks
        assert (await trust(gateway, provider.spec())).status_code == 422, jwks
    provider.jwks = {"keys": [], "pad": "x" * 300_000}
    assert "longer than" in (await trust(gateway, provider.spec())).json()["detail"]
    provider.jwks, provider.status = None, 302
    assert "answered 302" in (await trust(gateway, provider.spec(jwks_url=f"{provider.url}/keys"))).json()["detail"]
    provider.status = 200
    assert (await trust(gateway, provider.spec())).status_code == 200
    assert (await trust(gateway, provider.spec("twin"))).status_code == 409


async def test_the_audience_tells_the_tenant(gateway: httpx.AsyncClient, okta: IdentityProvider, sales: str) -> None:
    assert (await trust(gateway, okta.spec(audience="for-sales"), sales)).status_code == 200
    mine, theirs = okta.token(roles="admins"), okta.token(roles="admins", aud="for-sales")
    issued: dict[str, Any] = {}
    for token in (mine, theirs):
        new = await gateway.post("/v1/keys", json={"principal": "ann", "role": "agent"}, headers=bearer(token))
        issued[token] = new.json()["key"]
    assert issued[theirs].startswith("prk_sales.")
    assert not issued[mine].startswith("prk_sales.")
    assert await shown(gateway, theirs, **{TENANT_HEADER: "sales"}) == (200, "")
    for token, tenant in ((theirs, MAIN), (mine, "sales"), (mine, "nobody"), (mine, "")):
        assert await shown(gateway, token, **{TENANT_HEADER: tenant}) == (401, INVALID)
    assert (await shown(gateway, theirs, "/v1/tenants"))[0] == 403


async def test_a_tenant_is_never_guessed(gateway: httpx.AsyncClient, okta: IdentityProvider, sales: str) -> None:
    assert (await trust(gateway, okta.spec(roles={"developers": "auditor"}), sales)).status_code == 200
    token = okta.token()
    status, detail = await shown(gateway, token)
    assert (status, "More than one tenant" in detail) == (403, True)
    assert (await shown(gateway, token, "/v1/keys", **{TENANT_HEADER: "sales"}))[0] == 200  # an auditor there
    assert (await shown(gateway, token, "/v1/keys", **{TENANT_HEADER: MAIN}))[0] == 403  # a developer here
    forged = okta.signed(new_key("ES256"), "ES256", {"kid": "one"}, okta.claims())
    assert await shown(gateway, forged) == (401, INVALID)  # who cannot prove it learns nothing of tenants
    assert await shown(gateway, token, **{TENANT_HEADER: "nobody"}) == (401, INVALID)


async def test_a_tenants_issuer_opens_that_tenant_alone(
    gateway: httpx.AsyncClient, provider: IdentityProvider, sales: str
) -> None:
    assert (await trust(gateway, provider.spec(), sales)).status_code == 200
    assert (await gateway.get("/v1/issuers")).json() == []
    answer = await gateway.get("/v1/tenants", headers=bearer(provider.token(roles="admins")))
    assert answer.status_code == 403
    assert (await gateway.delete("/v1/tenants/sales")).status_code == 204
    assert await shown(gateway, provider.token()) == (401, INVALID)


async def test_issuers_are_there_after_a_restart(settings: Settings, provider: IdentityProvider) -> None:
    for _ in range(2):
        async with running(build(settings)) as estate, served(app_of(estate)) as url:
            admin = (settings.data_dir / "admin.key").read_text().strip()
            async with httpx.AsyncClient(base_url=url, headers=bearer(admin), timeout=60) as client:
                if not estate.main.issuers.list():
                    assert (await trust(client, provider.spec())).status_code == 200
                assert (await shown(client, provider.token()))[0] == 200
                await asyncio.gather(*(shown(client, provider.token()) for _ in range(20)))
    assert provider.fetches == 2
    async with (
        running(build(settings)) as estate,
        served(app_of(estate)) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as client,
    ):
        provider.delay = 0.3
        answers = await asyncio.gather(*(shown(client, provider.token()) for _ in range(20)))
        assert set(answers) == {(200, "")}
    assert provider.fetches == 3


async def test_refused_tokens_are_in_the_log_of_the_tenant_whose_issuer_they_name(
    gateway: httpx.AsyncClient, okta: IdentityProvider
) -> None:
    token = okta.token(roles=[])
    await shown(gateway, token)
    entries: list[dict[str, Any]] = []
    for _ in range(100):
        entries = (await gateway.get("/v1/audit", params={"action": "access.refused"})).json()
        if entries:
            break
        await asyncio.sleep(0.05)
    assert [(entry["actor"], entry["outcome"]) for entry in entries] == [("nobody", "403")]
    assert token not in json.dumps(entries)
