"""The demo's access rules: its own work goes through, a large refund asks, and nothing else slips by."""

import json

import pytest

from examples.demo.setting import RULES
from examples.demo.tasks import shown_tasks
from practicum.contracts.access import Outcome, Role, RuleSet
from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Effect, Tool
from practicum_gateway.access.principals import Actor
from practicum_gateway.access.rules import check, decide

RULE_SET = RuleSet.model_validate_json(RULES.read_bytes())
EFFECTS = {"create_refund": Effect.MONEY, "delete_note": Effect.DELETE, "adjust_stock": Effect.UPDATE}


def _outcome(address: str, arguments: JsonObject, effect: Effect | None = None) -> Outcome:
    connector, _, operation = address.partition(".")
    tool = Tool(
        name=f"{connector}_{operation}",
        connector=connector,
        operation=operation,
        description="",
        input_schema={},
        effect=effect or EFFECTS.get(operation, Effect.CREATE),
        method="POST",
        path="/",
    )
    return decide(RULE_SET, tool, Actor("ann", Role.ADMIN), arguments).outcome


def test_the_rules_can_be_set() -> None:
    check(RULE_SET)


@pytest.mark.parametrize(("amount", "outcome"), [(100, "allow"), (100.0, "allow"), (100.01, "ask"), (5000, "ask")])
def test_refunds_above_100_ask(amount: float, outcome: str) -> None:
    assert _outcome("erp.create_refund", {"order_id": 1, "amount": amount}) == outcome


@pytest.mark.parametrize("address", ["erp.adjust_stock", "crm.delete_note", "cicd.delete_note", "hr.add_note"])
def test_what_the_demo_does_not_need_asks(address: str) -> None:
    assert _outcome(address, {}) is Outcome.ASK


def test_the_shown_tasks_need_one_person_once() -> None:
    outcomes = {
        json.dumps([task.family, call.tool]): _outcome(call.tool.replace("_", ".", 1), call.arguments)
        for task in shown_tasks()
        for call in task.reference
    }

    asking = [json.loads(step) for step, outcome in outcomes.items() if outcome is Outcome.ASK]
    assert asking == [["refund_full", "erp_create_refund"]]
    assert Outcome.DENY not in outcomes.values()
