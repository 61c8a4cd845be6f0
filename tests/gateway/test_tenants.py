"""Two tenants on one gateway: nothing of one is readable, listable, countable or inferable by the other."""

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update

from practicum.contracts.access import Role
from practicum.contracts.tenants import MAIN, TENANT_HEADER
from practicum.errors import ConfigurationError
from practicum_gateway.access.keys import new_secret, shown_of, tenant_of
from practicum_gateway.app import build, running
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.estate import Estate
from practicum_gateway.settings import Settings
from practicum_gateway.store.catalogue_tables import ConnectorRow
from tests.gateway.conftest import KeyOf, spec_of
from tests.gateway.shop import Shop

CANARY = "tenant-canary-3c81"


@dataclass
class Side:
    """One tenant as its administrator sees it."""

    client: httpx.AsyncClient
    headers: dict[str, str]
    ids: dict[str, str] = field(default_factory=dict[str, str])

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return await self.client.request(method, path, json=body, headers=self.headers | headers)

    async def seen(self, path: str) -> Any:
        answer = await self.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()


async def made(gateway: httpx.AsyncClient, name: str) -> Side:
    answer = await gateway.post("/v1/tenants", json={"name": name, "admin": f"{name}-admin"})
    assert answer.status_code == 201, answer.text
    return Side(gateway, {"Authorization": f"Bearer {answer.json()['key']['key']}"})


@pytest.fixture
async def sales(gateway: httpx.AsyncClient) -> Side:
    return await made(gateway, "sales")


@pytest.fixture
async def filled(sales: Side, shop: Shop) -> Side:
    """A tenant that holds one of everything."""
    spec = spec_of(shop).model_dump(mode="json")
    assert (await sales.ask("POST", "/v1/connectors", spec)).status_code == 201
    model = {"alias": "m", "provider": "litellm", "target": "openai/x", "base_url": "http://127.0.0.1:9/v1"}
    assert (await sales.ask("POST", "/v1/models", model)).status_code == 201
    rules = {"rules": [{"id": CANARY, "tools": ["shop.get_*"], "outcome": "allow"}]}
    assert (await sales.ask("PUT", "/v1/rules", rules)).status_code == 200
    begun = {"task": CANARY, "model": "m", "tools": ["shop.*"], "driver": "client", "metadata": {"label": CANARY}}
    episode = (await sales.ask("POST", "/v1/episodes", begun)).json()["id"]
    refund = {"arguments": {"order": 1, "amount": 5}, "idempotency_key": "once"}
    asked = (await sales.ask("POST", "/v1/tools/shop_create_refund/call", refund)).json()
    key = (await sales.ask("POST", "/v1/keys", {"principal": CANARY, "role": "developer"})).json()
    sales.ids = {"episode": episode, "approval": asked["approval"], "key": key["info"]["id"], "secret": key["key"]}
    return sales


LISTS = (
    "/v1/connectors",
    "/v1/tools",
    "/v1/tools?query=refund",
    "/v1/models",
    "/v1/rules",
    "/v1/approvals",
    "/v1/keys",
    "/v1/issuers",
    "/v1/episodes",
    "/v1/trajectories",
)


@pytest.mark.parametrize("other", ["main", "support"])
async def test_lists_hold_nothing_of_another_tenant(gateway: httpx.AsyncClient, filled: Side, other: str) -> None:
    viewer = Side(gateway, {}) if other == MAIN else await made(gateway, other)
    for path in LISTS:
        mine, theirs = await filled.ask("GET", path), await viewer.ask("GET", path)
        assert (mine.status_code, theirs.status_code) == (200, 200), path
        for word in (CANARY, "shop", *filled.ids.values()):
            assert word not in theirs.text, path
    assert CANARY in (await filled.ask("GET", "/v1/rules")).text


@pytest.mark.parametrize("other", ["main", "support"])
async def test_what_another_tenant_holds_is_answered_as_what_nobody_holds(
    gateway: httpx.AsyncClient, filled: Side, other: str
) -> None:
    viewer = Side(gateway, {}) if other == MAIN else await made(gateway, other)
    answer = {"approve": True, "arguments_hash": "0" * 64}
    reached: tuple[tuple[str, str, Any], ...] = (
        ("GET", "/v1/episodes/{episode}", None),
        ("GET", "/v1/episodes/{episode}/events", None),
        ("POST", "/v1/episodes/{episode}/cancel", None),
        ("POST", "/v1/episodes/{episode}/keys", None),
        ("POST", "/v1/episodes/{episode}/turns", {"step": 0}),
        ("POST", "/v1/episodes/{episode}/calls", {"step": 0, "call": 0}),
        ("POST", "/v1/episodes/{episode}/close", {"status": "failed", "cause": "system"}),
        ("POST", "/v1/episodes/{episode}/reward", {"reward": 1.0, "source": "me"}),
        ("GET", "/v1/episodes/{episode}/states", None),
        ("DELETE", "/v1/episodes/{episode}/practice", None),
        ("GET", "/v1/trajectories/{episode}", None),
        ("GET", "/v1/approvals/{approval}", None),
        ("POST", "/v1/approvals/{approval}", answer),
        ("DELETE", "/v1/keys/{key}", None),
        ("GET", "/v1/connectors/shop", None),
        ("DELETE", "/v1/connectors/shop", None),
        ("POST", "/v1/connectors/shop/refresh", {}),
        ("GET", "/v1/models/m", None),
        ("GET", "/v1/tools/shop_create_refund", None),
        ("POST", "/v1/tools/shop_create_refund/call", {"arguments": {"order": 1, "amount": 5}}),
    )
    nobodys = {name: f"{value[:4]}{secrets.token_hex(13)}" for name, value in filled.ids.items()}
    for method, path, body in reached:
        found = await viewer.ask(method, path.format(**filled.ids), body)
        absent = await viewer.ask(method, path.format(**nobodys), body)
        assert found.status_code == absent.status_code, (path, found.text)
        assert found.status_code == 404, (path, found.text)
        said, nothing = found.json(), absent.json()
        assert said["detail"] == nothing["detail"].replace(*_swapped(nobodys, filled.ids, path)), path
    assert (await filled.seen(f"/v1/episodes/{filled.ids['episode']}"))["status"] in {"running", "waiting"}
    assert (await filled.seen(f"/v1/approvals/{filled.ids['approval']}"))["status"] == "pending"


def _swapped(absent: dict[str, str], present: dict[str, str], path: str) -> tuple[str, str]:
    """The id in a path that nobody has, and the one that somebody has."""
    name = path.partition("{")[2].partition("}")[0]
    return absent.get(name, "-"), present.get(name, "-")


async def test_the_same_names_and_keys_mean_other_things(gateway: httpx.AsyncClient, filled: Side, shop: Shop) -> None:
    support = await made(gateway, "support")
    assert (await support.ask("POST", "/v1/connectors", spec_of(shop).model_dump(mode="json"))).status_code == 201
    await support.ask("PUT", "/v1/rules", {"rules": [{"id": "all", "outcome": "allow"}]})
    refund = {"arguments": {"order": 2, "amount": 7}, "idempotency_key": "once"}
    done = (await support.ask("POST", "/v1/tools/shop_create_refund/call", refund)).json()
    assert (done["status"], [each.amount for each in shop.refunds]) == ("ok", [7])
    waiting = await filled.seen(f"/v1/approvals/{filled.ids['approval']}")
    assert waiting["arguments"] == {"order": 1, "amount": 5}


async def test_a_key_opens_its_own_tenant_only(gateway: httpx.AsyncClient, filled: Side, key_of: KeyOf) -> None:
    random = filled.ids["secret"].partition(".")[2]
    for forged in (f"prk_{random}", f"prk_support.{random}", f"prk_nobody.{random}", f"prk_.{random}", "prk_sales."):
        answer = await gateway.get("/v1/tools", headers={"Authorization": f"Bearer {forged}"})
        assert (answer.status_code, answer.json()["detail"]) == (
            401,
            "The key is not valid: unknown, expired or revoked.",
        )
    for headers in ({}, key_of("approver")):
        answer = await gateway.get("/v1/tools", headers={**headers, TENANT_HEADER: "sales"})
        assert answer.status_code == 403
    for tenant in (MAIN, "support"):
        assert (await filled.ask("GET", "/v1/tools", **{TENANT_HEADER: tenant})).status_code == 403
    assert (await filled.ask("GET", "/v1/tools", **{TENANT_HEADER: "sales"})).status_code == 200


async def test_the_worker_drives_the_episodes_of_all(gateway: httpx.AsyncClient, filled: Side, key_of: KeyOf) -> None:
    worker, path = key_of("worker"), f"/v1/episodes/{filled.ids['episode']}"
    assert (await gateway.get(path, headers=worker)).status_code == 404
    assert (await gateway.get(path, headers={**worker, TENANT_HEADER: "sales"})).status_code == 200
    for absent in ("nobody", "../main", ""):
        assert (await gateway.get(path, headers={**worker, TENANT_HEADER: absent})).status_code == 404
    ended = {"status": "failed", "cause": "system"}
    closed = await gateway.post(f"{path}/close", json=ended, headers={**worker, TENANT_HEADER: "sales"})
    assert closed.json()["status"] == "failed"


async def test_tenants_are_run_by_the_main_ones_administrators(
    gateway: httpx.AsyncClient, sales: Side, key_of: KeyOf
) -> None:
    assert [one["name"] for one in (await gateway.get("/v1/tenants")).json()] == [MAIN, "sales"]
    requests: tuple[tuple[str, str, Any], ...] = (
        ("GET", "/v1/tenants", None),
        ("POST", "/v1/tenants", {"name": "mine"}),
        ("POST", "/v1/tenants/sales/keys", None),
        ("DELETE", "/v1/tenants/sales", None),
    )
    for method, path, body in requests:
        assert (await sales.ask(method, path, body)).status_code == 403
        assert (await gateway.request(method, path, json=body, headers=key_of("approver"))).status_code == 403
    assert (await gateway.post("/v1/tenants", json={"name": "sales"})).status_code == 409
    assert (await gateway.post("/v1/tenants", json={"name": MAIN})).status_code == 409
    for name in ("", "Sales", "../x", "a" * 40, "a.b"):
        assert (await gateway.post("/v1/tenants", json={"name": name})).status_code == 422, name
    again = (await gateway.post("/v1/tenants/sales/keys")).json()
    assert (again["info"]["role"], again["key"].startswith("prk_sales.")) == (Role.ADMIN, True)


async def test_a_removed_tenant_leaves_nothing(gateway: httpx.AsyncClient, filled: Side, estate: Estate) -> None:
    assert (await gateway.delete("/v1/tenants/sales")).status_code == 204
    assert (await filled.ask("GET", "/v1/tools")).status_code == 401
    assert (await gateway.delete("/v1/tenants/sales")).status_code == 404
    assert (await gateway.delete(f"/v1/tenants/{MAIN}")).status_code == 409
    folder = estate.main.settings.data_dir
    assert not [path for path in folder.rglob("*") if path.is_file() and "tenants" in path.parts]
    fresh = await made(gateway, "sales")
    assert await fresh.seen("/v1/connectors") == []


@pytest.fixture
async def restarted(settings: Settings) -> AsyncIterator[Estate]:
    async with running(build(settings)) as before:
        await before.create("sales", "ada")
    async with running(build(settings)) as after:
        yield after


async def test_tenants_are_there_after_a_restart(restarted: Estate) -> None:
    assert restarted.tenants == (MAIN, "sales")
    house = restarted.house("sales")
    assert house is not None
    assert [key.principal for key in await house.keys.list()] == ["ada"]


async def test_what_one_tenant_seals_no_other_opens(estate: Estate, shop: Shop) -> None:
    await estate.create("sales", "ada")
    sales = estate.house("sales")
    assert sales is not None
    await sales.catalogue.register(spec_of(shop))
    assert await estate.main.catalogue.names(["*"]) == ()
    await estate.main.catalogue.register(spec_of(shop))
    async with sales.store.read() as session:
        stolen = await session.scalar(select(ConnectorRow.credential))
    async with estate.main.store.write() as session:
        await session.execute(update(ConnectorRow).values(credential=stolen))
    again = Catalogue(estate.main.store, estate.main.catalogue._vault)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(ConfigurationError, match="another master key"):
        async with again.reach("shop"):
            pass


def test_keys_say_whose_they_are() -> None:
    assert tenant_of(new_secret()) == MAIN
    assert tenant_of(new_secret("sales")) == "sales"
    assert tenant_of("some-configured-secret.with-a-dot") == MAIN
    secret = new_secret("a" * 31)
    assert len(shown_of(secret)) <= 16
    assert "a" * 31 not in shown_of(secret)
