"""How a tenant's store stands: what waits, what runs, what is in doubt. Counted over indexes, for those who watch."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select, text

from practicum.contracts.access import ApprovalStatus
from practicum.contracts.base import utc_now
from practicum.contracts.episodes import EpisodeStatus
from practicum_gateway.store.access_tables import ApprovalRow
from practicum_gateway.store.audit_tables import AuditRow
from practicum_gateway.store.engine import Store
from practicum_gateway.store.ledger_tables import InvocationRow
from practicum_gateway.store.record_tables import EpisodeRow
from practicum_gateway.store.webhook_tables import WebhookMessageRow, WebhookRow

_IN_DOUBT = "in_doubt"
_SQLITE_BYTES = text("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
_SCHEMA_BYTES = text(
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class "
    "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
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
    """How a store stands now."""
    return await store.look(_counted)


def _counted(connection: Connection) -> Standing:
    now = utc_now()
    unanswered = ApprovalRow.status == ApprovalStatus.PENDING
    asked = select(func.count(), func.min(ApprovalRow.created)).where(unanswered, ApprovalRow.expires > now)
    pending, oldest = connection.execute(asked).one()
    late = select(func.count()).select_from(ApprovalRow).where(unanswered, ApprovalRow.expires <= now)
    alive = (EpisodeStatus.RUNNING, EpisodeStatus.WAITING)
    episodes = select(EpisodeRow.status, func.count()).where(EpisodeRow.status.in_(alive)).group_by(EpisodeRow.status)
    by_status: dict[str, int] = {row[0]: row[1] for row in connection.execute(episodes)}
    doubtful = select(func.count()).select_from(InvocationRow).where(InvocationRow.state == _IN_DOUBT)
    due = select(func.count()).select_from(WebhookMessageRow).where(WebhookMessageRow.due <= now)
    on_server = connection.dialect.name == "postgresql"
    return Standing(
        pending=pending,
        oldest=_seconds_since(oldest, now),
        expired=connection.scalar(late) or 0,
        running=by_status.get(EpisodeStatus.RUNNING, 0),
        waiting=by_status.get(EpisodeStatus.WAITING, 0),
        in_doubt=connection.scalar(doubtful) or 0,
        messages=connection.scalar(due) or 0,
        failures=connection.scalar(select(func.max(WebhookRow.failures))) or 0,
        entries=connection.scalar(select(func.max(AuditRow.sequence))) or 0,
        size=int(connection.scalar(_SCHEMA_BYTES if on_server else _SQLITE_BYTES) or 0),
    )


def _seconds_since(moment: datetime | None, now: datetime) -> float:
    return 0.0 if moment is None else max(0.0, (now - moment).total_seconds())
