"""Calls that wait for a person."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from practicum.contracts.access import ApprovalAnswer, ApprovalStatus, Outcome, Rule, RuleSet
from practicum.contracts.base import utc_now
from practicum.contracts.tools import CallStatus, Observation
from practicum.errors import CallError, ConflictError, ForbiddenError
from practicum_gateway.house import House
from practicum_gateway.store.access_tables import ApprovalRow
from tests.gateway.invocation.conftest import ADMIN, BOB, BOT, call
from tests.gateway.shop import SECRET, Shop

REFUND = {"order": 1, "amount": 30}


async def ask(house: House, key: str = "k") -> Observation:
    return await house.pipeline.invoke(call("shop_create_refund", REFUND, key=key))


async def answer(house: House, observation: Observation, *, approve: bool, reason: str | None = None) -> None:
    approval = await house.approvals.get(str(observation.approval))
    said = ApprovalAnswer(approve=approve, arguments_hash=approval.arguments_hash, reason=reason)
    await house.approvals.answer(approval.id, BOB, said)


async def test_what_moves_money_is_asked_and_sent_after_a_yes_once(stocked: House, shop: Shop) -> None:
    waiting = await ask(stocked)
    assert waiting.status is CallStatus.WAITING
    assert await ask(stocked) == waiting
    assert shop.refunds == []
    approval = await stocked.approvals.get(str(waiting.approval))
    assert approval.arguments == REFUND
    assert (approval.requested_by, approval.tool, approval.rule) == ("bot", "shop_create_refund", "built-in.ask")
    await answer(stocked, waiting, approve=True)
    done = await ask(stocked)
    assert done.status is CallStatus.OK
    assert await ask(stocked) == done
    assert len(shop.refunds) == 1
    assert (await stocked.approvals.get(approval.id)).status is ApprovalStatus.USED
    assert (await ask(stocked, key="again")).status is CallStatus.WAITING


async def test_a_no_is_told_with_its_reason(stocked: House, shop: Shop) -> None:
    waiting = await ask(stocked)
    await answer(stocked, waiting, approve=False, reason="not without a photo")
    denied = await ask(stocked)
    assert denied.status is CallStatus.DENIED
    assert "not without a photo" in denied.content
    assert shop.refunds == []


async def test_nobody_approves_their_own_call(stocked: House) -> None:
    observation = await stocked.pipeline.invoke(call("shop_create_refund", REFUND, principal=ADMIN))
    approval = await stocked.approvals.get(str(observation.approval))
    said = ApprovalAnswer(approve=True, arguments_hash=approval.arguments_hash)
    with pytest.raises(ForbiddenError):
        await stocked.approvals.answer(approval.id, ADMIN, said)
    with pytest.raises(ForbiddenError):
        await stocked.approvals.answer(approval.id, BOT, said)


async def test_an_approval_that_expired_denies(stocked: House, shop: Shop) -> None:
    waiting = await ask(stocked)
    await answer(stocked, waiting, approve=True)
    async with stocked.store.write() as session:
        await session.execute(update(ApprovalRow).values(expires=utc_now() - timedelta(seconds=1)))
    denied = await ask(stocked)
    assert denied.status is CallStatus.DENIED
    assert "in time" in denied.content
    assert shop.refunds == []


async def test_a_yes_holds_for_these_arguments_only(stocked: House, shop: Shop) -> None:
    waiting = await ask(stocked)
    await answer(stocked, waiting, approve=True)
    with pytest.raises(ConflictError):
        await stocked.pipeline.invoke(call("shop_create_refund", {**REFUND, "amount": 3000}))
    assert shop.refunds == []


async def test_a_yes_does_not_outrank_a_rule_that_denies_since(stocked: House, shop: Shop) -> None:
    waiting = await ask(stocked)
    await answer(stocked, waiting, approve=True)
    await stocked.rulebook.replace(RuleSet(rules=(Rule(id="never", outcome=Outcome.DENY),)), ADMIN)
    assert (await ask(stocked)).status is CallStatus.DENIED
    assert shop.refunds == []


async def test_a_yes_to_one_rule_is_not_a_yes_to_another(stocked: House, shop: Shop) -> None:
    waiting = await ask(stocked)
    await answer(stocked, waiting, approve=True)
    await stocked.rulebook.replace(RuleSet(rules=(Rule(id="stricter", outcome=Outcome.ASK),)), ADMIN)
    asked_again = await ask(stocked)
    assert asked_again.status is CallStatus.WAITING
    assert asked_again.approval != waiting.approval
    assert shop.refunds == []


async def test_a_yes_holds_for_the_rule_as_it_stood_and_other_rules_do_not_matter(stocked: House, shop: Shop) -> None:
    rule = Rule(id="refunds", tools=("shop.create_*",), outcome=Outcome.ASK)
    await stocked.rulebook.replace(RuleSet(rules=(rule,)), ADMIN)
    waiting = await ask(stocked)
    await answer(stocked, waiting, approve=True)
    wider = rule.model_copy(update={"tools": ("shop.*",)})
    await stocked.rulebook.replace(RuleSet(rules=(wider,)), ADMIN)
    assert (await ask(stocked)).approval != waiting.approval
    await answer(stocked, await ask(stocked), approve=True)
    other = Rule(id="notes", tools=("shop.add_note",), outcome=Outcome.DENY)
    await stocked.rulebook.replace(RuleSet(rules=(other, wider)), ADMIN)
    assert (await ask(stocked)).status is CallStatus.OK
    assert len(shop.refunds) == 1


async def test_nobody_is_asked_about_a_call_that_does_not_fit(stocked: House) -> None:
    with pytest.raises(CallError):
        await stocked.pipeline.invoke(call("shop_create_refund", {"order": 1}, raise_call_errors=True))
    assert await stocked.approvals.list() == ()


async def test_an_approver_does_not_see_the_credential(stocked: House) -> None:
    observation = await stocked.pipeline.invoke(call("shop_add_note", {"text": f"key: {SECRET}"}))
    approval = await stocked.approvals.get(str(observation.approval))
    assert SECRET not in approval.model_dump_json()
