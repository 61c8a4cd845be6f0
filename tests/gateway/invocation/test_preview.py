"""What a call that waits would change: read through the same rules, never more than whoever asked may see."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, HTTPException, Request
from hypothesis import given
from hypothesis import strategies as st

from practicum.contracts.access import Outcome, Role, Rule, RuleSet
from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ConnectorSpec
from practicum.contracts.tools import Effect, Tool
from practicum_gateway.access.principals import Principal
from practicum_gateway.house import House
from practicum_gateway.invocation.preview import matching_read
from practicum_gateway.store.engine import new_id
from tests.gateway.conftest import KeyOf, Serve
from tests.gateway.invocation.conftest import ADMIN, call

BOT = Principal(name="bot", role=Role.AGENT, key_id="k1")


def tool(method: str, path: str, *required: str) -> Tool:
    return Tool(
        name=f"{method}_{path}".replace("/", "_"),
        connector="crm",
        operation="x",
        description="",
        input_schema={"properties": {name: {} for name in required}, "required": list(required)},
        effect=Effect.READ if method == "GET" else Effect.UPDATE,
        method=method,
        path=path,
    )


CUSTOMER = tool("GET", "/customers/{id}", "id")
LIST = tool("GET", "/customers")
STRICT = tool("GET", "/orders/{id}", "id", "tenant")


@pytest.mark.parametrize(
    ("waiting", "arguments", "read"),
    [
        (tool("PATCH", "/customers/{customer_id}"), {"id": 1}, CUSTOMER),
        (tool("DELETE", "/customers/{id}/"), {"id": 1}, CUSTOMER),
        (tool("POST", "/customers/{id}/refunds"), {"id": 1, "amount": 5}, CUSTOMER),
        (tool("POST", "/customers"), {"name": "x"}, None),
        (tool("PUT", "/orders/{id}"), {"id": 1}, None),
        (tool("PUT", "/orders/{id}"), {"id": 1, "tenant": 2}, STRICT),
        (tool("POST", "/elsewhere"), {}, None),
    ],
)
def test_the_read_of_what_would_change(waiting: Tool, arguments: JsonObject, read: Tool | None) -> None:
    assert matching_read(waiting, [LIST, CUSTOMER, STRICT, waiting], arguments) == read


@given(st.text(alphabet="/{}ab", max_size=12))
def test_no_path_breaks_the_search(path: str) -> None:
    assert matching_read(tool("POST", path), [LIST, CUSTOMER], {}) in (None, LIST, CUSTOMER)


class Crm:
    """Customers that can be changed, and looked at unless they are hidden."""

    def __init__(self) -> None:
        self.customers: dict[int, JsonObject] = {1: {"id": 1, "name": "Ada", "level": "gold", "city": "Bern"}}
        self.hidden = False

    def app(self) -> FastAPI:
        app = FastAPI(title="CRM", version="1")

        @app.get("/customers/{customer_id}", operation_id="get_customer")
        async def get_customer(customer_id: int) -> JsonObject:
            if self.hidden or customer_id not in self.customers:
                raise HTTPException(404)
            return {"data": {"customer": self.customers[customer_id]}}

        @app.patch("/customers/{customer_id}", operation_id="change_customer")
        async def change_customer(customer_id: int, request: Request) -> JsonObject:
            self.customers[customer_id] |= await request.json()
            return self.customers[customer_id]

        @app.delete("/customers/{customer_id}", operation_id="delete_customer")
        async def delete_customer(customer_id: int) -> JsonObject:
            return {"data": {"customer": self.customers.pop(customer_id)}}

        @app.put("/customers/{customer_id}", operation_id="replace_customer")
        async def replace_customer(customer_id: int, request: Request) -> JsonObject:
            self.customers[customer_id] = await request.json()
            return self.customers[customer_id]

        @app.post("/letters", operation_id="send_letter")
        async def send_letter() -> JsonObject:
            return {}

        _ = (get_customer, change_customer, delete_customer, replace_customer, send_letter)
        return app

    def document(self) -> JsonObject:
        document: Any = self.app().openapi()
        level: dict[str, Any] = {
            "type": "object",
            "properties": {"level": {"type": "string"}, "note": {"type": "string"}},
        }
        body: JsonObject = {"content": {"application/json": {"schema": level}}}
        document["paths"]["/customers/{customer_id}"]["patch"]["requestBody"] = body
        whole = {**level, "properties": {"customer_id": {"type": "integer"}, **level["properties"]}}
        put = {"content": {"application/json": {"schema": whole}}, "required": True}
        document["paths"]["/customers/{customer_id}"]["put"]["requestBody"] = put
        return document


@pytest.fixture
async def crm(house: House, serve: Serve) -> AsyncIterator[Crm]:
    crm = Crm()
    async with serve(crm.app()) as url:
        spec = ConnectorSpec(name="crm", document=crm.document(), base_url=url, private_network=True)
        await house.catalogue.register(spec)
        yield crm


async def asked(house: House, tool: str, arguments: dict[str, Any]) -> str:
    waiting = await house.pipeline.invoke(call(tool, arguments, key=new_id("k"), principal=BOT))
    assert waiting.approval is not None
    return waiting.approval


async def test_what_stands_there_stands_beside_what_the_call_says(
    gateway: httpx.AsyncClient, house: House, crm: Crm, key_of: KeyOf
) -> None:
    approval = await asked(house, "crm_change_customer", {"customer_id": 1, "level": "silver", "note": "late"})
    found = (await gateway.get(f"/v1/approvals/{approval}/preview", headers=key_of("approver"))).json()
    assert found["read_with"] == "crm_get_customer"
    assert '"level":"gold"' in found["record"]
    assert found["changes"] == [
        {"where": "level", "before": "gold", "after": "silver"},
        {"where": "note", "before": None, "after": "late"},
    ]
    assert crm.customers[1]["level"] == "gold"
    waiting = (await gateway.get(f"/v1/approvals/{approval}")).json()
    assert waiting["status"] == "pending"


async def test_a_body_that_is_one_argument_is_compared_member_by_member_and_a_deletion_is_called_one(
    house: House, crm: Crm
) -> None:
    _ = crm
    approval = await asked(house, "crm_replace_customer", {"customer_id": 1, "body": {"level": "silver"}})
    found = await house.previews.of(await house.approvals.get(approval))
    assert [(each.where, each.before, each.after) for each in found.changes] == [("level", "gold", "silver")]
    approval = await asked(house, "crm_delete_customer", {"customer_id": 1})
    found = await house.previews.of(await house.approvals.get(approval))
    assert (found.note, found.changes) == ("The call deletes this record.", ())


@pytest.mark.parametrize(("outcome", "word"), [(Outcome.DENY, "denies"), (Outcome.ASK, "asks a person")])
async def test_nobody_learns_more_by_asking_and_a_look_asks_nothing(
    house: House, crm: Crm, outcome: Outcome, word: str
) -> None:
    rules = RuleSet(rules=(Rule(id="secret", tools=("crm.get_customer",), outcome=outcome),))
    await house.rulebook.replace(rules, ADMIN)
    approval = await asked(house, "crm_change_customer", {"customer_id": 1, "level": "silver"})
    found = await house.previews.of(await house.approvals.get(approval))
    assert (found.record, found.changes) == (None, ())
    assert word in (found.note or "")
    assert [one.id for one in await house.approvals.list()] == [approval]
    assert crm.customers[1]["level"] == "gold"


async def test_what_cannot_be_read_is_said(house: House, crm: Crm) -> None:
    letter = await asked(house, "crm_send_letter", {})
    assert "no operation that reads" in ((await house.previews.of(await house.approvals.get(letter))).note or "")
    crm.hidden = True
    approval = await asked(house, "crm_change_customer", {"customer_id": 1, "level": "silver"})
    found = await house.previews.of(await house.approvals.get(approval))
    assert (found.read_with, found.record) == ("crm_get_customer", None)
    assert "could not be read" in (found.note or "")
    await house.catalogue.remove("crm")


async def test_a_preview_is_for_people_who_answer_and_not_for_the_agent_that_asks(
    gateway: httpx.AsyncClient, house: House, crm: Crm, key_of: KeyOf
) -> None:
    _ = crm
    approval = await asked(house, "crm_change_customer", {"customer_id": 1, "level": "silver"})
    for principal, role in (("bot", "agent"), ("other", "agent"), ("eve", "auditor")):
        issued = (await gateway.post("/v1/keys", json={"principal": principal, "role": role})).json()
        headers = {"Authorization": f"Bearer {issued['key']}"}
        for name in (approval, "none"):
            answer = await gateway.get(f"/v1/approvals/{name}/preview", headers=headers)
            assert (answer.status_code, "Ada" in answer.text) == (403, False), (principal, name)
    assert (await gateway.get(f"/v1/approvals/{approval}/preview", headers=key_of("approver"))).status_code == 200
    assert (await gateway.get("/v1/approvals/none/preview")).status_code == 404
