"""How a tenant's store stands: what waits, what runs, what is in doubt. Counted over indexes, for those who watch."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Integer,
    ScalarSelect,
    bindparam,
    func,
    literal_column,
    select,
)

from practicum.contracts.access import ApprovalStatus
from practicum.contracts.base import utc_now
from practicum.contracts.episodes import EpisodeStatus
from practicum_gateway.store.access_tables import ApprovalRow
from practicum_gateway.store.audit_tables import AuditRow
from practicum_gateway.store.engine import Base, Store, UtcDateTime
from practicum_gateway.store.ledger_tables import InvocationRow
from practicum_gateway.store.record_tables import EpisodeRow
from practicum_gateway.store.webhook_tables import WebhookMessageRow, WebhookRow

_IN_DOUBT = "in_doubt"
_SQLITE_BYTES = "(SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)"
_SCHEMA_BYTES = (
    "(SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class "
    "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace)"
)


@dataclass(frozen=True, slots=True)
class Standing:
    """What was counted.

    Attributes:
        pending: questions that wait for an answer.
        oldest: seconds for which the oldest of them has waited; 0 without one.
        expired: questions that nobody answered in time.
        running: episodes that run.
        waiting: episodes that wait for a person.
        in_doubt: calls of which nobody knows whether they took effect.
        messages: messages to webhooks whose time has come, and which were not delivered yet.
        failures: the most attempts in a row that failed at one webhook.
        entries: number of the audit log's last entry.
        size: bytes that the store takes.
    """

    pending: int
    oldest: float
    expired: int
    running: int
    waiting: int
    in_doubt: int
    messages: int
    failures: int
    entries: int
    size: int


async def standing_of(store: Store) -> Standing:
    """How a store stands now, in one statement."""
    query, now = _EMBEDDED if store.is_embedded else _ON_SERVER, utc_now()
    found = await store.look(lambda connection: connection.execute(query, {"now": now}).mappings().one())
    counted: dict[str, Any] = {**found}
    oldest = counted.pop("oldest")
    waited = 0.0 if oldest is None else max(0.0, (now - oldest).total_seconds())
    return Standing(oldest=waited, **{name: int(count or 0) for name, count in counted.items()})


def _count(row: type[Base], *where: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).select_from(row).where(*where).scalar_subquery()


def _query(size: str) -> Executable:
    now = bindparam("now", type_=UtcDateTime())
    unanswered = ApprovalRow.status == ApprovalStatus.PENDING
    oldest = select(func.min(ApprovalRow.created)).where(unanswered, ApprovalRow.expires > now)
    return select(
        _count(ApprovalRow, unanswered, ApprovalRow.expires > now).label("pending"),
        oldest.scalar_subquery().label("oldest"),
        _count(ApprovalRow, unanswered, ApprovalRow.expires <= now).label("expired"),
        _count(EpisodeRow, EpisodeRow.status == EpisodeStatus.RUNNING).label("running"),
        _count(EpisodeRow, EpisodeRow.status == EpisodeStatus.WAITING).label("waiting"),
        _count(InvocationRow, InvocationRow.state == _IN_DOUBT).label("in_doubt"),
        _count(WebhookMessageRow, WebhookMessageRow.due <= now).label("messages"),
        select(func.max(WebhookRow.failures)).scalar_subquery().label("failures"),
        select(func.max(AuditRow.sequence)).scalar_subquery().label("entries"),
        literal_column(size, Integer).label("size"),
    )


_EMBEDDED, _ON_SERVER = _query(_SQLITE_BYTES), _query(_SCHEMA_BYTES)
