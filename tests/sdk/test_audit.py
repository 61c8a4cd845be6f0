"""The chain of the audit log: whatever is done to it is found, and what may be gone is told from what may not."""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from practicum.audit import Chain, canonical, check_lines, hash_of_details, hash_of_entry
from practicum.contracts.audit import GENESIS, Action, AuditCheck, AuditEntry, AuditHead
from practicum.contracts.base import JsonObject

BEGAN = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
DETAILS = st.dictionaries(st.text(), VALUES, max_size=3)


def logged(details: Sequence[JsonObject], actions: dict[int, Action] | None = None) -> list[AuditEntry]:
    """A sound log of an entry for each of the details."""
    entries: list[AuditEntry] = []
    for index, each in enumerate(details):
        salt = f"{index:032x}"
        draft = AuditEntry(
            sequence=index + 1,
            at=BEGAN + timedelta(microseconds=index * 1_000_003),
            actor="ada",
            role="developer",
            key="key_1",
            action=(actions or {}).get(index + 1, Action.TOOL_CALLED),
            subject="crm_get_order",
            outcome="started",
            details=each,
            salt=salt,
            details_hash=hash_of_details(salt, each),
            previous=entries[-1].hash if entries else GENESIS,
            hash="",
        )
        entries.append(draft.model_copy(update={"hash": hash_of_entry(draft)}))
    return entries


def checked(entries: Sequence[AuditEntry], noted: AuditHead | None = None) -> AuditCheck:
    """What is found in an export of these entries."""
    return check_lines([entry.model_dump_json() for entry in entries], noted)


LOG = logged([{"n": n, "who": "Zoë"} for n in range(8)])
FORGED: dict[str, Any] = {
    "sequence": 99,
    "at": BEGAN + timedelta(days=9),
    "actor": "eve",
    "role": "admin",
    "key": "key_9",
    "action": "tool.denied",
    "subject": "crm_delete",
    "outcome": "ok",
    "episode": "ep_9",
    "trace": "0" * 32,
    "details": {"n": 99},
    "salt": "f" * 32,
    "details_hash": "f" * 64,
    "previous": "f" * 64,
    "hash": "f" * 64,
}


@given(st.lists(DETAILS, max_size=6))
def test_a_log_nobody_touched_holds_also_after_it_was_written_down_and_read(details: list[JsonObject]) -> None:
    entries = logged(details)
    found = checked(entries)
    assert found.ok, found
    assert found.entries == len(details)
    assert found.head == (entries[-1].head if entries else AuditHead(sequence=0, hash=GENESIS))


@pytest.mark.parametrize("field", sorted(AuditEntry.model_fields))
@pytest.mark.parametrize("place", [0, 4, 7])
def test_any_changed_field_is_found_where_it_was_changed(field: str, place: int) -> None:
    entries = list(LOG)
    entries[place] = entries[place].model_copy(update={field: FORGED[field]})
    found = checked(entries)
    assert not found.ok
    assert found.broken == entries[place].sequence
    assert found.entries == place


def test_every_field_is_forged_in_a_test() -> None:
    assert FORGED.keys() == AuditEntry.model_fields.keys()


@given(st.integers(0, 7), st.sampled_from(("actor", "outcome", "at", "details")))
def test_a_change_is_found_although_its_own_hashes_were_made_to_fit(place: int, field: str) -> None:
    forged = LOG[place].model_copy(update={field: FORGED[field]})
    assert forged.details is not None
    assert forged.salt is not None
    forged = forged.model_copy(update={"details_hash": hash_of_details(forged.salt, forged.details)})
    forged = forged.model_copy(update={"hash": hash_of_entry(forged)})
    entries = [*LOG[:place], forged, *LOG[place + 1 :]]
    last = place == len(LOG) - 1
    # Only the end can be rewritten so, and whoever noted it knows.
    assert checked(entries).ok is last
    assert not checked(entries, LOG[-1].head).ok


@given(st.integers(1, 7), st.integers(1, 8))
def test_what_is_removed_is_found(start: int, count: int) -> None:
    entries = [*LOG[:start], *LOG[start + count :]]
    cut = start + count >= len(LOG)
    assert checked(entries).ok is cut
    found = checked(entries, LOG[-1].head)
    assert not found.ok
    assert found.broken == (start + 1 if cut else start + count + 1)


def test_what_is_removed_from_the_front_is_found() -> None:
    found = checked(LOG[2:])
    assert (found.ok, found.broken) == (False, 3)


@given(st.permutations(range(8)))
def test_another_order_is_found(order: list[int]) -> None:
    assert checked([LOG[place] for place in order]).ok is (order == sorted(order))


@given(st.integers(0, 8), st.integers(0, 7))
def test_what_is_inserted_is_found(place: int, copied: int) -> None:
    assert not checked([*LOG[:place], LOG[copied], *LOG[place:]]).ok


@given(st.integers(0, 7), st.integers(0, 7))
def test_swapped_details_are_found(one: int, other: int) -> None:
    entries = list(LOG)
    for place, source in ((one, other), (other, one)):
        swapped = {"details": LOG[source].details, "salt": LOG[source].salt}
        entries[place] = LOG[place].model_copy(update=swapped)
    assert checked(entries).ok is (one == other)


def blank(entry: AuditEntry) -> AuditEntry:
    return entry.model_copy(update={"details": None, "salt": None})


def erased(touched: JsonValue) -> list[AuditEntry]:
    """A log whose seventh entry says that details were erased."""
    return logged([*({"n": n} for n in range(6)), {"touched": touched}, {}], {7: Action.AUDIT_ERASED})


def test_erased_details_leave_a_log_that_holds_where_an_entry_says_so() -> None:
    entries = erased([[2, 3], [5, 5]])
    for place in (1, 2, 4):
        entries[place] = blank(entries[place])
    found = checked(entries, entries[-1].head)
    assert (found.ok, found.erased) == (True, 3)
    entries[3] = blank(entries[3])
    found = checked(entries)
    assert (found.ok, found.broken) == (False, 4)
    assert "erased" in str(found.why)


def test_what_erasures_say_can_not_be_erased() -> None:
    entries = erased([[2, 2], [7, 7]])
    entries[6] = blank(entries[6])
    found = checked(entries)
    assert (found.ok, found.broken) == (False, 7)


@pytest.mark.parametrize("field", ["details", "salt"])
def test_half_of_the_details_is_not_enough(field: str) -> None:
    entries = erased([[2, 2]])
    entries[1] = entries[1].model_copy(update={field: None})
    assert checked(entries).broken == 2


@pytest.mark.parametrize("said", [None, "all", [[1]], [["a", "b"]], {"2": 2}])
def test_an_erasure_that_names_nothing_excuses_nothing(said: JsonValue) -> None:
    entries = erased(said)
    entries[1] = blank(entries[1])
    assert checked(entries).broken == 2


def pruned(through: int, digest: str) -> list[AuditEntry]:
    """A log whose sixth entry says that its front was removed."""
    details: list[JsonObject] = [*({"n": n} for n in range(5)), {"through": through, "hash": digest}, {}]
    return logged(details, {6: Action.AUDIT_PRUNED})


def test_a_front_that_was_kept_long_enough_may_be_gone() -> None:
    gone = logged([{"n": n} for n in range(5)])[2]
    entries = pruned(3, gone.hash)
    assert checked(entries[3:]).ok
    assert checked(entries[3:]).first == 4
    assert checked(entries[3:], entries[-1].head).ok
    assert not checked(entries[4:]).ok
    assert not checked(entries[2:]).ok
    assert not checked(pruned(3, "0" * 64)[3:]).ok


def test_a_head_that_was_noted_before_the_front_went_says_so() -> None:
    gone = logged([{"n": n} for n in range(5)])
    entries = pruned(3, gone[2].hash)[3:]
    assert checked(entries, gone[2].head).ok
    found = checked(entries, gone[1].head)
    assert not found.ok
    assert "note a later one" in str(found.why)


def test_a_part_holds_behind_the_head_that_was_noted_before_it() -> None:
    assert checked(LOG[5:], LOG[4].head).ok
    assert not checked(LOG[5:], LOG[3].head).ok
    assert not checked(LOG[5:], AuditHead(sequence=5, hash="f" * 64)).ok


def test_a_noted_head_of_another_log_is_told_apart() -> None:
    other = logged([{"n": n} for n in range(20, 28)])
    found = checked(LOG, other[3].head)
    assert (found.ok, found.broken) == (False, 4)


@pytest.mark.parametrize("line", ["", "{", "[]", '{"sequence": 3}', "\u2028", '{"sequence": 3, "more": 1}'])
def test_a_line_that_is_no_entry_breaks_the_log_there(line: str) -> None:
    lines = [entry.model_dump_json() for entry in LOG]
    found = check_lines([*lines[:2], line, *lines[2:]])
    assert (found.ok, found.broken, found.entries) == (False, 3, 2)


def test_a_number_that_is_none_breaks_the_log_and_not_the_check() -> None:
    lines = [entry.model_dump_json() for entry in LOG]
    lines[2] = lines[2].replace('"n":2', '"n":1e999')
    assert check_lines(lines).broken == 3


def test_nothing_is_looked_at_behind_the_first_fault() -> None:
    chain = Chain()
    assert chain.take(LOG[0])
    assert not chain.take(LOG[2])
    assert not chain.take(LOG[1])
    assert chain.check().broken == 3


def test_an_empty_log_holds_unless_something_was_noted() -> None:
    assert checked([]).ok
    assert checked([], AuditHead(sequence=0, hash=GENESIS)).ok
    assert not checked([], LOG[0].head).ok


def test_the_form_that_is_hashed_is_as_it_is_documented() -> None:
    assert canonical({"b": [1, 2.5, None], "a": "Zoë\n"}) == b'{"a":"Zo\\u00eb\\n","b":[1,2.5,null]}'
    with pytest.raises(ValueError, match="JSON compliant"):
        canonical(float("nan"))


@pytest.mark.parametrize("text", ["", "1", "1:", ":" + "0" * 64, "-1:" + "0" * 64, "1:" + "G" * 64, "x:" + "0" * 64])
def test_a_head_is_read_as_it_was_written(text: str) -> None:
    head = LOG[-1].head
    assert AuditHead.parse(f" {head}\n") == head
    with pytest.raises(ValueError, match=r".*"):
        AuditHead.parse(text)


def test_the_hashes_can_be_made_by_hand() -> None:
    """What `practicum.audit` says in words, done without it."""
    entry = json.loads(LOG[3].model_dump_json())
    details = json.dumps(entry["details"], sort_keys=True, separators=(",", ":"))

    assert hashlib.sha256(f"{entry['salt']}\n{details}".encode()).hexdigest() == entry["details_hash"]
    rest = {name: value for name, value in entry.items() if name not in {"details", "salt", "hash"}}
    rest["at"] = "2026-11-02T09:30:03.000009+00:00"
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    assert hashlib.sha256(text.encode()).hexdigest() == entry["hash"]
