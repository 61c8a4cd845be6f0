"""What the rules would say, asked over HTTP; nothing is called."""

import httpx
import pytest

from practicum.contracts.access import Outcome, Role, Rule, RuleSet
from practicum.contracts.base import JsonObject
from practicum.contracts.connectors import ConnectorSpec
from practicum_gateway.access.principals import Principal
from practicum_gateway.house import House
from tests.gateway.conftest import KeyOf
from tests.gateway.shop import Shop

SMALL: JsonObject = {"properties": {"amount": {"maximum": 100}}, "required": ["amount"]}


@pytest.fixture
async def ruled(house: House, shop_spec: ConnectorSpec) -> House:
    await house.catalogue.register(shop_spec)
    small = Rule(
        id="small", tools=("shop.create_refund",), principals=("refund-*",), arguments=SMALL, outcome=Outcome.ALLOW
    )
    await house.rulebook.replace(RuleSet(rules=(small,)), Principal(name="root", role=Role.ADMIN, key_id="k"))
    return house


async def test_it_says_what_the_pipeline_would_decide(gateway: httpx.AsyncClient, ruled: House, shop: Shop) -> None:
    _ = ruled
    asked = {"tool": "shop.create_refund", "arguments": {"order": 1, "amount": 5}, "principal": "refund-bot"}
    found = (await gateway.post("/v1/rules/explain", json=asked)).json()
    assert (found["decision"]["outcome"], found["decision"]["rule"]) == ("allow", "small")
    for change in ({"principal": "eve"}, {"arguments": {"order": 1, "amount": 500}}):
        other = (await gateway.post("/v1/rules/explain", json=asked | change)).json()
        assert (other["decision"]["outcome"], [one["matched"] for one in other["considered"]]) == (
            "ask",
            [False, False, True],
        )
    assert (await gateway.post("/v1/rules/explain", json=asked | {"role": "worker"})).json()["decision"][
        "outcome"
    ] == "deny"
    assert shop.refunds == []


async def test_an_unknown_tool_and_a_caller_without_the_right_are_refused(
    gateway: httpx.AsyncClient, ruled: House, key_of: KeyOf
) -> None:
    _ = ruled
    assert (await gateway.post("/v1/rules/explain", json={"tool": "shop_nothing"})).status_code == 404
    answer = await gateway.post("/v1/rules/explain", json={"tool": "shop.create_refund"}, headers=key_of("worker"))
    assert answer.status_code == 403
