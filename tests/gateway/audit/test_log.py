"""The log in a store: appended with the deed, checked, erased from, kept for as long as it has to be."""

import asyncio
import contextlib
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, update

from practicum.audit import check_lines
from practicum.contracts.access import KeyRequest, Role, RuleSet
from practicum.contracts.audit import Action, AuditEntry, AuditQuery, EraseRequest
from practicum.contracts.base import utc_now
from practicum.errors import RequestError
from practicum_gateway.access.keys import Keys
from practicum_gateway.access.principals import Principal
from practicum_gateway.access.rulebook import Rulebook
from practicum_gateway.audit.audit import Audit
from practicum_gateway.audit.erasure import RANGES_TOLD, proof_of
from practicum_gateway.audit.log import TABLE, VALUE_BYTES, Deed, append
from practicum_gateway.audit.refusals import MOST_KINDS, Refused
from practicum_gateway.audit.who import GATEWAY, NOBODY, Who, acting_as
from practicum_gateway.store.engine import Store

ADA = Who("ada", "developer", "key_1")
ROOT = Principal(name="root", role=Role.ADMIN, key_id="key_0")


def deed(subject: str = "crm_get_order", **details: Any) -> Deed:
    return Deed(Action.TOOL_CALLED, subject, details=details, who=ADA)


@pytest.fixture
def audit(store: Store) -> Audit:
    return Audit(store)


async def everything(audit: Audit) -> tuple[AuditEntry, ...]:
    """The whole log, oldest first."""
    return (await audit.list(AuditQuery(limit=1000)))[::-1]


async def comes(audit: Audit, action: Action) -> None:
    """Wait for an entry that somebody else writes."""
    for _ in range(500):
        if await audit.list(AuditQuery(action=action)):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it was not written")


async def test_an_entry_says_who_did_what_to_what(audit: Audit) -> None:
    await audit.note(
        Deed(Action.TOOL_DENIED, "crm_delete", "denied", "ep_1", {"rule": "r1", "none": None}, ADA, "t" * 32)
    )
    (entry,) = await everything(audit)
    assert (entry.actor, entry.role, entry.key) == ("ada", "developer", "key_1")
    assert (entry.action, entry.subject, entry.outcome) == ("tool.denied", "crm_delete", "denied")
    assert (entry.episode, entry.trace, entry.details) == ("ep_1", "t" * 32, {"rule": "r1"})
    assert entry.head == await audit.head()


async def test_who_acts_is_whoever_was_let_in_last(audit: Audit) -> None:
    await audit.note(Deed(Action.KEY_ISSUED, "k"))
    with acting_as(ADA):
        await asyncio.create_task(audit.note(Deed(Action.KEY_ISSUED, "k")))
    assert [entry.actor for entry in await everything(audit)] == [GATEWAY.name, "ada"]


async def test_an_entry_is_there_with_its_deed_or_not_at_all(store: Store, audit: Audit) -> None:
    keys, book = Keys(store), Rulebook(store)
    issued = await keys.issue(KeyRequest(principal="bob", role=Role.AGENT))
    await book.replace(RuleSet(), ROOT)
    with contextlib.suppress(RuntimeError):
        async with store.write() as session:
            await append(session, deed())
            raise RuntimeError
    await keys.revoke(issued.info.id)
    await keys.revoke(issued.info.id)
    entries = await everything(audit)
    assert [(entry.action, entry.actor) for entry in entries] == [
        (Action.KEY_ISSUED, "gateway"),
        (Action.RULES_REPLACED, "root"),
        (Action.KEY_REVOKED, "gateway"),
    ]
    assert issued.key[-20:] not in "".join(entry.model_dump_json() for entry in entries)
    assert (await audit.verify()).ok


async def test_keys_of_an_installation_are_noted_when_they_change(store: Store, audit: Audit) -> None:
    keys = Keys(store)
    for secret in ("x" * 24, "x" * 24, "y" * 24):
        await keys.install(secret, "admin", Role.ADMIN)
    assert [entry.subject for entry in await everything(audit)] == ["boot_admin", "boot_admin"]


async def test_many_who_write_at_once_make_one_chain(store: Store, audit: Audit) -> None:
    async def write(number: int) -> None:
        async with store.write() as session:
            await append(session, deed(n=number), deed(n=-number))

    await asyncio.gather(*(write(number) for number in range(1, 41)))
    found = await audit.verify()
    assert (found.ok, found.entries) == (True, 80)
    numbers = [(entry.details or {})["n"] for entry in await everything(audit)]
    assert sorted(map(str, numbers)) == sorted(str(sign * n) for n in range(1, 41) for sign in (1, -1))
    assert all(int(str(one)) == -int(str(other)) for one, other in zip(numbers[::2], numbers[1::2], strict=True))


async def test_what_is_large_is_left_out_and_said_to_be(audit: Audit) -> None:
    await audit.note(deed(arguments={"text": "x" * VALUE_BYTES}, rule="r"))
    await audit.note(deed("n\0" + "s" * 500, who="\ud800", number=float("nan")))
    first, second = await everything(audit)
    assert second.details == {"who": "\ufffd", "number": {"left_out": "no JSON"}}
    assert first.details == {"arguments": {"left_out_bytes": VALUE_BYTES + 11}, "rule": "r"}
    assert second.subject == "n?" + "s" * 198
    assert (await audit.verify()).ok


FILTERS: tuple[tuple[dict[str, Any], list[int]], ...] = (
    ({}, [4, 3, 2, 1]),
    ({"actor": "ada"}, [3, 1]),
    ({"action": Action.TOOL_DENIED}, [4]),
    ({"subject": "b"}, [2]),
    ({"episode": "ep_1"}, [3]),
    ({"after": 2}, [4, 3]),
    ({"before": 3}, [2, 1]),
    ({"after": 1, "before": 4, "limit": 1}, [3]),
    ({"actor": "ada", "subject": "b"}, []),
)


@pytest.mark.parametrize(("wanted", "found"), FILTERS)
async def test_entries_are_found_newest_first(audit: Audit, wanted: dict[str, Any], found: list[int]) -> None:
    bob = Who("bob", "agent", "key_2")
    for each in (
        Deed(Action.TOOL_CALLED, "a", who=ADA),
        Deed(Action.TOOL_CALLED, "b", who=bob),
        Deed(Action.TOOL_CALLED, "c", who=ADA, episode="ep_1"),
        Deed(Action.TOOL_DENIED, "a", who=bob),
    ):
        await audit.note(each)
    assert [entry.sequence for entry in await audit.list(AuditQuery(**wanted))] == found


async def test_entries_are_found_by_their_moment(audit: Audit) -> None:
    await audit.note(deed())
    between = utc_now()
    await audit.note(deed())
    assert [entry.sequence for entry in await audit.list(AuditQuery(since=between))] == [2]
    assert [entry.sequence for entry in await audit.list(AuditQuery(until=between))] == [1]


@pytest.mark.parametrize(
    "change",
    [{"outcome": "failed"}, {"details": '{"n":9}'}, {"details": '{"n":'}, {"details": None, "salt": None}],
)
async def test_who_changes_a_row_behind_the_gateways_back_is_found(
    store: Store, audit: Audit, change: dict[str, Any]
) -> None:
    for number in range(4):
        await audit.note(deed(n=number))
    async with store.write() as session:
        await session.execute(update(TABLE).where(TABLE.c.sequence == 3).values(**change))
    found = await audit.verify()
    assert (found.ok, found.broken) == (False, 3)


async def test_who_cuts_the_end_off_is_found_by_the_head_that_was_noted(store: Store, audit: Audit) -> None:
    for number in range(4):
        await audit.note(deed(n=number))
    noted = await audit.head()
    async with store.write() as session:
        await session.execute(delete(TABLE).where(TABLE.c.sequence > 2))
    assert (await audit.verify()).ok
    assert (await audit.verify(noted)).broken == 3
    await audit.note(deed())
    await audit.note(deed())
    assert (await audit.verify(noted)).broken == 4


async def test_an_export_holds_outside(audit: Audit) -> None:
    for number in range(3):
        await audit.note(deed(n=number))
    with acting_as(ADA):
        lines = [line async for line in audit.export()]
    found = check_lines(lines)
    assert (found.ok, found.entries, found.head) == (True, 4, await audit.head())
    assert AuditEntry.model_validate_json(lines[-1]).action == Action.AUDIT_EXPORTED
    more = [line async for line in audit.export(after=4)]
    assert check_lines(more, found.head).ok
    assert len(more) == 1


async def test_what_the_log_says_of_somebody_is_erased_with_a_proof(audit: Audit) -> None:
    said: tuple[dict[str, Any], ...] = (
        {"arguments": {"mail": "Ada@example.com"}},
        {"arguments": {"note": "ask ada@example.com, please"}},
        {"arguments": {"mail": "nada@example.com"}},
        {"arguments": {"ada@example.com": [1]}},
        {"n": 1},
    )
    for details in said:
        await audit.note(deed(**details))
    before = await everything(audit)
    done = await audit.erase(EraseRequest(subject="ada@example.com", reason="Request 17"))
    assert (done.entries, done.touched, done.told) == (3, ((1, 2), (4, 4)), (6,))
    after = await everything(audit)
    assert [entry.details is None for entry in after] == [True, True, False, True, False, False]
    assert [entry.hash for entry in after[:5]] == [entry.hash for entry in before]
    told = after[-1].details or {}
    assert told["touched"] == [[1, 2], [4, 4]]
    assert told["proof"] == proof_of(done.receipt, "ada@example.com")
    found = await audit.verify(done.head)
    assert (found.ok, found.erased) == (True, 3)
    whole = "".join([line async for line in audit.export()])
    assert '"ada@example.com' not in whole.lower()
    assert done.receipt not in whole


async def test_an_erasure_is_not_erased_and_its_reason_names_nobody(audit: Audit) -> None:
    await audit.note(deed(mail="ada@example.com"))
    with pytest.raises(RequestError, match="reason"):
        await audit.erase(EraseRequest(subject="ada@example.com", reason="Ada@example.com asked"))
    await audit.erase(EraseRequest(subject="ada@example.com", reason="request seventeen"))
    again = await audit.erase(EraseRequest(subject="seventeen", reason="another"))
    assert (again.entries, again.touched, len(again.told)) == (0, (), 1)
    assert (await audit.verify()).ok


async def test_an_erasure_of_many_places_is_told_in_several_entries(audit: Audit, store: Store) -> None:
    async with store.write() as session:
        await append(session, *(deed(who="ada" if n % 2 else "bob") for n in range(RANGES_TOLD * 2 + 4)))
    done = await audit.erase(EraseRequest(subject="bob", reason="r"))
    assert (done.entries, len(done.told)) == (RANGES_TOLD + 2, 2)
    found = await audit.verify()
    assert (found.ok, found.erased) == (True, RANGES_TOLD + 2)


async def test_entries_are_kept_for_ever_or_for_days(store: Store, audit: Audit) -> None:
    for number in range(3):
        await audit.note(deed(n=number))
    noted, later = await audit.head(), utc_now() + timedelta(days=31)
    assert await audit.trim(later) == 0
    monthly = Audit(store, days=30)
    assert await monthly.trim() == 0
    assert await monthly.trim(later) == 3
    (kept,) = await everything(audit)
    assert (kept.sequence, kept.action, kept.actor) == (4, Action.AUDIT_PRUNED, "gateway")
    for found in (await audit.verify(), await audit.verify(noted)):
        assert (found.ok, found.first) == (True, 4)
    await audit.note(deed())
    assert await monthly.trim(utc_now() - timedelta(days=1)) == 0
    assert await monthly.trim(later) == 2
    assert (await audit.verify()).first == 6


async def test_what_was_removed_without_a_word_is_found(store: Store, audit: Audit) -> None:
    for number in range(4):
        await audit.note(deed(n=number))
    async with store.write() as session:
        await session.execute(delete(TABLE).where(TABLE.c.sequence <= 2))
    assert (await audit.verify()).broken == 3


def refused(subject: str = "GET /v1/tools", status: int = 401) -> Refused:
    return Refused(NOBODY, subject, status, "10.0.0.1")


async def test_a_flood_of_refusals_fills_a_counter_and_not_the_log(audit: Audit) -> None:
    for _ in range(5000):
        audit.refused(refused())
    for number in range(3 * MOST_KINDS):
        audit.refused(refused(f"GET /v1/{number}"))
    entries = await everything(audit)
    assert len(entries) == MOST_KINDS + 1
    assert (entries[0].actor, entries[0].subject, entries[0].outcome) == ("nobody", "GET /v1/tools", "401")
    assert (entries[0].details or {})["times"] == 5000
    assert sum(int(str((entry.details or {})["times"])) for entry in entries) == 5000 + 3 * MOST_KINDS
    assert "client" not in (entries[-1].details or {})


async def test_refusals_are_written_down_soon_and_when_the_log_is_closed(store: Store, audit: Audit) -> None:
    reader = Audit(store)
    audit.open()
    audit.refused(refused())
    await comes(reader, Action.ACCESS_REFUSED)
    audit.refused(refused())
    await audit.close()
    assert len(await everything(reader)) == 2


async def test_a_log_that_is_opened_lets_go_of_what_is_too_old(store: Store, audit: Audit) -> None:
    await audit.note(deed())
    async with store.write() as session:
        await session.execute(update(TABLE).values(at=utc_now() - timedelta(days=2)))
    daily = Audit(store, days=1)
    daily.open()
    await comes(audit, Action.AUDIT_PRUNED)
    await daily.close()
    assert (await everything(audit))[0].sequence == 2
