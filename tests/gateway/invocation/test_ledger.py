"""The ledger through crashes: whatever a process left behind, nothing is done twice and nothing is forgotten."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from practicum.contracts.base import utc_now
from practicum.contracts.tools import CallStatus, Observation
from practicum.errors import ConflictError
from practicum_gateway.access.approvals import Approvals
from practicum_gateway.invocation.entries import UPSTREAM_MEMORY, Entry, Resend, State
from practicum_gateway.invocation.ledger import Ledger
from practicum_gateway.store.engine import Store
from practicum_gateway.store.ledger_tables import InvocationRow
from tests.gateway.invocation.conftest import call

INTENT = call("shop_add_note", {"text": "once"}, episode="ep_1", step=2, call=1)
DONE = Observation(status=CallStatus.OK, content="done", http_status=201)


@pytest.fixture
async def next_store(store: Store, store_url: str) -> AsyncIterator[Store]:
    """The same file, opened by another process."""
    _ = store
    opened = Store(store_url)
    yield opened
    await opened.close()


async def claim(store: Store, ledger: Ledger, resend: Resend) -> Entry:
    return await ledger.claim(INTENT, INTENT.arguments, resend, approvals=Approvals(store), approval=None)


async def test_an_outcome_is_remembered_by_the_next_process(store: Store, next_store: Store) -> None:
    ledger = Ledger(store)
    entry = await claim(store, ledger, Resend.NEVER)
    await ledger.mark_sent(entry)
    await ledger.settle(entry, DONE, 0.25)
    after = Ledger(next_store)
    assert await after.recover() == ()
    known = await after.recall(INTENT)
    assert known is not None
    assert (known.state, known.observation) == (State.DONE, DONE)
    (invocation,) = await after.of_episode("ep_1")
    assert (invocation.step, invocation.call, invocation.seconds) == (2, 1, 0.25)
    assert invocation.arguments == {"text": "once"}


async def test_what_was_claimed_and_not_sent_is_taken_over(store: Store, next_store: Store) -> None:
    before = await claim(store, Ledger(store), Resend.NEVER)
    after = Ledger(next_store)
    assert await after.recover() == ()
    known = await after.recall(INTENT)
    assert known is not None
    assert known.observation is None
    again = await claim(next_store, after, Resend.NEVER)
    assert (again.id, again.state, again.upstream_key) == (before.id, State.CLAIMED, before.upstream_key)


@pytest.mark.parametrize("swept", [True, False])
async def test_what_was_sent_and_not_recorded_is_in_doubt_for_good(
    store: Store, next_store: Store, *, swept: bool
) -> None:
    ledger = Ledger(store)
    await ledger.mark_sent(await claim(store, ledger, Resend.NEVER))
    after = Ledger(next_store)
    if swept:
        (lost,) = await after.recover()
        assert (lost.state, lost.episode, lost.step, lost.call) == (State.IN_DOUBT, "ep_1", 2, 1)
        assert await after.recover() == ()
    known = await after.recall(INTENT)
    assert known is not None
    assert known.observation is not None
    assert known.observation.status is CallStatus.IN_DOUBT
    (invocation,) = await after.of_episode("ep_1")
    assert invocation.observation.status is CallStatus.IN_DOUBT


async def test_in_one_process_too_a_call_that_was_not_recorded_is_in_doubt(store: Store) -> None:
    ledger = Ledger(store)
    await ledger.mark_sent(await claim(store, ledger, Resend.NEVER))
    known = await ledger.recall(INTENT)
    assert known is not None
    assert known.state is State.IN_DOUBT


@pytest.mark.parametrize("resend", [Resend.ALWAYS, Resend.SOON])
async def test_what_may_be_sent_again_keeps_its_upstream_key(store: Store, next_store: Store, resend: Resend) -> None:
    ledger = Ledger(store)
    before = await claim(store, ledger, resend)
    await ledger.mark_sent(before)
    after = Ledger(next_store)
    assert await after.recover() == ()
    known = await after.recall(INTENT)
    assert known is not None
    assert known.observation is None
    assert (await claim(next_store, after, resend)).upstream_key == before.upstream_key


async def test_a_system_is_not_trusted_to_remember_a_key_for_ever(store: Store, next_store: Store) -> None:
    ledger = Ledger(store)
    await ledger.mark_sent(await claim(store, ledger, Resend.SOON))
    async with store.write() as session:
        long_ago = utc_now() - UPSTREAM_MEMORY - timedelta(seconds=1)
        await session.execute(update(InvocationRow).values(sent=long_ago))
    assert [entry.state for entry in await Ledger(next_store).recover()] == [State.IN_DOUBT]


async def test_nor_where_another_took_the_call_up_and_did_not_live_to_send_it(store: Store, next_store: Store) -> None:
    ledger = Ledger(store)
    await ledger.mark_sent(await claim(store, ledger, Resend.SOON))
    await claim(next_store, Ledger(next_store), Resend.SOON)
    async with store.write() as session:
        long_ago = utc_now() - UPSTREAM_MEMORY - timedelta(seconds=1)
        await session.execute(update(InvocationRow).values(sent=long_ago))
    known = await Ledger(store).recall(INTENT)
    assert known is not None
    assert known.state is State.IN_DOUBT


async def test_sending_again_does_not_lengthen_that_memory(store: Store) -> None:
    ledger = Ledger(store)
    await ledger.mark_sent(await claim(store, ledger, Resend.SOON))
    almost = utc_now() - UPSTREAM_MEMORY + timedelta(seconds=30)
    async with store.write() as session:
        await session.execute(update(InvocationRow).values(sent=almost))
    await ledger.mark_sent(await claim(store, ledger, Resend.SOON))
    async with store.read() as session:
        assert (await session.scalars(select(InvocationRow.sent))).one() == almost


async def test_a_key_stands_for_one_call(store: Store) -> None:
    ledger = Ledger(store)
    await claim(store, ledger, Resend.NEVER)
    for other in (
        call("shop_add_note", {"text": "twice"}, episode="ep_1"),
        call("shop_create_refund", {"text": "once"}, episode="ep_1"),
    ):
        with pytest.raises(ConflictError):
            await ledger.recall(other)
        with pytest.raises(ConflictError):
            await ledger.claim(other, {}, Resend.NEVER, approvals=Approvals(store), approval=None)
    assert await ledger.recall(call("shop_add_note", {"text": "twice"}, episode="ep_2")) is None


async def test_an_approval_that_cannot_be_spent_claims_nothing(store: Store) -> None:
    ledger = Ledger(store)
    with pytest.raises(ConflictError):
        await ledger.claim(INTENT, {}, Resend.NEVER, approvals=Approvals(store), approval="apr_nobody")
    assert await ledger.recall(INTENT) is None


async def test_two_gateways_never_share_an_upstream_key(store: Store, next_store: Store) -> None:
    first = await claim(store, Ledger(store), Resend.SOON)
    other = call("shop_add_note", {"text": "once"}, key="k2", episode="ep_1")
    second = await Ledger(next_store).claim(other, {}, Resend.SOON, approvals=Approvals(next_store), approval=None)
    assert first.upstream_key != second.upstream_key
