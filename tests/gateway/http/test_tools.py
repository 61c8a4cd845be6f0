"""The main line over real HTTP: register a system, find its tools, call them, be asked first."""

from typing import Any

import httpx
import pytest

from practicum.contracts.connectors import ConnectorSpec
from tests.gateway.conftest import KeyOf
from tests.gateway.http.test_doors import problem_of
from tests.gateway.shop import SECRET, Shop


def body_of(spec: ConnectorSpec) -> dict[str, Any]:
    return spec.model_dump(mode="json", exclude_none=True)


@pytest.fixture
async def stocked(gateway: httpx.AsyncClient, shop_spec: ConnectorSpec) -> httpx.AsyncClient:
    response = await gateway.post("/v1/connectors", json=body_of(shop_spec))
    assert response.status_code == 201, response.text
    assert SECRET not in response.text
    return gateway


async def call(client: httpx.AsyncClient, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    response = await client.post(f"/v1/tools/{tool}/call", json={"arguments": arguments, **more})
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_connector_is_registered_listed_shown_and_removed(
    stocked: httpx.AsyncClient, shop_spec: ConnectorSpec
) -> None:
    again = await stocked.post("/v1/connectors", json=body_of(shop_spec))
    shown = await stocked.get("/v1/connectors/shop")
    assert (again.status_code, shown.status_code) == (200, 200)
    assert again.json() == shown.json()
    assert [connector["name"] for connector in (await stocked.get("/v1/connectors")).json()] == ["shop"]
    other = {**body_of(shop_spec), "auth": {"kind": "bearer", "token": "another-canary"}}
    conflict = await stocked.post("/v1/connectors", json=other)
    assert problem_of(conflict).code == "conflict"
    assert "canary" not in conflict.text
    assert (await stocked.delete("/v1/connectors/shop")).status_code == 204
    assert problem_of(await stocked.delete("/v1/connectors/shop")).code == "not_found"
    assert problem_of(await stocked.get("/v1/connectors/shop")).code == "not_found"
    assert (await stocked.get("/v1/tools")).json() == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"name": "odd"}, "document"),
        ({"name": "odd", "document": {"openapi": "3.1.0"}}, "document"),
        ({"name": "Not Valid!", "source": "http://x"}, "request"),
        ({"name": "odd", "source": "file:///etc/passwd"}, "document"),
        ({"name": "odd", "source": "http://169.254.169.254/latest"}, "document"),
        ({"name": "odd", "source": "http://127.0.0.1:9/openapi.json", "private_network": True}, "document"),
        ({"name": "odd", "source": "http://x", "knob": 1}, "request"),
    ],
)
async def test_a_registration_that_cannot_work_is_one_clear_error(
    gateway: httpx.AsyncClient, body: dict[str, Any], code: str
) -> None:
    problem = problem_of(await gateway.post("/v1/connectors", json=body))
    assert (problem.status, problem.code) == (422, code)
    assert problem.mend
    assert (await gateway.get("/v1/connectors")).json() == []


async def test_tools_are_listed_searched_and_shown(stocked: httpx.AsyncClient) -> None:
    listed = (await stocked.get("/v1/tools")).json()
    assert [tool["name"] for tool in listed] == [
        "shop_add_note",
        "shop_create_refund",
        "shop_get_order",
        "shop_mirror",
    ]
    some = await stocked.get("/v1/tools", params={"pattern": ["shop.get_*", "shop.mirror"], "limit": 1})
    assert [tool["operation"] for tool in some.json()] == ["get_order"]
    found = (await stocked.get("/v1/tools", params={"query": "give money back"})).json()
    assert found[0]["name"] == "shop_create_refund"
    shown = (await stocked.get("/v1/tools/shop_create_refund")).json()
    assert (shown["effect"], shown["idempotency_header"].lower()) == ("money", "idempotency-key")
    assert "idempotency" not in str(shown["input_schema"]).lower()
    assert problem_of(await stocked.get("/v1/tools/shop_nothing")).code == "not_found"
    assert problem_of(await stocked.get("/v1/tools", params={"limit": 0})).code == "request"


async def test_a_call_is_made_once_per_key(stocked: httpx.AsyncClient, shop: Shop) -> None:
    first = await call(stocked, "shop_get_order", {"order": 7}, idempotency_key="a")
    again = await call(stocked, "shop_get_order", {"order": 7}, idempotency_key="a")
    assert first == again
    assert (first["status"], first["http_status"], shop.reads) == ("ok", 200, 1)
    await call(stocked, "shop_get_order", {"order": 7})
    assert shop.reads == 2
    conflict = await stocked.post(
        "/v1/tools/shop_get_order/call", json={"arguments": {"order": 8}, "idempotency_key": "a"}
    )
    assert problem_of(conflict).code == "conflict"


async def test_calls_that_cannot_be_made_are_one_clear_error(stocked: httpx.AsyncClient, shop: Shop) -> None:
    unknown = await stocked.post("/v1/tools/shop_get_ordr/call", json={"arguments": {}})
    assert (problem_of(unknown).status, problem_of(unknown).code) == (404, "not_found")
    assert "shop_get_order" in str(problem_of(unknown).mend)
    wrong = await stocked.post("/v1/tools/shop_get_order/call", json={"arguments": {"order": "x", "nope": 1}})
    assert (problem_of(wrong).status, problem_of(wrong).code) == (422, "call")
    assert {fault.where for fault in problem_of(wrong).errors}
    bodies: tuple[Any, ...] = ({"arguments": []}, {"arguments": {}, "idempotency_key": ""}, {"args": {}})
    for body in bodies:
        assert problem_of(await stocked.post("/v1/tools/shop_get_order/call", json=body)).code == "request"
    assert shop.reads == 0


@pytest.mark.parametrize("text", ["\ud800", "\u0000", "a" * 100_000, "\u202e", "'; DROP TABLE keys; --"])
async def test_odd_words_break_nothing(stocked: httpx.AsyncClient, key_of: KeyOf, text: str) -> None:
    body = b'{"arguments": {"text": "%s"}}' % text.encode("unicode_escape").replace(b"\\x", b"\\u00")
    response = await stocked.post(
        "/v1/tools/shop_add_note/call", content=body, headers={"content-type": "application/json"}
    )
    assert response.status_code in {200, 400, 422}, response.text
    if response.status_code == 200:
        assert response.json()["status"] == "waiting"
        listed = await stocked.get("/v1/approvals", headers=key_of("approver"))
        assert listed.status_code == 200


async def test_a_dead_system_is_told_in_the_observation(gateway: httpx.AsyncClient) -> None:
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Gone", "version": "1"},
        "servers": [{"url": "http://127.0.0.1:9"}],
        "paths": {"/x": {"get": {"operationId": "look", "responses": {"200": {"description": "ok"}}}}},
    }
    spec = {"name": "gone", "document": document, "private_network": True}
    assert (await gateway.post("/v1/connectors", json=spec)).status_code == 201
    observation = await call(gateway, "gone_look", {})
    assert observation["status"] == "unavailable"


async def test_a_rule_denies(stocked: httpx.AsyncClient, shop: Shop) -> None:
    rules = {"rules": [{"id": "closed", "tools": ["shop.get_*"], "outcome": "deny"}]}
    assert (await stocked.put("/v1/rules", json=rules)).status_code == 200
    assert (await stocked.get("/v1/rules")).json()["rules"][0]["id"] == "closed"
    observation = await call(stocked, "shop_get_order", {"order": 7})
    assert (observation["status"], shop.reads) == ("denied", 0)
    broken = {"rules": [{"id": "a", "arguments": {"type": 3}, "outcome": "deny"}]}
    assert problem_of(await stocked.put("/v1/rules", json=broken)).code == "request"
    assert (await stocked.get("/v1/rules")).json()["rules"][0]["id"] == "closed"


async def test_an_approval_from_question_to_deed(stocked: httpx.AsyncClient, shop: Shop, key_of: KeyOf) -> None:
    refund = {"order": 1, "amount": 30}
    waiting = await call(stocked, "shop_create_refund", refund, idempotency_key="r1")
    assert (waiting["status"], shop.refunds) == ("waiting", [])
    (asked,) = (await stocked.get("/v1/approvals", params={"status": "pending"}, headers=key_of("approver"))).json()
    assert (asked["id"], asked["arguments"], asked["effect"]) == (waiting["approval"], refund, "money")
    answer = {"approve": True, "arguments_hash": asked["arguments_hash"]}
    own = await stocked.post(f"/v1/approvals/{asked['id']}", json=answer)
    assert problem_of(own).code == "forbidden"
    other = {"approve": True, "arguments_hash": "0" * 64}
    mismatch = await stocked.post(f"/v1/approvals/{asked['id']}", json=other, headers=key_of("approver"))
    assert problem_of(mismatch).code == "conflict"
    answered = await stocked.post(f"/v1/approvals/{asked['id']}", json=answer, headers=key_of("approver"))
    assert answered.json()["status"] == "approved"
    done = await call(stocked, "shop_create_refund", refund, idempotency_key="r1")
    assert (done["status"], len(shop.refunds)) == ("ok", 1)
    assert (await stocked.get(f"/v1/approvals/{asked['id']}")).json()["status"] == "used"
    no = {"approve": False, "arguments_hash": asked["arguments_hash"]}
    late = await stocked.post(f"/v1/approvals/{asked['id']}", json=no, headers=key_of("approver"))
    assert problem_of(late).code == "conflict"


async def test_an_agent_sees_only_what_was_asked_on_its_behalf(stocked: httpx.AsyncClient, key_of: KeyOf) -> None:
    keys = {
        name: (await stocked.post("/v1/keys", json={"principal": name, "role": "agent"})).json()["key"]
        for name in ("ann", "ben")
    }
    headers = {name: {"Authorization": f"Bearer {key}"} for name, key in keys.items()}
    body = {"arguments": {"text": "hello"}, "idempotency_key": "n1"}
    waiting = (await stocked.post("/v1/tools/shop_add_note/call", json=body, headers=headers["ann"])).json()
    path = f"/v1/approvals/{waiting['approval']}"
    assert (await stocked.get(path, headers=headers["ann"])).status_code == 200
    assert problem_of(await stocked.get(path, headers=headers["ben"])).code == "not_found"
    assert (await stocked.get("/v1/approvals", headers=headers["ben"])).json() == []
    assert len((await stocked.get("/v1/approvals", headers=key_of("worker"))).json()) == 1
    answer = {"approve": True, "arguments_hash": "0" * 64}
    assert problem_of(await stocked.post(path, json=answer, headers=headers["ben"])).code == "forbidden"
    assert problem_of(await stocked.get("/v1/connectors", headers=headers["ben"])).code == "forbidden"


async def test_the_callers_trace_reaches_the_system(stocked: httpx.AsyncClient, shop: Shop) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    await stocked.post("/v1/tools/shop_get_order/call", json={"arguments": {"order": 7}}, headers=headers)
    sent = shop.seen[-1]["traceparent"]
    assert trace in sent
    assert "b7ad6b7169203331" not in sent


async def test_a_tool_is_shown_as_a_provider_takes_it(stocked: httpx.AsyncClient) -> None:
    strict = (await stocked.get("/v1/tools/shop_create_refund", params={"profile": "openai_strict"})).json()
    assert (strict["name"], strict["profile"], strict["notes"]) == ("shop_create_refund", "openai_strict", [])
    assert strict["definition"]["function"]["strict"] is True
    hints = (await stocked.get("/v1/tools/shop.create_refund", params={"profile": "mcp"})).json()["definition"]
    assert hints["annotations"]["destructiveHint"] is True
    assert hints["annotations"]["openWorldHint"] is True
    wrong = await stocked.get("/v1/tools/shop_create_refund", params={"profile": "opnai"})
    assert wrong.status_code == 422
    assert "openai_strict" in (problem_of(wrong).mend or "")
    assert problem_of(await stocked.get("/v1/tools/shop_x", params={"profile": "mcp"})).code == "not_found"
