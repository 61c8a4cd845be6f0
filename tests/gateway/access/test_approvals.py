"""Approvals: asked once, answered once, by somebody else, for exactly one call."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from practicum.contracts.access import Approval, ApprovalAnswer, ApprovalStatus, Role
from practicum.contracts.base import utc_now
from practicum.contracts.tools import Effect, Tool
from practicum.errors import ConflictError, ForbiddenError, GatewayUnavailableError, NotFoundError
from practicum_gateway.access.approvals import Approvals, Question
from practicum_gateway.access.principals import Principal
from practicum_gateway.store.access_tables import ApprovalRow
from practicum_gateway.store.engine import Store

REFUND = Tool(
    name="erp_refund",
    connector="erp",
    operation="refund",
    description="",
    input_schema={"type": "object"},
    effect=Effect.MONEY,
    method="POST",
    path="/refunds",
)
QUESTION = Question(
    scope="principal:ann",
    key="k1",
    requested_by="ann",
    tool=REFUND,
    arguments={"amount": 10},
    arguments_hash="a" * 64,
    rule="built-in.ask",
    revision="r1",
)
BOB = Principal(name="bob", role=Role.APPROVER, key_id="kb")
YES = ApprovalAnswer(approve=True, arguments_hash="a" * 64, reason="fine")
NO = ApprovalAnswer(approve=False, arguments_hash="a" * 64)


@pytest.fixture
def approvals(store: Store) -> Approvals:
    return Approvals(store)


async def asked(approvals: Approvals, question: Question = QUESTION) -> Approval:
    return (await approvals.ask(question))[0]


async def let_expire(store: Store) -> None:
    async with store.write() as session:
        await session.execute(update(ApprovalRow).values(expires=utc_now() - timedelta(seconds=1)))


async def use(store: Store, approvals: Approvals, approval: str) -> None:
    async with store.write() as session:
        await session.run_sync(lambda within: approvals.use(within.connection(), approval))


async def test_asking_twice_asks_once(approvals: Approvals) -> None:
    first, is_new = await approvals.ask(QUESTION)
    again, is_new_again = await approvals.ask(QUESTION)
    assert (is_new, is_new_again) == (True, False)
    assert again == first
    assert first.status is ApprovalStatus.PENDING
    assert timedelta(hours=23) < first.expires - first.created <= timedelta(hours=24)


async def test_a_yes_can_be_used_once(approvals: Approvals, store: Store) -> None:
    approval = await asked(approvals)
    with pytest.raises(ConflictError):
        await use(store, approvals, approval.id)
    answered = await approvals.answer(approval.id, BOB, YES)
    assert (answered.status, answered.decided_by, answered.reason) == (ApprovalStatus.APPROVED, "bob", "fine")
    await use(store, approvals, approval.id)
    with pytest.raises(ConflictError):
        await use(store, approvals, approval.id)
    assert (await approvals.get(approval.id)).status is ApprovalStatus.USED


async def test_nobody_answers_their_own_question_not_even_an_admin(approvals: Approvals) -> None:
    approval = await asked(approvals)
    for role in (Role.APPROVER, Role.ADMIN):
        with pytest.raises(ForbiddenError, match="somebody else"):
            await approvals.answer(approval.id, Principal(name="ann", role=role, key_id="other"), YES)
    assert (await approvals.get(approval.id)).status is ApprovalStatus.PENDING
    admin = Principal(name="root", role=Role.ADMIN, key_id="k")
    assert (await approvals.answer(approval.id, admin, YES)).status is ApprovalStatus.APPROVED


@pytest.mark.parametrize("role", [Role.AGENT, Role.DEVELOPER, Role.WORKER])
async def test_only_approvers_answer(approvals: Approvals, role: Role) -> None:
    approval = await asked(approvals)
    with pytest.raises(ForbiddenError, match="may not answer"):
        await approvals.answer(approval.id, Principal(name="carl", role=role, key_id="k"), YES)


async def test_an_answer_about_other_arguments_is_refused(approvals: Approvals) -> None:
    approval = await asked(approvals)
    with pytest.raises(ConflictError, match="other arguments"):
        await approvals.answer(approval.id, BOB, ApprovalAnswer(approve=True, arguments_hash="b" * 64))


async def test_the_same_answer_may_be_repeated_and_another_may_not(approvals: Approvals, store: Store) -> None:
    approval = await asked(approvals)
    first = await approvals.answer(approval.id, BOB, YES)
    await use(store, approvals, approval.id)
    assert (await approvals.answer(approval.id, BOB, YES)).decided_by == first.decided_by
    with pytest.raises(ConflictError):
        await approvals.answer(approval.id, BOB, NO)
    with pytest.raises(ConflictError):
        await approvals.answer(approval.id, Principal(name="eve", role=Role.APPROVER, key_id="k"), YES)


async def test_of_two_answers_at_once_one_counts(approvals: Approvals) -> None:
    approval = await asked(approvals)
    eve = Principal(name="eve", role=Role.APPROVER, key_id="k")
    results = await asyncio.gather(
        approvals.answer(approval.id, BOB, YES), approvals.answer(approval.id, eve, NO), return_exceptions=True
    )
    assert sum(isinstance(result, ConflictError) for result in results) == 1


async def test_a_question_expires(approvals: Approvals, store: Store) -> None:
    approval = await asked(approvals)
    await let_expire(store)
    assert (await approvals.get(approval.id)).status is ApprovalStatus.EXPIRED
    assert await approvals.list(status=ApprovalStatus.PENDING) == ()
    assert [one.id for one in await approvals.list(status=ApprovalStatus.EXPIRED)] == [approval.id]
    with pytest.raises(ConflictError, match="expired"):
        await approvals.answer(approval.id, BOB, YES)


async def test_a_yes_expires_too(approvals: Approvals, store: Store) -> None:
    approval = await asked(approvals)
    await approvals.answer(approval.id, BOB, YES)
    await let_expire(store)
    with pytest.raises(ConflictError):
        await use(store, approvals, approval.id)


async def test_a_key_asks_about_one_call_only(approvals: Approvals) -> None:
    await asked(approvals)
    with pytest.raises(ConflictError):
        await approvals.ask(replace(QUESTION, arguments_hash="c" * 64))


@pytest.mark.parametrize("change", [{"rule": "stricter"}, {"revision": "r2"}, {"requested_by": "eve"}])
async def test_another_rule_asks_anew_and_withdraws_the_first_question(
    approvals: Approvals, change: dict[str, str]
) -> None:
    first = await asked(approvals)
    await approvals.answer(first.id, BOB, YES)
    second = await asked(approvals, replace(QUESTION, **change))
    assert second.status is ApprovalStatus.PENDING
    assert (await approvals.get(first.id)).status is ApprovalStatus.CANCELLED


async def test_an_ended_episode_withdraws_its_questions(approvals: Approvals) -> None:
    mine = await asked(approvals, replace(QUESTION, scope="episode:e1", episode="e1", step=0, call=0))
    other = await asked(approvals, replace(QUESTION, scope="episode:e2", episode="e2", step=0, call=0))
    await approvals.cancel_of_episode("e1")
    assert approvals.meter.approvals.families()[0].points == {("asked",): 2.0, ("cancelled",): 1.0}
    assert (await approvals.get(mine.id)).status is ApprovalStatus.CANCELLED
    assert [one.id for one in await approvals.list(episode="e2")] == [other.id]
    assert (await approvals.get(other.id)).status is ApprovalStatus.PENDING


async def test_the_answer_is_stored_before_anybody_is_told_and_can_be_told_again(approvals: Approvals) -> None:
    told: list[ApprovalStatus] = []
    down = True

    async def tell(approval: Approval) -> None:
        told.append((await approvals.get(approval.id)).status)
        if down:
            raise GatewayUnavailableError("the workflow cannot be reached")

    approvals.on_answer = tell
    approval = await asked(approvals)
    with pytest.raises(GatewayUnavailableError):
        await approvals.answer(approval.id, BOB, YES)
    down = False
    await approvals.answer(approval.id, BOB, YES)
    assert told == [ApprovalStatus.APPROVED, ApprovalStatus.APPROVED]


async def test_an_unknown_approval_is_said_so(approvals: Approvals) -> None:
    with pytest.raises(NotFoundError):
        await approvals.get("apr_nobody")
    with pytest.raises(NotFoundError):
        await approvals.answer("apr_nobody", BOB, YES)
