"""The log beside the ledger and the system's own count: no call without its entries, no entry without its call."""

import asyncio
import signal
from collections import Counter

import httpx
import pytest
from sqlalchemy import select

from practicum.contracts.access import ApprovalAnswer, Outcome, Role, Rule, RuleSet
from practicum.contracts.audit import Action, AuditEntry, AuditQuery
from practicum.contracts.tools import CallStatus
from practicum.errors import NotFoundError
from practicum_gateway.access.principals import Principal
from practicum_gateway.audit.audit import Audit
from practicum_gateway.house import House
from practicum_gateway.invocation.entries import State
from practicum_gateway.invocation.intent import Intent
from practicum_gateway.settings import Settings
from practicum_gateway.store.engine import Store
from practicum_gateway.store.ledger_tables import InvocationRow
from tests.gateway.conftest import spec_of
from tests.gateway.invocation.dying_gateway import Step
from tests.gateway.process import Process, gateway_process
from tests.gateway.shop import SECRET, Shop

ADMIN = Principal(name="root", role=Role.ADMIN, key_id="k0")
BOT = Principal(name="bot", role=Role.AGENT, key_id="k1")
BOB = Principal(name="bob", role=Role.APPROVER, key_id="k2")
FREE = RuleSet(rules=(Rule(id="free", outcome=Outcome.ALLOW),))
CALLS, AT_ONCE = 500, 32


def note(key: str, text: str = "x") -> Intent:
    return Intent(principal=BOT, tool="shop_add_note", arguments={"text": text}, key=key)


async def entries_of(store: Store, *actions: Action) -> list[AuditEntry]:
    """What the log says, oldest first, page by page."""
    audit, found, before = Audit(store), list[AuditEntry](), None
    while page := await audit.list(AuditQuery(limit=1000, before=before)):
        found += page
        before = page[-1].sequence
    return [entry for entry in reversed(found) if not actions or entry.action in actions]


async def require_agreement(store: Store) -> Counter[str]:
    """The ledger's states, once it is sure that the log says the same of every call."""
    async with store.read() as session:
        rows = list(await session.scalars(select(InvocationRow)))
    called = Counter(_invocation(entry) for entry in await entries_of(store, Action.TOOL_CALLED))
    finished = {_invocation(entry): entry.outcome for entry in await entries_of(store, Action.TOOL_FINISHED)}
    assert called.keys() == {row.id for row in rows}
    assert finished == {row.id: row.observation["status"] for row in rows if row.observation is not None}
    assert len(finished) == len(await entries_of(store, Action.TOOL_FINISHED))
    assert (await Audit(store).verify()).ok
    return Counter(row.state for row in rows)


def _invocation(entry: AuditEntry) -> str:
    return str((entry.details or {})["invocation"])


@pytest.fixture
async def free(house: House, shop: Shop) -> House:
    await house.catalogue.register(spec_of(shop))
    await house.rulebook.replace(FREE, ADMIN)
    return house


async def test_ledger_log_and_system_count_the_same(free: House, shop: Shop) -> None:
    turns = asyncio.Semaphore(AT_ONCE)

    async def call(number: int) -> CallStatus:
        async with turns:
            return (await free.pipeline.invoke(note(f"k{number}", f"note {number}"))).status

    statuses = await asyncio.gather(*(call(number) for number in [*range(CALLS), *range(0, CALLS, 10)]))
    assert set(statuses) == {CallStatus.OK}
    assert len(shop.notes) == CALLS
    assert await require_agreement(free.store) == {State.DONE: CALLS}
    called = await entries_of(free.store, Action.TOOL_CALLED)
    assert {(entry.actor, entry.key, entry.outcome) for entry in called} == {("bot", "k1", "started")}
    assert len(called) == CALLS


@pytest.mark.parametrize("step", list(Step))
async def test_wherever_it_is_killed_the_log_agrees_with_the_ledger(step: Step, shop: Shop, settings: Settings) -> None:
    async with gateway_process(settings, program=("tests.gateway.invocation.dying_gateway", step)) as first:
        await furnish(first, shop)
        with pytest.raises(httpx.TransportError):
            await post_note(first)
        assert await first.running.wait() == -signal.SIGKILL
    store = Store(settings.url)
    dead = await require_agreement(store)
    async with gateway_process(settings) as second:
        outcome = (await post_note(second)).json()
    settled = await require_agreement(store)
    assert sum(dead.values()) <= sum(settled.values()) == 1
    assert set(settled) <= {State.DONE, State.IN_DOUBT}
    (ended,) = await entries_of(store, Action.TOOL_FINISHED)
    assert ended.outcome == outcome["status"]
    await store.close()


async def furnish(gateway: Process, shop: Shop) -> None:
    spec = spec_of(shop).model_dump(mode="json", exclude_none=True)
    assert (await gateway.client.post("/v1/connectors", json=spec)).status_code == 201
    assert (await gateway.client.put("/v1/rules", json=FREE.model_dump(mode="json"))).status_code == 200


async def post_note(gateway: Process) -> httpx.Response:
    body = {"arguments": {"text": "once"}, "idempotency_key": "once"}
    return await gateway.client.post("/v1/tools/shop_add_note/call", json=body)


async def test_what_was_not_done_is_told_with_the_reason(house: House, shop: Shop) -> None:
    await house.catalogue.register(spec_of(shop))
    rules = (Rule(id="no-notes", tools=("shop.add_note",), outcome=Outcome.DENY),)
    await house.rulebook.replace(RuleSet(rules=rules), ADMIN)
    assert (await house.pipeline.invoke(note("k1"))).status is CallStatus.DENIED
    unknown = Intent(principal=BOT, tool="other_tool", arguments={}, key="k2", raise_call_errors=True)
    with pytest.raises(NotFoundError):
        await house.pipeline.invoke(unknown)
    denied, missing = await entries_of(house.store, Action.TOOL_DENIED)
    assert (denied.actor, denied.subject, denied.outcome) == ("bot", "shop_add_note", "denied")
    assert denied.details == {"rule": "no-notes", "arguments_hash": note("k1").arguments_hash}
    assert (missing.subject, missing.outcome) == ("other_tool", "not_found")
    assert await require_agreement(house.store) == {}


async def test_a_question_its_answer_and_the_call_follow_each_other(house: House, shop: Shop) -> None:
    await house.catalogue.register(spec_of(shop))
    waiting = await house.pipeline.invoke(note("k1"))
    assert waiting.approval is not None
    asked = await house.approvals.get(waiting.approval)
    answer = ApprovalAnswer(approve=True, arguments_hash=asked.arguments_hash, reason="fine")
    await house.approvals.answer(asked.id, BOB, answer)
    await house.approvals.answer(asked.id, BOB, answer)
    await house.pipeline.invoke(note("k1"))
    told = (await entries_of(house.store))[-4:]
    assert [(entry.action, entry.actor) for entry in told] == [
        (Action.APPROVAL_ASKED, "bot"),
        (Action.APPROVAL_APPROVED, "bob"),
        (Action.TOOL_CALLED, "bot"),
        (Action.TOOL_FINISHED, "bot"),
    ]
    assert [entry.subject for entry in told[:2]] == [asked.id, asked.id]
    assert (told[2].details or {})["approval"] == asked.id
    assert (told[1].details or {})["reason"] == "fine"


async def test_no_credential_is_in_any_entry(free: House) -> None:
    await free.pipeline.invoke(note("k1", f"my key is {SECRET}"))
    await free.pipeline.invoke(Intent(principal=BOT, tool="shop_mirror", arguments={}, key="k2"))
    with pytest.raises(NotFoundError):
        await free.pipeline.invoke(
            Intent(principal=BOT, tool="nothing", arguments={"k": SECRET}, key="k3", raise_call_errors=True)
        )
    await free.catalogue.remove("shop")
    entries = await entries_of(free.store)
    assert {entry.action for entry in entries} > {Action.TOOL_CALLED, Action.TOOL_DENIED, Action.CONNECTOR_REMOVED}
    assert any("my key is" in entry.model_dump_json() for entry in entries)
    assert SECRET not in "".join(entry.model_dump_json() for entry in entries)
