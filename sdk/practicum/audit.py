"""How the audit log is chained, and how it is checked: pure, so that anybody can, with nothing but an export.

    canonical    JSON with names sorted, no spaces, everything beyond ASCII escaped
    details_hash SHA-256 of the salt, a line feed and the canonical details
    hash         SHA-256 of the canonical object of every other field but `details`, `salt` and `hash`,
                 the moment in UTC with six digits after the second and `+00:00`

All hashes are hexadecimal. An entry without details has lost them to an erasure, which is an entry too and names it; a
log that does not begin with 1 has lost its front to retention, which is an entry too and names the last that went.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC
from typing import Any

from pydantic import JsonValue, TypeAdapter, ValidationError

from practicum.contracts.audit import GENESIS, Action, AuditCheck, AuditEntry, AuditHead
from practicum.contracts.base import JsonObject

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_RANGES: TypeAdapter[list[tuple[int, int]]] = TypeAdapter(list[tuple[int, int]])
_HASHED = (
    *("sequence", "at", "actor", "role", "key", "action", "subject", "outcome", "episode", "trace"),
    *("details_hash", "previous"),
)
_PERMANENT = frozenset({Action.AUDIT_ERASED, Action.AUDIT_PRUNED})
"""What these entries say is needed to check the others: no erasure may touch it."""


def canonical(value: JsonValue) -> bytes:
    """A JSON value in the one form that is hashed.

    Raises:
        ValueError: it holds a number that is none.
    """
    return _CANONICAL.encode(value).encode()


def hash_of_details(salt: str, details: JsonObject) -> str:
    """What an entry keeps of its details when they are erased."""
    return hash_of_text(salt, canonical(details))


def hash_of_text(salt: str, details: bytes) -> str:
    """The same of details that are canonical already."""
    return hashlib.sha256(salt.encode() + b"\n" + details).hexdigest()


def hash_of_entry(entry: AuditEntry) -> str:
    """What the next entry names this one by; the hash that it holds itself is not looked at."""
    return hash_of_fields(entry.__dict__)


def hash_of_fields(fields: Mapping[str, Any]) -> str:
    """The same of the fields of an entry, by their names."""
    hashed = {name: fields[name] for name in _HASHED}
    hashed["at"] = fields["at"].astimezone(UTC).isoformat(timespec="microseconds")
    return hashlib.sha256(canonical(hashed)).hexdigest()


def may_be_erased(action: str) -> bool:
    """Whether the log can still be checked without the details of such an entry."""
    return action not in _PERMANENT


class Chain:
    """Checks a log while it is read, entry by entry from the front; of what it has read it keeps next to nothing.

    chain = Chain()
    for entry in entries:
        if not chain.take(entry):
            break
    print(chain.check())
    """

    def __init__(self, noted: AuditHead | None = None) -> None:
        """Begin.

        Args:
            noted: a last entry as it was noted outside earlier.
        """
        self._noted = noted
        self._first: AuditEntry | None = None
        self._last: AuditEntry | None = None
        self._entries = 0
        self._blank: set[int] = set()
        self._erased: list[tuple[int, int]] = []
        self._anchored = False
        self._broken: tuple[int, str] | None = None

    def take(self, entry: AuditEntry) -> bool:
        """Look at the next entry; whether the log holds so far."""
        if self._broken is None and (fault := self._fault(entry)) is not None:
            self._broken = (entry.sequence, fault)
        if self._broken is not None:
            return False
        if self._first is None:
            self._first = entry
            self._anchored = entry.previous == GENESIS if entry.sequence == 1 else self._noted == _before(entry)
        self._last = entry
        self._entries += 1
        self._learn(entry, self._first)
        return True

    def break_off(self, why: str) -> None:
        """Say that what comes next can not even be read as an entry."""
        if self._broken is None:
            self._broken = (self._head.sequence + 1, why)

    def check(self) -> AuditCheck:
        """What was found, once every entry was taken."""
        broken = self._broken or self._missing()
        return AuditCheck(
            ok=broken is None,
            entries=self._entries,
            first=None if self._first is None else self._first.sequence,
            head=self._head,
            erased=len(self._blank),
            broken=None if broken is None else broken[0],
            why=None if broken is None else broken[1],
        )

    @property
    def _head(self) -> AuditHead:
        return AuditHead(sequence=0, hash=GENESIS) if self._last is None else self._last.head

    def _fault(self, entry: AuditEntry) -> str | None:
        """What is wrong with an entry where it stands."""
        last, noted = self._last, self._noted
        if last is not None and entry.sequence != last.sequence + 1:
            return f"it follows {last.sequence}: entries are missing, repeated or out of order"
        if last is not None and entry.previous != last.hash:
            return "it does not continue the entry before it"
        if noted is not None and noted.sequence == entry.sequence and noted.hash != entry.hash:
            return "it is not the entry that was noted as the last"
        return _changed(entry)

    def _learn(self, entry: AuditEntry, first: AuditEntry) -> None:
        """Note what an entry says about others."""
        if entry.details is None:
            self._blank.add(entry.sequence)
        elif entry.action == Action.AUDIT_ERASED:
            self._erased += _ranges(entry.details)
        elif entry.action == Action.AUDIT_PRUNED:
            self._anchored = self._anchored or _before(first) == _pruned(entry.details)

    def _missing(self) -> tuple[int, str] | None:
        """What is wrong with the log as a whole."""
        first = 1 if self._first is None else self._first.sequence
        if self._first is not None and not self._anchored:
            return first, "it is the first, and no entry says that those before it were kept long enough"
        unexplained = {blank for blank in self._blank if not _within(blank, self._erased)}
        if unexplained:
            return min(unexplained), "its details are gone, and no entry says that they were erased"
        noted = self._noted
        if noted is None or noted.sequence == 0:
            return None
        if noted.sequence > self._head.sequence:
            return self._head.sequence + 1, f"it is missing: the log went on to {noted.sequence} when its end was noted"
        if noted.sequence < first and noted != (self._first and _before(self._first)):
            return first, f"entry {noted.sequence} was noted, and is too old to be still there: note a later one"
        return None


def check_lines(lines: Iterable[str | bytes], noted: AuditHead | None = None) -> AuditCheck:
    """What a look at an exported log finds, one entry a line.

    Args:
        lines: the export.
        noted: a last entry as it was noted outside earlier.
    """
    chain = Chain(noted)
    for line in lines:
        try:
            entry = AuditEntry.model_validate_json(line)
        except ValidationError:
            chain.break_off("its line is no entry")
            break
        if not chain.take(entry):
            break
    return chain.check()


def _changed(entry: AuditEntry) -> str | None:
    """How an entry departs from its own hashes."""
    if entry.hash != hash_of_entry(entry):
        return "it was changed"
    if (entry.details is None) != (entry.salt is None):
        return "only half of its details is there"
    if entry.details is None or entry.salt is None:
        return None if may_be_erased(entry.action) else "its details are gone, and no erasure may touch them"
    return None if _fits(entry.salt, entry.details, entry) else "its details were changed"


def _fits(salt: str, details: JsonObject, entry: AuditEntry) -> bool:
    try:
        return hash_of_details(salt, details) == entry.details_hash
    except ValueError:  # a number that is none, which a JSON parser lets through
        return False


def _before(entry: AuditEntry) -> AuditHead | None:
    """The entry before one, as that one names it."""
    return _head_of(entry.sequence - 1, entry.previous)


def _pruned(details: JsonObject) -> AuditHead | None:
    return _head_of(details.get("through"), details.get("hash"))


def _head_of(sequence: object, text: object) -> AuditHead | None:
    try:
        return AuditHead.model_validate({"sequence": sequence, "hash": text})
    except ValidationError:
        return None


def _ranges(details: JsonObject) -> list[tuple[int, int]]:
    try:
        return _RANGES.validate_python(details.get("touched"))
    except ValidationError:
        return []


def _within(sequence: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(start <= sequence <= end for start, end in ranges)
