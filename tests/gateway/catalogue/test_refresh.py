"""A second look at a system's document: what breaks no call is served, the rest is held until somebody says so."""

import asyncio
import copy
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ApiKeyAuth, ConnectorReport, ConnectorSpec, RefreshReport, RefreshRequest
from practicum.errors import ConflictError, DocumentError, NotFoundError, RequestError
from practicum_gateway.catalogue.catalogue import Catalogue
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault
from tests.gateway.conftest import KeyOf, Serve

KEY = bytes(32)
SECRET = "vendor-secret-canary-5d2a"


def operation(name: str, *parameters: JsonObject, answer: str = "string") -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": {"path": {"type": answer}}}
    content: JsonObject = {"application/json": {"schema": schema}}
    return {
        "operationId": name,
        "parameters": list(parameters),
        "responses": {"200": {"description": "ok", "content": content}},
    }


def query(name: str, *, required: bool = False) -> JsonObject:
    return {"name": name, "in": "query", "required": required, "schema": {"type": "string"}}


@dataclass
class Vendor:
    """A system that echoes, and whose document the vendor changes."""

    url: str = ""
    paths: dict[str, Any] = field(default_factory=dict[str, Any])
    seen: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @property
    def document(self) -> JsonObject:
        scheme: JsonObject = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
        return {
            "openapi": "3.1.0",
            "info": {"title": "Vendor", "version": str(len(self.paths))},
            "security": [{"key": []}],
            "components": {"securitySchemes": scheme},
            "paths": copy.deepcopy(self.paths),
        }

    def app(self) -> FastAPI:
        app = FastAPI(openapi_url=None)

        @app.get("/openapi.json")
        async def openapi() -> JsonObject:
            return self.document

        @app.get("/{path:path}")
        async def echo(path: str, request: Request) -> JSONResponse:
            self.seen.append((path, str(request.query_params)))
            return JSONResponse({"path": path, "key": request.headers.get("x-key")})

        _ = (openapi, echo)
        return app

    def change(self) -> None:
        """One more optional argument here, a required one there, one operation gone, one new."""
        self.paths["/orders"]["get"] = operation("list_orders", query("state"), query("since"))
        self.paths["/bills"]["get"] = operation("list_bills", query("tenant", required=True))
        del self.paths["/old"]
        self.paths["/new"] = {"get": operation("get_new")}


@pytest.fixture
async def vendor(serve: Serve) -> AsyncIterator[Vendor]:
    vendor = Vendor()
    vendor.paths = {
        "/orders": {"get": operation("list_orders", query("state"))},
        "/bills": {"get": operation("list_bills")},
        "/old": {"get": operation("get_old")},
    }
    async with serve(vendor.app()) as vendor.url:
        yield vendor


@pytest.fixture
async def catalogue(store: Store) -> AsyncIterator[Catalogue]:
    opened = Catalogue(store, Vault(KEY))
    yield opened
    await opened.close()


def spec_of(vendor: Vendor, **changes: Any) -> ConnectorSpec:
    spec = ConnectorSpec(
        name="v", source=f"{vendor.url}/openapi.json", auth=ApiKeyAuth(value=SECRET), private_network=True
    )
    return spec.model_copy(update=changes)


def wire(vendor: Vendor) -> JsonObject:
    """A registration as it goes over the wire."""
    return spec_of(vendor).model_dump(mode="json")


def said(report: RefreshReport) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    served, held = ([(each.kind.value, each.operation) for each in part] for part in (report.served, report.held))
    return served, held


async def arguments(catalogue: Catalogue) -> dict[str, list[str]]:
    return {tool.name: sorted(_properties(tool.input_schema)) for tool in await catalogue.tools(["*"])}


def _properties(schema: JsonObject) -> list[str]:
    found = schema.get("properties")
    return list(found) if isinstance(found, dict) else []


async def call(catalogue: Catalogue, tool: str, given: JsonObject) -> str:
    async with catalogue.reach("v") as connector:
        return connector.observe(await connector.send(connector.prepare(tool, given))).content


CHANGED = (
    [("new_optional", "list_orders"), ("added", "get_new")],
    [("new_required", "list_bills"), ("removed", "get_old")],
)
MIXED = {"v_get_new": [], "v_get_old": [], "v_list_bills": [], "v_list_orders": ["since", "state"]}
ACCEPTED = {"v_get_new": [], "v_list_bills": ["tenant"], "v_list_orders": ["since", "state"]}


async def test_what_breaks_no_call_is_served_and_the_rest_is_held(catalogue: Catalogue, vendor: Vendor) -> None:
    first, _ = await catalogue.register(spec_of(vendor))
    await call(catalogue, "v_list_bills", {})
    vendor.change()
    found = await catalogue.refresh("v", RefreshRequest())
    assert (found.changed, said(found)) == (True, CHANGED)
    assert await arguments(catalogue) == MIXED
    assert (found.connector.held, found.connector.tools, found.connector.digest) == (2, 4, first.connector.digest)
    assert found.connector.refreshed is not None
    assert found.digest != first.connector.digest
    assert {each.operation for each in (await catalogue.report("v")).operations if each.held} == {
        "list_bills",
        "get_old",
    }
    for tool, given in (("v_list_orders", {"since": "1"}), ("v_list_bills", {}), ("v_get_old", {}), ("v_get_new", {})):
        assert SECRET not in await call(catalogue, tool, dict(given))
    assert vendor.seen[1:] == [("orders", "since=1"), ("bills", ""), ("old", ""), ("new", "")]
    assert (await catalogue.changes("v")).held == found.held
    assert (await catalogue.connectors())[0].held == 2


async def test_it_stays_so_after_a_restart_and_a_second_look(store: Store, vendor: Vendor) -> None:
    before = Catalogue(store, Vault(KEY))
    await before.register(spec_of(vendor))
    vendor.change()
    await before.refresh("v", RefreshRequest())
    await before.close()
    catalogue = Catalogue(store, Vault(KEY))
    assert await arguments(catalogue) == MIXED
    assert '"path":"old"' in await call(catalogue, "v_get_old", {})
    again = await catalogue.refresh("v", RefreshRequest())
    assert (again.changed, said(again)) == (False, CHANGED)
    await catalogue.close()


async def test_what_is_accepted_is_in_force(catalogue: Catalogue, vendor: Vendor) -> None:
    await catalogue.register(spec_of(vendor))
    vendor.change()
    found = await catalogue.refresh("v", RefreshRequest())
    accepted = await catalogue.accept("v", found.digest)
    assert (accepted.held, accepted.connector.held, accepted.connector.digest) == ((), 0, found.digest)
    assert await arguments(catalogue) == ACCEPTED
    with pytest.raises(NotFoundError):
        await call(catalogue, "v_get_old", {})
    with pytest.raises(ConflictError, match="No change"):
        await catalogue.accept("v", found.digest)
    assert said(await catalogue.changes("v"))[1] == []


async def test_nobody_accepts_what_nobody_looked_at(catalogue: Catalogue, vendor: Vendor) -> None:
    await catalogue.register(spec_of(vendor))
    vendor.change()
    found = await catalogue.refresh("v", RefreshRequest())
    del vendor.paths["/orders"]
    await catalogue.refresh("v", RefreshRequest())
    with pytest.raises(ConflictError, match="another document"):
        await catalogue.accept("v", found.digest)
    assert "v_list_orders" in await arguments(catalogue)


async def test_a_document_that_goes_back_leaves_nothing_held(catalogue: Catalogue, vendor: Vendor) -> None:
    await catalogue.register(spec_of(vendor))
    before, paths = await arguments(catalogue), copy.deepcopy(vendor.paths)
    vendor.change()
    await catalogue.refresh("v", RefreshRequest())
    vendor.paths = paths
    back = await catalogue.refresh("v", RefreshRequest())
    assert (back.changed, said(back), back.connector.held) == (True, ([], []), 0)
    assert await arguments(catalogue) == before


async def test_all_at_once_where_that_is_asked_for(catalogue: Catalogue, vendor: Vendor) -> None:
    await catalogue.register(spec_of(vendor))
    vendor.change()
    found = await catalogue.refresh("v", RefreshRequest(accept=True))
    assert said(found) == ([*CHANGED[0], *CHANGED[1]], [])
    assert await arguments(catalogue) == ACCEPTED


async def test_a_document_that_cannot_be_used_changes_nothing(catalogue: Catalogue, vendor: Vendor) -> None:
    await catalogue.register(spec_of(vendor))
    before = await arguments(catalogue)
    vendor.paths = {}
    with pytest.raises(DocumentError):
        await catalogue.refresh("v", RefreshRequest(accept=True))
    with pytest.raises(DocumentError):
        await catalogue.refresh("v", RefreshRequest(document={"openapi": "4"}))
    assert await arguments(catalogue) == before
    assert (await catalogue.connectors())[0].refreshed is None
    with pytest.raises(NotFoundError):
        await catalogue.refresh("nothing", RefreshRequest())


async def test_a_document_that_was_handed_over_is_handed_over_again(catalogue: Catalogue, vendor: Vendor) -> None:
    given = spec_of(vendor, source=None, document=vendor.document, base_url=vendor.url)
    await catalogue.register(given)
    with pytest.raises(RequestError, match="handed over"):
        await catalogue.refresh("v", RefreshRequest())
    vendor.change()
    found = await catalogue.refresh("v", RefreshRequest(document=vendor.document))
    assert said(found) == CHANGED


async def test_an_overlay_is_applied_again_and_can_be_replaced(catalogue: Catalogue, vendor: Vendor) -> None:
    hide: JsonObject = {
        "overlay": "1.0.0",
        "info": {"title": "Ours", "version": "1"},
        "actions": [{"target": "$.paths['/old']", "remove": True}],
    }
    await catalogue.register(spec_of(vendor, overlay=hide))
    vendor.paths["/bills"]["get"]["summary"] = "All bills."
    assert said(await catalogue.refresh("v", RefreshRequest())) == ([("description", "list_bills")], [])
    assert "v_get_old" not in await arguments(catalogue)
    await catalogue.refresh("v", RefreshRequest(overlay={}))
    assert "v_get_old" in await arguments(catalogue)
    found = await catalogue.refresh("v", RefreshRequest(overlay=hide))
    assert said(found)[1] == [("removed", "get_old")]


async def test_registering_the_same_again_tells_a_changed_document(catalogue: Catalogue, vendor: Vendor) -> None:
    await catalogue.register(spec_of(vendor))
    vendor.change()
    with pytest.raises(ConflictError) as caught:
        await catalogue.register(spec_of(vendor))
    assert "connectors refresh v" in (caught.value.mend or "")
    await catalogue.refresh("v", RefreshRequest())
    _, is_new = await catalogue.register(spec_of(vendor))
    assert not is_new


async def test_a_call_under_way_ends_as_it_began(catalogue: Catalogue, vendor: Vendor) -> None:
    await catalogue.register(spec_of(vendor))
    async with catalogue.reach("v") as connector:
        prepared = connector.prepare("v_get_old", {})
        vendor.change()
        await catalogue.refresh("v", RefreshRequest(accept=True))
        assert connector.observe(await connector.send(prepared)).http_status == 200


async def test_two_looks_at_once_leave_one_whole(catalogue: Catalogue, store: Store, vendor: Vendor) -> None:
    await catalogue.register(spec_of(vendor))
    other = Catalogue(store, Vault(KEY))
    vendor.change()
    looks = (each.refresh("v", RefreshRequest(accept=True)) for each in (catalogue, other, catalogue))
    found = await asyncio.gather(*looks, return_exceptions=True)
    assert all(isinstance(each, RefreshReport | ConflictError) for each in found), found
    assert any(isinstance(each, RefreshReport) for each in found)
    await other.close()
    fresh = Catalogue(store, Vault(KEY))
    assert await arguments(fresh) == ACCEPTED
    await fresh.close()


async def test_answers_that_depart_from_the_document_are_counted(gateway: httpx.AsyncClient, vendor: Vendor) -> None:
    async def called(tool: str, times: int) -> None:
        for _ in range(times):
            answer = await gateway.post(f"/v1/tools/{tool}/call", json={"arguments": {}})
            assert answer.json()["status"] == "ok"

    async def drift() -> dict[str, int]:
        report = ConnectorReport.model_validate((await gateway.get("/v1/connectors/v")).json())
        (listed,) = (await gateway.get("/v1/connectors")).json()
        assert report.connector.drift == listed["drift"] == sum(each.drift for each in report.operations)
        return {each.operation: each.drift for each in report.operations}

    vendor.paths["/bills"]["get"] = operation("list_bills", answer="integer")
    await gateway.post("/v1/connectors", json=wire(vendor))
    await called("v_list_bills", 3)
    await called("v_list_orders", 1)
    assert await drift() == {"list_bills": 3, "list_orders": 0, "get_old": 0}
    vendor.change()
    await gateway.post("/v1/connectors/v/refresh", json={})
    assert (await drift())["list_bills"] == 3, "it stays the same tool"


async def test_the_doors(gateway: httpx.AsyncClient, vendor: Vendor, key_of: KeyOf) -> None:
    assert (await gateway.post("/v1/connectors", json=wire(vendor))).status_code == 201
    assert (await gateway.get("/v1/connectors/v/changes")).json()["changed"] is False
    vendor.change()
    found = await gateway.post("/v1/connectors/v/refresh", json={})
    assert (found.status_code, len(found.json()["held"])) == (200, 2)
    assert SECRET not in found.text
    assert (await gateway.post("/v1/connectors/v/accept", json={"digest": "0" * 64})).status_code == 409
    assert (await gateway.post("/v1/connectors/none/refresh", json={})).status_code == 404
    assert (await gateway.post("/v1/connectors/v/refresh", json={"paper": {}})).status_code == 422
    for path, given in (("refresh", {}), ("accept", {"digest": found.json()["digest"]})):
        refused = await gateway.post(f"/v1/connectors/v/{path}", json=given, headers=key_of("approver"))
        assert refused.status_code == 403
    seen = await gateway.get("/v1/connectors/v/changes", headers=key_of("approver"))
    assert seen.json()["held"] == found.json()["held"]
    done = await gateway.post("/v1/connectors/v/accept", json={"digest": found.json()["digest"]})
    assert (done.status_code, done.json()["held"]) == (200, [])
