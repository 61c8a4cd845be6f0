"""The audit log over HTTP: who may read it, what requests leave in it, and what leaves with an export."""

import json
from typing import Any

import httpx
import pytest

from practicum.audit import check_lines
from practicum.contracts.access import KeyRequest, Role
from practicum.contracts.audit import Action, AuditCheck, AuditEntry, AuditHead, Erasure
from practicum.contracts.connectors import ConnectorSpec
from practicum_gateway.house import House

CANARY = "canary-0815-secret"


async def headers_of(house: House, role: Role, name: str = "ann") -> dict[str, str]:
    issued = await house.keys.issue(KeyRequest(principal=name, role=role))
    return {"Authorization": f"Bearer {issued.key}"}


async def entries(gateway: httpx.AsyncClient, **wanted: Any) -> list[AuditEntry]:
    """What the log says, oldest first."""
    response = await gateway.get("/v1/audit", params=wanted)
    assert response.status_code == 200, response.text
    return [AuditEntry.model_validate(each) for each in reversed(response.json())]


READ = ("/v1/audit", "/v1/audit/head", "/v1/audit/verify", "/v1/audit/export")


@pytest.mark.parametrize("role", list(Role))
async def test_the_log_is_read_by_auditors_and_administrators(
    gateway: httpx.AsyncClient, house: House, role: Role
) -> None:
    headers = await headers_of(house, role)
    for path in READ:
        response = await gateway.get(path, headers=headers)
        assert response.status_code == (200 if role in (Role.ADMIN, Role.AUDITOR) else 403), path
    body = {"subject": "nobody at all", "reason": "none"}
    response = await gateway.post("/v1/audit/erase", json=body, headers=headers)
    assert response.status_code == (200 if role is Role.ADMIN else 403)


SEEN = ("/v1/rules", "/v1/keys", "/v1/connectors", "/v1/approvals", "/v1/episodes", "/v1/trajectories", "/v1/models")
BARRED: tuple[tuple[str, str, Any], ...] = (
    ("POST", "/v1/connectors", {"name": "crm", "source": "http://127.0.0.1:1/openapi.json"}),
    ("POST", "/v1/connectors/shop/refresh", {}),
    ("POST", "/v1/connectors/shop/accept", {"digest": "0"}),
    ("DELETE", "/v1/connectors/shop", None),
    ("POST", "/v1/keys", {"principal": "me", "role": "admin"}),
    ("DELETE", "/v1/keys/boot_admin", None),
    ("PUT", "/v1/rules", {"rules": []}),
    ("GET", "/v1/tools", None),
    ("POST", "/v1/episodes", {"task": "t", "model": "local"}),
    ("POST", "/v1/models", {"alias": "local", "provider": "litellm", "target": "openai/x"}),
    ("POST", "/v1/chat/completions", {"model": "local", "messages": [{"role": "user", "content": "hi"}]}),
)


async def test_an_auditor_sees_what_was_done_and_changes_nothing(
    gateway: httpx.AsyncClient, house: House, shop_spec: ConnectorSpec
) -> None:
    await house.catalogue.register(shop_spec)
    await gateway.put("/v1/rules", json={"rules": [{"id": "free", "outcome": "allow"}]})
    headers = await headers_of(house, Role.AUDITOR)
    for path in SEEN:
        assert (await gateway.get(path, headers=headers)).status_code == 200, path
    explained = {"tool": "shop_get_order", "arguments": {"order": 7}}
    assert (await gateway.post("/v1/rules/explain", json=explained, headers=headers)).status_code == 200
    for method, path, body in BARRED:
        response = await gateway.request(method, path, json=body, headers=headers)
        assert response.status_code == 403, (method, path, response.text)


async def test_an_auditor_calls_no_tool_whatever_the_rules_say(
    gateway: httpx.AsyncClient, house: House, shop_spec: ConnectorSpec
) -> None:
    await house.catalogue.register(shop_spec)
    rules = {"rules": [{"id": "free", "roles": ["auditor"], "outcome": "allow"}, {"id": "all", "outcome": "allow"}]}
    assert (await gateway.put("/v1/rules", json=rules)).status_code == 200
    headers = await headers_of(house, Role.AUDITOR)
    for tool, arguments in (("shop_get_order", {"order": 7}), ("shop_add_note", {"text": "x"})):
        answer = await gateway.post(f"/v1/tools/{tool}/call", json={"arguments": arguments}, headers=headers)
        assert (answer.status_code, answer.json()["status"]) == (200, "denied")
    assert [entry.actor for entry in await entries(gateway, action=Action.TOOL_DENIED)] == ["ann", "ann"]


async def test_what_is_done_over_http_is_done_by_whoever_shows_the_key(
    gateway: httpx.AsyncClient, shop_spec: ConnectorSpec
) -> None:
    issued = (await gateway.post("/v1/keys", json={"principal": "ann", "role": "admin"})).json()
    headers = {"Authorization": f"Bearer {issued['key']}"}
    body = shop_spec.model_dump(mode="json", exclude_none=True)
    assert (await gateway.post("/v1/connectors", json=body, headers=headers)).status_code == 201
    assert (await gateway.delete("/v1/connectors/shop", headers=headers)).status_code == 204
    model = {"alias": "local", "provider": "litellm", "target": "openai/x", "api_key": CANARY}
    assert (await gateway.post("/v1/models", json=model, headers=headers)).status_code == 201
    told = await entries(gateway, actor="ann")
    assert [(entry.action, entry.subject, entry.key) for entry in told] == [
        (Action.CONNECTOR_REGISTERED, "shop", issued["info"]["id"]),
        (Action.CONNECTOR_REMOVED, "shop", issued["info"]["id"]),
        (Action.MODEL_REGISTERED, "local", issued["info"]["id"]),
    ]
    assert all(entry.trace for entry in told)
    exported = (await gateway.get("/v1/audit/export")).text
    for secret in (CANARY, issued["key"], str(body["auth"]["value"])):
        assert secret not in exported


async def test_what_is_done_to_tenants_and_seals_is_told(gateway: httpx.AsyncClient, house: House) -> None:
    body = {"name": "sales", "admin": "ada"}
    assert (await gateway.post("/v1/tenants", json=body)).status_code == 201
    assert (await gateway.post("/v1/secrets/rotate")).status_code == 200
    assert (await gateway.delete("/v1/tenants/sales")).status_code == 204
    created, rotated, removed = (await entries(gateway))[-3:]
    assert (created.action, created.subject, created.details) == ("tenant.created", "sales", {"admin": "ada"})
    assert (rotated.action, rotated.details) == ("secrets.rotated", {"credentials": 0})
    assert (removed.action, removed.subject, removed.actor) == ("tenant.removed", "sales", "admin")
    assert AuditHead.parse(str((removed.details or {})["head"])).sequence == 1
    assert (await house.audit.verify()).ok


async def test_who_is_turned_away_is_written_down_without_the_key(gateway: httpx.AsyncClient, house: House) -> None:
    agent = await headers_of(house, Role.AGENT, "bot")
    for _ in range(50):
        await gateway.get("/v1/keys", headers={"Authorization": f"Bearer {CANARY}"})
    await gateway.get("/v1/keys", headers=agent)
    await gateway.post("/v1/keys", json={"principal": CANARY, "role": CANARY})
    await gateway.get(f"/v1/{CANARY}")
    await gateway.get("/v1/approvals/apr_none")
    told = await entries(gateway, action=Action.ACCESS_REFUSED)
    assert {(entry.actor, entry.subject, entry.outcome) for entry in told} == {
        ("nobody", "GET /v1/...", "401"),
        ("bot", "GET /v1/keys", "403"),
        ("admin", "POST /v1/keys", "422"),
        ("admin", "GET /v1/...", "404"),
        ("admin", "GET /v1/approvals/{approval_id}", "404"),
    }
    times = [(entry.details or {})["times"] for entry in told if entry.actor == "nobody"]
    assert sum(int(str(each)) for each in times) == 50
    assert len(times) <= 2
    assert CANARY not in "".join(entry.model_dump_json() for entry in told)


async def test_a_conflict_and_what_went_well_are_no_refusals(
    gateway: httpx.AsyncClient, shop_spec: ConnectorSpec
) -> None:
    body = shop_spec.model_dump(mode="json", exclude_none=True)
    assert (await gateway.post("/v1/connectors", json=body)).status_code == 201
    assert (await gateway.post("/v1/connectors", json=body | {"auth": {"kind": "none"}})).status_code == 409
    assert (await gateway.get("/healthz", headers={"Authorization": ""})).status_code == 200
    assert (await gateway.get("/nothing")).status_code == 404
    assert await entries(gateway, action=Action.ACCESS_REFUSED) == []


async def test_an_export_is_checked_outside_and_taken_up_where_it_ended(gateway: httpx.AsyncClient) -> None:
    exported = await gateway.get("/v1/audit/export")
    assert exported.headers["content-type"].startswith("application/jsonl")
    found = check_lines(exported.text.splitlines())
    assert found.ok
    head = AuditHead.model_validate((await gateway.get("/v1/audit/head")).json())
    assert found.head == head
    checked = AuditCheck.model_validate((await gateway.get("/v1/audit/verify", params={"head": str(head)})).json())
    assert checked == found
    more = await gateway.get("/v1/audit/export", params={"after": head.sequence})
    assert check_lines(more.text.splitlines(), head).ok
    assert json.loads(more.text)["action"] == "audit.exported"


async def test_a_head_of_another_log_does_not_fit(gateway: httpx.AsyncClient) -> None:
    checked = (await gateway.get("/v1/audit/verify", params={"head": f"999:{'0' * 64}"})).json()
    assert (checked["ok"], checked["why"][:13]) == (False, "it is missing")
    for nonsense in ("1", "1:x", f"-1:{'0' * 64}"):
        assert (await gateway.get("/v1/audit/verify", params={"head": nonsense})).status_code == 422


async def test_an_erasure_answers_with_its_receipt(gateway: httpx.AsyncClient) -> None:
    issued = (await gateway.post("/v1/keys", json={"principal": "ada@example.com", "role": "agent"})).json()
    body = {"subject": "ada@example.com", "reason": "request 17"}
    done = Erasure.model_validate((await gateway.post("/v1/audit/erase", json=body)).json())
    assert done.entries == 1
    (erased,) = await entries(gateway, subject=issued["info"]["id"])
    assert erased.details is None
    (told,) = await entries(gateway, action=Action.AUDIT_ERASED)
    assert (told.actor, told.sequence) == ("admin", done.told[0])
    assert "ada@example.com" not in (await gateway.get("/v1/audit/export")).text
    for refused in ({"subject": "ad", "reason": "r"}, {"subject": "ada", "reason": "for Ada"}, {"subject": "ada"}):
        assert (await gateway.post("/v1/audit/erase", json=refused)).status_code in (400, 422)


@pytest.mark.parametrize("wanted", [{"limit": 0}, {"since": "yesterday"}, {"action": "x"}, {"colour": "red"}])
async def test_a_question_that_makes_no_sense_is_refused(gateway: httpx.AsyncClient, wanted: dict[str, str]) -> None:
    assert (await gateway.get("/v1/audit", params=wanted)).status_code == 422
