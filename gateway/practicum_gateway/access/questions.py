"""Questions that were asked earlier, found again by those who asked them."""

from dataclasses import dataclass
from typing import Self

from sqlalchemy import select

from practicum.contracts.access import Approval, ApprovalStatus
from practicum.contracts.base import utc_now
from practicum_gateway.store.access_tables import ApprovalRow
from practicum_gateway.store.engine import Store

_OPEN = (ApprovalStatus.PENDING, ApprovalStatus.APPROVED)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the key of the call that it is about.

    Attributes:
        approval: the question.
        key: idempotency key of the call.
    """

    approval: Approval
    key: str

    @classmethod
    def of(cls, row: ApprovalRow) -> Self:
        """The question of a row; an open one past its time reads as expired."""
        late = ApprovalStatus(row.status) in _OPEN and row.expires <= utc_now()
        status = ApprovalStatus.EXPIRED if late else ApprovalStatus(row.status)
        fields = {name: getattr(row, name) for name in Approval.model_fields}
        return cls(Approval.model_validate(fields | {"status": status}), row.key)

    @property
    def stands(self) -> bool:
        """Whether it waits, or its answer holds: a yes that was not used, or a no for as long as a yes would hold."""
        status = self.approval.status
        return status in _OPEN or (status is ApprovalStatus.DENIED and self.approval.expires > utc_now())


async def asked_as(store: Store, scope: str, approval: str) -> Asked | None:
    """The question of an id, if it was asked in this scope; whatever else comes as an id is none.

    Args:
        store: where approvals are kept.
        scope: an episode's or a principal's, as of an intent.
        approval: the id.
    """
    if not (approval.isascii() and approval.isprintable()):
        return None
    async with store.read() as session:
        row = await session.get(ApprovalRow, approval)
        return None if row is None or row.scope != scope else Asked.of(row)


async def latest_about(store: Store, scope: str, tool: str, arguments_hash: str) -> Asked | None:
    """The latest question that was asked in a scope about exactly this call, whatever its idempotency key.

    Args:
        store: where approvals are kept.
        scope: an episode's or a principal's, as of an intent.
        tool: exposed name of the tool.
        arguments_hash: of the arguments as they would be sent.
    """
    call = (ApprovalRow.scope == scope, ApprovalRow.tool == tool, ApprovalRow.arguments_hash == arguments_hash)
    latest = select(ApprovalRow).where(*call).order_by(ApprovalRow.created.desc(), ApprovalRow.id.desc()).limit(1)
    async with store.read() as session:
        row = await session.scalar(latest)
        return None if row is None else Asked.of(row)
