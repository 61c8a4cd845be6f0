"""Delivery: written with the question, carried until it arrives, by nobody who would wait for anybody else."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import SQLAlchemyError

from practicum.contracts.access import Approval, ApprovalAnswer, Role
from practicum.contracts.base import utc_now
from practicum.contracts.webhooks import NewWebhook, WebhookRequest
from practicum_gateway.access.approvals import Approvals, Question
from practicum_gateway.access.principals import Principal
from practicum_gateway.audit.log import entry_of
from practicum_gateway.metrics.meter import Meter
from practicum_gateway.store.access_tables import ApprovalRow
from practicum_gateway.store.audit_tables import AuditRow
from practicum_gateway.store.engine import Store
from practicum_gateway.store.vault import Vault, new_key
from practicum_gateway.store.webhook_tables import WebhookMessageRow
from practicum_gateway.webhooks.couriers import Couriers
from practicum_gateway.webhooks.delivery import pause_after
from practicum_gateway.webhooks.outbox import Outbox
from practicum_gateway.webhooks.webhooks import Webhooks
from tests.gateway.access.test_approvals import BOB, QUESTION, YES
from tests.gateway.conftest import until
from tests.gateway.webhooks.chat import Chat

VAULT = Vault(new_key())
BASE = "http://gateway.example"


class Office:
    """Approvals of a tenant, with webhooks that try again at once."""

    def __init__(self, store: Store, *, public_url: str | None = None) -> None:
        self.store = store
        self.outbox = Outbox("sales", public_url)
        self.meter = Meter()
        self.pause = 0.02
        couriers = Couriers(store, pause=lambda _: self.pause, seconds=300, meter=self.meter)
        self.webhooks = Webhooks(store, VAULT, self.outbox, couriers)
        self.approvals = Approvals(store, notices=self.outbox)

    async def add(self, url: str, name: str = "chat") -> NewWebhook:
        request = WebhookRequest(name=name, url=f"{url}/hook?token=canary", private_network=True)
        return await self.webhooks.add(request, answers_at=BASE)

    async def ask(self, question: Question = QUESTION) -> Approval:
        return (await self.approvals.ask(question))[0]

    def counted(self, outcome: str) -> float:
        return self.meter.deliveries.families()[0].points.get((outcome,), 0)

    async def waiting(self, *, tries: int = 0) -> int:
        """How many messages wait that were tried so often."""
        query = select(func.count()).select_from(WebhookMessageRow).where(WebhookMessageRow.tries >= tries)
        async with self.store.read() as session:
            return await session.scalar(query) or 0

    async def all_told(self, *, but: int = 0, tries: int = 0) -> None:
        """Wait until no message is left, but for some, of those that were tried so often."""
        async with asyncio.timeout(30):
            while await self.waiting(tries=tries) != but:  # noqa: ASYNC110  # it is the store that is looked at
                await asyncio.sleep(0.02)

    async def noted(self, action: str) -> list[dict[str, object]]:
        async with self.store.read() as session:
            rows = await session.scalars(select(AuditRow).where(AuditRow.action == action))
            return [{"actor": row.actor, **(entry_of(row).details or {})} for row in rows]


@pytest.fixture
async def office(store: Store) -> AsyncIterator[Office]:
    office = Office(store)
    await office.webhooks.open()
    yield office
    await office.webhooks.close()


async def test_a_question_arrives_signed_and_its_end_too(office: Office, chat: Chat) -> None:
    made = await office.add(chat.url)
    asked = await office.ask()
    await until(lambda: chat.kinds == ["approval.requested"])
    (told,) = chat.told
    assert told.is_signed_with(made.secret)
    assert not told.is_signed_with(made.answer_secret)
    assert told.data is not None
    url = f"{BASE}/v1/approvals/{asked.id}"
    assert told.data["answer_url"] == f"{url}/callback?webhook=sales.chat"
    assert (told.data["url"], told.data["preview_url"]) == (url, f"{url}/preview")
    shared = ("tool", "effect", "arguments", "arguments_hash", "requested_by", "rule", "status")
    assert {name: told.data[name] for name in shared} == {
        name: value for name, value in asked.model_dump(mode="json").items() if name in shared
    }
    await office.approvals.answer(asked.id, BOB, YES)
    await until(lambda: chat.kinds == ["approval.requested", "approval.decided"])
    (decided,) = chat.arrived("approval.decided")
    assert (decided["status"], decided["decided_by"], decided["answer_url"]) == ("approved", "bob", None)
    await office.all_told()
    (shown,) = await office.webhooks.list()
    assert shown.last is not None
    assert (shown.last.ok, shown.waiting, shown.origin) == (True, 0, chat.url)


async def test_what_fails_is_sent_again_under_the_same_id(
    office: Office, chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    made = await office.add(chat.url)
    chat.moods = [500, 307, 429]
    await office.ask()
    await until(lambda: len(chat.told) == 4)
    assert len({told.id for told in chat.told}) == 1
    assert [told.status for told in chat.told] == [500, 307, 429, 204]
    await until(lambda: office.counted("delivered") == 1)
    assert office.counted("failed") == 3
    assert "answered 500" in caplog.text
    for secret in (made.secret, made.answer_secret, "canary", '"amount"'):
        assert secret not in caplog.text


async def test_a_slow_and_a_dead_receiver_hold_up_nobody(office: Office, chat: Chat) -> None:
    await office.add("http://127.0.0.1:9", "dead")
    await office.add(chat.url, "first")
    chat.moods = ["hold"]
    await office.ask()
    await until(lambda: chat.moods == [])
    await office.add(chat.url, "second")
    another = await office.ask(replace(QUESTION, key="k2"))
    await until(lambda: [asked["approval"] for asked in chat.arrived("approval.requested")] == [another.id])
    listed = {each.name: each for each in await office.webhooks.list()}
    assert listed["dead"].failures > 0
    assert listed["dead"].last is not None
    assert "cannot be reached" in listed["dead"].last.said
    assert listed["first"].waiting == 2


async def test_a_courier_begins_again_after_what_nobody_foresaw(
    store: Store, chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    def pause(tries: int) -> float:
        raise ValueError(f"canary {tries}")

    office = Office(store)
    office.webhooks = Webhooks(store, VAULT, office.outbox, Couriers(store, pause=pause, trouble=0.02))
    await office.add(chat.url)
    chat.moods = [500, 500]
    await office.ask()
    await until(lambda: len(chat.arrived("approval.requested")) == 1)
    await office.webhooks.close()
    assert caplog.text.count("messages of webhook 'chat' wait 0.02 s: unexpected ValueError") == 2
    assert "canary" not in caplog.text


async def test_what_arrived_while_the_store_was_full_does_not_arrive_again(store: Store, chat: Chat) -> None:
    office = Office(store)
    office.webhooks = Webhooks(store, VAULT, office.outbox, Couriers(store, trouble=0.02))
    await office.add(chat.url)
    chat.moods = ["hold"]
    await office.ask()
    await until(lambda: chat.moods == [])
    async with store.write() as session:
        await session.execute(text("ALTER TABLE webhooks RENAME TO away"))
    chat.released.set()
    await until(lambda: len(chat.told) == 1)
    await asyncio.sleep(0.2)
    async with store.write() as session:
        await session.execute(text("ALTER TABLE away RENAME TO webhooks"))
    await office.all_told(but=1)  # that nobody answered waits for its time
    await office.webhooks.close()
    assert chat.kinds == ["approval.requested"]


async def test_a_webhook_that_could_not_be_removed_is_still_there(office: Office, chat: Chat) -> None:
    await office.add(chat.url)
    async with office.store.write() as session:
        await session.execute(text("ALTER TABLE webhook_answers RENAME TO away"))
    with pytest.raises(SQLAlchemyError):
        await office.webhooks.remove("chat")
    async with office.store.write() as session:
        await session.execute(text("ALTER TABLE away RENAME TO webhook_answers"))
    await office.ask()
    await until(lambda: chat.kinds == ["approval.requested"])
    await office.webhooks.remove("chat")


async def test_what_a_gateway_left_undelivered_the_next_one_delivers(store: Store, chat: Chat) -> None:
    before = Office(store)
    await before.webhooks.open()
    made = await before.add(chat.url)
    chat.moods = [503]
    await before.webhooks._couriers.close()  # pyright: ignore[reportPrivateUsage]  # as if the process had ended
    asked = await before.ask()
    assert chat.told == []
    after = Office(store)
    await after.webhooks.open()
    await until(lambda: len(chat.arrived("approval.requested")) == 1)
    await after.webhooks.close()
    assert chat.arrived("approval.requested")[0]["approval"] == asked.id
    assert chat.told[-1].is_signed_with(made.secret)


async def test_nobody_answered_in_time(store: Store, chat: Chat) -> None:
    office = Office(store, public_url="https://agents.example.com")
    await office.webhooks.open()
    await office.add(chat.url)
    asked = await office.ask()
    await until(lambda: chat.kinds == ["approval.requested"])
    moment = utc_now()
    async with store.write() as session:
        late = WebhookMessageRow.kind == "approval.expired"
        await session.execute(update(WebhookMessageRow).where(late).values(due=moment))
        await session.execute(update(ApprovalRow).values(expires=moment))
    office.outbox.announce()
    await until(lambda: chat.kinds == ["approval.requested", "approval.expired"])
    (expired,) = chat.arrived("approval.expired")
    assert (expired["approval"], expired["answer_url"], expired["status"]) == (asked.id, None, "expired")
    assert expired["url"] == f"https://agents.example.com/v1/approvals/{asked.id}", "what was set goes first"
    await office.webhooks.close()


async def test_a_question_that_nobody_waits_for_is_withdrawn(office: Office, chat: Chat) -> None:
    await office.add(chat.url)
    first = await office.ask(replace(QUESTION, episode="e1"))
    await until(lambda: len(chat.told) == 1)
    await office.ask(replace(QUESTION, episode="e1", rule="stricter"))
    await until(lambda: len(chat.told) == 3)
    await office.approvals.cancel_of_episode("e1")
    await until(lambda: len(chat.told) == 4)
    assert sorted(chat.kinds) == ["approval.requested"] * 2 + ["approval.withdrawn"] * 2
    assert first.id in {data["approval"] for data in chat.arrived("approval.withdrawn")}
    await office.all_told()


async def test_a_question_that_is_closed_before_it_was_told_is_asked_no_more(office: Office, chat: Chat) -> None:
    await office.add(chat.url)
    office.pause = 600
    chat.moods = [500]
    asked = await office.ask()
    await office.all_told(but=1, tries=1)
    await office.approvals.answer(asked.id, BOB, ApprovalAnswer(approve=False, arguments_hash="a" * 64))
    await office.all_told()
    assert [(told.kind, told.status) for told in chat.told] == [("approval.requested", 500), ("approval.decided", 204)]
    assert await office.noted("webhook.gave_up") == []


async def test_what_is_given_up_is_in_the_audit_log(
    office: Office, chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    await office.add(chat.url)
    chat.moods = [410, *[500] * 1000]
    gone = await office.ask()
    await until(lambda: len(chat.told) == 1)
    late = await office.ask(replace(QUESTION, key="k2"))
    await until(lambda: len(chat.told) == 2)
    moment = utc_now() - timedelta(seconds=1)
    async with office.store.write() as session:
        for_good = WebhookMessageRow.kind == "approval.requested"
        await session.execute(update(WebhookMessageRow).where(for_good).values(ends=moment))
    await until(lambda: caplog.text.count("is given up") == 2)
    noted = await office.noted("webhook.gave_up")
    assert [(each["actor"], each["approval"]) for each in noted] == [("gateway", gone.id), ("gateway", late.id)]
    assert (noted[0]["attempts"], noted[0]["said"]) == (1, "answered 410")
    assert office.counted("given_up") == 2


async def test_other_secrets_and_the_old_ones_for_a_while(office: Office, chat: Chat) -> None:
    first = await office.add(chat.url)
    second = await office.webhooks.rotate("chat", timedelta(hours=1))
    await office.ask()
    await until(lambda: len(chat.told) == 1)
    assert chat.told[0].is_signed_with(first.secret)
    assert chat.told[0].is_signed_with(second.secret)
    third = await office.webhooks.rotate("chat", timedelta(0))
    await office.ask(replace(QUESTION, key="k2"))
    await until(lambda: len(chat.told) == 2)
    assert chat.told[1].is_signed_with(third.secret)
    assert not chat.told[1].is_signed_with(second.secret)
    assert [entry["actor"] for entry in await office.noted("webhook.rotated")] == ["gateway"] * 2


async def test_who_answered_without_a_webhook_is_told_to_nobody(office: Office) -> None:
    asked = await office.ask()
    await office.approvals.answer(asked.id, Principal(name="eve", role=Role.APPROVER, key_id="k"), YES)
    assert await office.waiting() == 0


def test_pauses_grow_and_differ() -> None:
    pauses = [pause_after(tries) for tries in range(1, 31)]
    assert 0.8 <= pauses[0] <= 1.2
    assert max(pauses) <= 3600 * 1.2
    assert 12 * 3600 < sum(pauses) < 30 * 3600
    assert len(set(pauses)) == len(pauses)
