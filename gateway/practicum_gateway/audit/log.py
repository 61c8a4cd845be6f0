"""The log itself: an entry is appended in the transaction of its deed, so that neither is there without the other."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import JsonValue, TypeAdapter, ValidationError
from sqlalchemy import Connection, Table, insert, select, text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from practicum.audit import canonical, hash_of_fields, hash_of_text
from practicum.contracts.audit import GENESIS, Action, AuditEntry, AuditHead
from practicum.contracts.base import JsonObject, utc_now
from practicum.halves import without_halves
from practicum_gateway.audit.who import Who, acting
from practicum_gateway.store.audit_tables import AuditRow
from practicum_gateway.store.notices import Topic, tell_on
from practicum_gateway.store.prepared import Prepared
from practicum_gateway.telemetry import current_trace_id

TABLE = cast("Table", AuditRow.__table__)
VALUE_BYTES = 4096
"""The most that one of the details may take; of a larger one only its size is kept."""
_SALT_BYTES = 16
_LOCK = 7_305_124_002  # any number that nothing else in the database uses as an advisory lock
_LAST = select(TABLE.c.sequence, TABLE.c.hash).order_by(TABLE.c.sequence.desc()).limit(1)
_HEAD = Prepared(_LAST)
_INSERT = Prepared(insert(TABLE), columns=TABLE.c.keys())
_TURN = text("SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), :lock))")
_DETAILS: TypeAdapter[JsonObject] = TypeAdapter(JsonObject)
_TOLD = {
    Action.RULES_REPLACED: Topic.RULES,
    Action.KEY_REVOKED: Topic.KEYS,
    Action.KEY_ROTATED: Topic.KEYS,
    Action.ISSUER_TRUSTED: Topic.ISSUERS,
    Action.ISSUER_REMOVED: Topic.ISSUERS,
    Action.CONNECTOR_REGISTERED: Topic.CONNECTORS,
    Action.CONNECTOR_REFRESHED: Topic.CONNECTORS,
    Action.CONNECTOR_ACCEPTED: Topic.CONNECTORS,
    Action.CONNECTOR_REMOVED: Topic.CONNECTORS,
    Action.WEBHOOK_ADDED: Topic.WEBHOOKS,
    Action.WEBHOOK_ROTATED: Topic.WEBHOOKS,
    Action.WEBHOOK_REMOVED: Topic.WEBHOOKS,
    Action.TENANT_CREATED: Topic.TENANTS,
    Action.TENANT_REMOVED: Topic.TENANTS,
    Action.EPISODE_CANCELLED: Topic.CANCELLED,
}
"""Deeds of which the other gateways on a database have to hear, for they keep in memory what these change."""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that was done.

    Attributes:
        action: what.
        subject: to what.
        outcome: how it went.
        episode: in which episode.
        details: more of it, without secrets; None values are left out.
        who: the actor, where it is not who acts at present.
        trace: its trace, where it is not the present one.
    """

    action: Action
    subject: str
    outcome: str = "ok"
    episode: str | None = None
    details: JsonObject = field(default_factory=dict[str, JsonValue])
    who: Who | None = None
    trace: str | None = None


async def append(session: AsyncSession, *deeds: Deed) -> AuditHead:
    """Append entries within a transaction, as the last of what it does: writers of the log take turns from here on.

    Returns:
        The log's last entry then.
    """

    def appended(within: Session) -> AuditHead:
        # Whatever waits for rows waits before the writers' turn, so that no two can wait for each other.
        within.flush()
        return append_on(within.connection(), *deeds)

    return await session.run_sync(appended)


def append_on(connection: Connection, *deeds: Deed) -> AuditHead:
    """`append` for work on a connection."""
    if connection.dialect.name == "postgresql":  # SQLite's writers take turns anyway
        connection.execute(_TURN, {"lock": _LOCK})
    head = _head(_HEAD(connection, {}))
    for deed in deeds:
        values = _after(head, deed)
        _INSERT(connection, values)
        if deed.action in _TOLD:
            tell_on(connection, _TOLD[deed.action], _text(deed.subject, 200))
        head = AuditHead.model_construct(sequence=values["sequence"], hash=values["hash"])
    return head


async def head_of(session: AsyncSession) -> AuditHead:
    """The last entry."""
    return _head((await session.execute(_LAST)).all())


def entry_of(row: AuditRow) -> AuditEntry:
    """A row as it is shown; details that somebody made unreadable are missing then, and the check finds it."""
    try:
        details = None if row.details is None else _DETAILS.validate_json(row.details)
    except ValidationError:
        details = None
    return AuditEntry.model_validate(
        {name: getattr(row, name) for name in AuditEntry.model_fields} | {"details": details}
    )


def _head(last: Sequence[Any]) -> AuditHead:
    return AuditHead(sequence=last[0][0], hash=last[0][1]) if last else AuditHead(sequence=0, hash=GENESIS)


def _after(head: AuditHead, deed: Deed) -> dict[str, Any]:
    """The row of a deed's entry behind the last one."""
    who, salt, details = deed.who or acting(), secrets.token_hex(_SALT_BYTES), _written(deed.details)
    fields = {
        "sequence": head.sequence + 1,
        "at": utc_now(),
        "actor": _text(who.name, 100),
        "role": _text(who.role, 20),
        "key": _text(who.key, 60),
        "action": str(deed.action),
        "subject": _text(deed.subject, 200),
        "outcome": _text(deed.outcome, 40),
        "episode": deed.episode,
        "trace": deed.trace or current_trace_id(),
        "details": details.decode(),
        "salt": salt,
        "details_hash": hash_of_text(salt, details),
        "previous": head.hash,
    }
    return {**fields, "hash": hash_of_fields(fields)}


def _text(text: str, most: int) -> str:
    """A text as every database takes it: somebody may call a tool that is named by half a character."""
    short = text[:most]
    return (short if short.isascii() else short.encode(errors="replace").decode()).replace("\0", "?")


def bounded(details: JsonObject) -> JsonObject:
    """Details as they can be kept: no single one is large, none is None, and each can be read again."""
    return _DETAILS.validate_json(_written(details))


def _written(details: JsonObject) -> bytes:
    """The canonical text of `bounded`."""
    kept: JsonObject = {name: value for name, value in details.items() if value is not None}
    try:
        text = canonical(kept)
    except (ValueError, RecursionError):
        text = b""
    if not 0 < len(text) <= VALUE_BYTES:  # one of them may be too large, or none
        text = canonical({name: _bounded(value) for name, value in kept.items()})
    return without_halves(text)


def _bounded(value: JsonValue) -> JsonValue:
    try:
        size = len(canonical(value))
    except (ValueError, RecursionError):
        return {"left_out": "no JSON"}
    return value if size <= VALUE_BYTES else {"left_out_bytes": size}
