"""Budgets: what a call spends, who shares a pot, and that no more is spent than there is."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from practicum.contracts.access import Budget, Outcome, Role, Rule, RuleSet, Share
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.tools import CallStatus, Effect, Tool
from practicum.errors import BudgetError, RequestError
from practicum_gateway.access.budgets import spendings
from practicum_gateway.access.principals import Actor, Principal
from practicum_gateway.access.rules import check
from practicum_gateway.house import House
from practicum_gateway.invocation.intent import Intent
from practicum_gateway.store.budget_tables import SpendingRow
from tests.gateway.conftest import spec_of
from tests.gateway.shop import Shop

ADMIN = Principal(name="root", role=Role.ADMIN, key_id="k0")
BOT = Principal(name="bot", role=Role.AGENT, key_id="k1")
EVE = Principal(name="eve", role=Role.AGENT, key_id="k2")
FREE = Rule(id="free", outcome=Outcome.ALLOW)
REFUND = Tool(
    name="erp_refund",
    connector="erp",
    operation="refund",
    description="",
    input_schema={},
    effect=Effect.MONEY,
    method="POST",
    path="/refunds",
)
MONEY = Budget(id="refunds", tools=("*.create_refund",), money=100, amount="/amount")


def amount(arguments: JsonObject, pointer: str) -> float | None:
    budget = Budget(id="a", money=1, amount=pointer)
    (found,) = spendings(RuleSet(budgets=(budget,)), REFUND, Actor("bot", Role.AGENT), None, arguments)
    return found.amount


@pytest.mark.parametrize(
    ("arguments", "pointer", "read"),
    [
        ({"amount": 5}, "/amount", 5.0),
        ({"amount": "12.50"}, "/amount", 12.5),
        ({"amount": -7}, "/amount", 7.0),
        ({"lines": [{"a/b": 3}]}, "/lines/0/a~1b", 3.0),
        ({"amount": True}, "/amount", None),
        ({"amount": "much"}, "/amount", None),
        ({"amount": "NaN"}, "/amount", None),
        ({"amount": "1e999"}, "/amount", None),
        ({}, "/amount", None),
        ({"amount": {"value": 1}}, "/amount", None),
        ({"lines": []}, "/lines/0", None),
    ],
)
def test_the_amount_of_a_call(arguments: JsonObject, pointer: str, read: float | None) -> None:
    assert amount(arguments, pointer) == read


def test_who_shares_a_pot() -> None:
    budgets = tuple(Budget(id=share, share=share, calls=1) for share in Share)
    rules = RuleSet(budgets=(*budgets, Budget(id="ann", principals=("ann",), calls=1), Budget(id="t", tokens=1)))
    found = spendings(rules, REFUND, Actor("bot", Role.AGENT), "ep_1", {})
    assert {one.budget.id: one.pot for one in found} == {
        "tenant": "tenant",
        "principal": "principal:bot",
        "episode": "episode:ep_1",
    }
    outside = spendings(rules, REFUND, Actor("ann", Role.AGENT), None, {})
    assert {one.budget.id for one in outside} == {"tenant", "principal", "ann"}


@given(st.lists(st.sampled_from(["calls", "tokens", "money"]), unique=True))
def test_a_budget_is_of_one_thing(given_: list[str]) -> None:
    made = Budget.model_validate({"id": "a", "amount": "/x" if "money" in given_ else None, **dict.fromkeys(given_, 5)})
    if len(given_) == 1:
        check(RuleSet(budgets=(made,)))
        return
    with pytest.raises(RequestError, match="exactly one"):
        check(RuleSet(budgets=(made,)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"money": 5},
        {"calls": 5, "amount": "/x"},
        {"tokens": 5, "tools": ("erp.*",)},
        {"tokens": 5, "effects": ("read",)},
        {"id": "free", "calls": 5},
    ],
)
def test_a_budget_that_could_not_be_held_is_refused(wrong: dict[str, Any]) -> None:
    made = Budget.model_validate({"id": "a"} | wrong)
    with pytest.raises(RequestError):
        check(RuleSet(rules=(FREE,), budgets=(made,)))


def refund(amount: float, key: str, principal: Principal = BOT, **more: Any) -> Intent:
    arguments: JsonObject = {"order": 1, "amount": amount}
    return Intent(principal=principal, tool="shop_create_refund", arguments=arguments, key=key, **more)


Budgeted = Callable[..., Any]


@pytest.fixture
async def stocked(house: House, shop: Shop) -> House:
    await house.catalogue.register(spec_of(shop))
    return house


async def put(house: House, *budgets: Budget) -> None:
    await house.rulebook.replace(RuleSet(rules=(FREE,), budgets=budgets), ADMIN)


async def test_no_more_money_goes_out_than_there_is_however_many_ask_at_once(stocked: House, shop: Shop) -> None:
    await put(stocked, MONEY)
    asked = [stocked.pipeline.invoke(refund(30, f"k{number}")) for number in range(12)]
    statuses = [one.status for one in await asyncio.gather(*asked)]
    assert (statuses.count(CallStatus.OK), statuses.count(CallStatus.DENIED)) == (3, 9)
    assert sum(one.amount for one in shop.refunds) == 90
    assert (await stocked.pipeline.invoke(refund(10, "last"))).status is CallStatus.OK
    denied = await stocked.pipeline.invoke(refund(0.01, "over"))
    assert "The budget 'refunds' of 100 in money" in denied.content
    assert (await stocked.pipeline.invoke(refund(30, "eve", EVE))).status is CallStatus.OK, "a pot of her own"


async def test_a_repeated_call_spends_once_and_money_that_did_not_go_out_comes_back(stocked: House, shop: Shop) -> None:
    await put(stocked, MONEY)
    for _ in range(5):
        assert (await stocked.pipeline.invoke(refund(60, "same"))).status is CallStatus.OK
    shop.moods["create_refund"] = ["refuse"]
    assert (await stocked.pipeline.invoke(refund(40, "refused"))).status is CallStatus.ERROR
    assert (await stocked.pipeline.invoke(refund(40, "again"))).status is CallStatus.OK
    shop.moods["create_refund"] = ["lose", "lose"]
    await put(stocked, MONEY.model_copy(update={"money": 150}))
    assert (await stocked.pipeline.invoke(refund(50, "lost"))).status is CallStatus.IN_DOUBT
    assert (await stocked.pipeline.invoke(refund(1, "after"))).status is CallStatus.DENIED, "it may have gone out"


async def test_calls_in_a_time_and_there_is_room_again_after_it(stocked: House) -> None:
    await put(stocked, Budget(id="rate", calls=2, seconds=60))
    for number in range(2):
        assert (await stocked.pipeline.invoke(refund(1, f"k{number}"))).status is CallStatus.OK
    denied = await stocked.pipeline.invoke(refund(1, "third"))
    assert (denied.status, "room again in" in denied.content) == (CallStatus.DENIED, True)
    async with stocked.store.write() as session:
        await session.execute(update(SpendingRow).values(at=utc_now() - timedelta(seconds=61)))
    assert (await stocked.pipeline.invoke(refund(1, "third"))).status is CallStatus.OK


async def test_an_amount_that_cannot_be_told_is_not_sent(stocked: House, shop: Shop) -> None:
    await put(stocked, MONEY.model_copy(update={"amount": "/total"}))
    denied = await stocked.pipeline.invoke(refund(1, "k"))
    assert (denied.status, shop.refunds) == (CallStatus.DENIED, [])
    assert "no amount at /total" in denied.content


async def test_tokens_are_counted_and_the_next_turn_is_refused(house: House) -> None:
    await put(house, Budget(id="tokens", tokens=100, seconds=3600), Budget(id="all", tokens=150, share=Share.TENANT))
    bot, eve = Actor("bot", Role.AGENT), Actor("eve", Role.AGENT)
    await house.pipeline._budgets.require_tokens(bot, None)  # pyright: ignore[reportPrivateUsage]
    budgets = house.pipeline._budgets  # pyright: ignore[reportPrivateUsage]
    await budgets.spend_tokens(bot, "ep_1", 99)
    await budgets.require_tokens(bot, "ep_1")
    await budgets.spend_tokens(bot, "ep_1", 20)
    with pytest.raises(BudgetError) as caught:
        await budgets.require_tokens(bot, "ep_1")
    assert (caught.value.status, (caught.value.retry_after or 0) > 3000) == (429, True)
    await budgets.require_tokens(eve, None)
    await budgets.spend_tokens(eve, None, 40)
    with pytest.raises(BudgetError, match="'all' of 150 tokens for tenant"):
        await budgets.require_tokens(eve, None)


async def test_without_budgets_nothing_is_written(stocked: House) -> None:
    await put(stocked)
    await stocked.pipeline.invoke(refund(1, "k"))
    async with stocked.store.read() as session:
        assert await session.scalar(select(func.count()).select_from(SpendingRow)) == 0
