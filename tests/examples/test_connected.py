"""The example systems behind the product's own connectors, over real HTTP: what an agent's calls go through."""

from collections.abc import AsyncGenerator

import httpx
import pytest

from examples.systems.world import SYSTEMS
from examples.tasks import generate
from examples.tasks.families import FAMILIES
from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ApiKeyAuth, Auth, BearerAuth, ClientCredentialsAuth, ConnectorSpec
from practicum.contracts.tasks import Split, States, Task
from practicum.contracts.tools import CallStatus, Effect, Observation
from practicum.tasks import states_of, verify
from practicum_connectors.connector import CompiledConnector, load_source
from tests.examples.loopback import CREDENTIALS, Clock, fetch_token

AUTH: dict[str, Auth] = {
    "crm": ApiKeyAuth(value=CREDENTIALS.crm_api_key),
    "erp": ClientCredentialsAuth(client_id=CREDENTIALS.erp_client_id, client_secret=CREDENTIALS.erp_client_secret),
    "cicd": BearerAuth(token=CREDENTIALS.cicd_token),
}
TASKS = [task for task in generate(Split.HELD_OUT, 2 * len(FAMILIES)) if task.id.endswith(".0") or not task.expected]
"""One of each family, and those that find nothing to change."""


@pytest.fixture
async def connectors(addresses: dict[str, str]) -> AsyncGenerator[dict[str, CompiledConnector]]:
    made: dict[str, CompiledConnector] = {}
    for name, url in addresses.items():
        spec = ConnectorSpec(
            name=name, source=f"{url}/openapi.json", base_url=url, auth=AUTH[name], private_network=True
        )
        made[name] = CompiledConnector.compile(spec, await load_source(spec))
    yield made
    for connector in made.values():
        await connector.aclose()


@pytest.fixture
def systems(crm: httpx.Client, erp: httpx.Client, cicd: httpx.Client) -> dict[str, httpx.Client]:
    return {"crm": crm, "erp": erp, "cicd": cicd}


def state_of(systems: dict[str, httpx.Client]) -> States:
    return states_of({name: systems[name].get("/_practice/state").raise_for_status().json() for name in SYSTEMS})


def delivered_order(erp: httpx.Client) -> int:
    return erp.get("/orders", params={"status": "delivered"}).raise_for_status().json()["items"][0]["id"]


def effects(erp: httpx.Client) -> int:
    erp.headers["Authorization"] = f"Bearer {fetch_token(erp)}"
    return erp.get("/_practice/effects").raise_for_status().json()["count"]


async def call(connectors: dict[str, CompiledConnector], tool: str, arguments: JsonObject, key: str) -> Observation:
    connector = connectors[tool.partition("_")[0]]
    return connector.observe(await connector.send(connector.prepare(tool, arguments), idempotency_key=key))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
async def test_a_reference_solution_works_through_connectors(
    task: Task, connectors: dict[str, CompiledConnector], systems: dict[str, httpx.Client]
) -> None:
    for name, client in systems.items():
        client.put("/_practice/state", json=task.start.get(name, {})).raise_for_status()
    for number, wish in enumerate(task.reference):
        observation = await call(connectors, wish.tool, wish.arguments, f"{task.id}:{number}:0")
        assert observation.status is CallStatus.OK, observation.content
        assert observation.warnings == ()
    assert verify(task, task.start, state_of(systems), task.conclusion).differences == ()


async def test_every_operation_becomes_an_exact_tool(connectors: dict[str, CompiledConnector]) -> None:
    reports = {name: connector.report for name, connector in connectors.items()}
    assert {name: len(report) for name, report in reports.items()} == {"crm": 6, "erp": 7, "cicd": 7}
    assert [entry for report in reports.values() for entry in report if entry.fidelity != "exact"] == []
    effects = {tool.name: tool.effect for connector in connectors.values() for tool in connector.tools.values()}
    assert effects["erp_create_refund"] is Effect.MONEY
    reading = {name for name, effect in effects.items() if effect is Effect.READ}
    assert reading == {
        "crm_find_customers",
        "crm_get_customer",
        "crm_list_notes",
        "erp_list_orders",
        "erp_get_order",
        "erp_get_product",
        "cicd_latest_build",
        "cicd_get_build",
        "cicd_build_log",
        "cicd_get_deployment",
    }


async def test_a_repeated_key_reaches_the_erp_and_has_one_effect(
    connectors: dict[str, CompiledConnector], erp: httpx.Client
) -> None:
    order = delivered_order(erp)
    answers = [await call(connectors, "erp_create_refund", {"order_id": order, "amount": 1}, "same") for _ in range(2)]
    assert answers[0].content == answers[1].content
    assert effects(erp) == 1


async def test_an_expired_token_is_renewed_without_a_second_effect(
    connectors: dict[str, CompiledConnector], erp: httpx.Client, clock: Clock
) -> None:
    order = delivered_order(erp)
    assert (await call(connectors, "erp_get_order", {"order_id": order}, "a")).status is CallStatus.OK
    clock.now += 121
    message: JsonObject = {"order_id": order, "text": "broken"}
    assert (await call(connectors, "erp_message_warehouse", message, "b")).status is CallStatus.OK
    assert effects(erp) == 1


async def test_a_business_rule_reaches_the_model(connectors: dict[str, CompiledConnector], erp: httpx.Client) -> None:
    order = delivered_order(erp)
    refused = await call(connectors, "erp_create_refund", {"order_id": order, "amount": 100_000}, "c")
    assert (refused.status, refused.http_status) == (CallStatus.ERROR, 409)
    assert "can still be refunded" in refused.content
