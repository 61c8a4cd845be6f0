"""The outbox: a message is written in the transaction of what it tells, so that neither is there without the other."""

import json
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from sqlalchemy import delete
from sqlalchemy.ext.asyncio import AsyncSession

from practicum.contracts.access import Approval, ApprovalStatus
from practicum.contracts.base import utc_now
from practicum.contracts.tenants import MAIN
from practicum.contracts.webhooks import ApprovalNotice, WebhookEvent, WebhookMessage
from practicum_gateway.store.engine import new_id
from practicum_gateway.store.webhook_tables import WebhookMessageRow
from practicum_gateway.webhooks.receivers import Receiver

ARGUMENTS_BYTES = 16 * 1024
"""Longer arguments are left out of a message: who is to see them looks at the gateway."""
_NEWS = timedelta(days=1)
"""How long it is worth telling that a question is closed."""
_MARK = "."
"""Stands between the tenant and the name in what tells a webhook from all others; neither of them holds one."""


def address_of(tenant: str, name: str) -> str:
    """What tells a webhook from those of all tenants, as it stands in the addresses of answers."""
    return name if tenant == MAIN else f"{tenant}{_MARK}{name}"


def parted(address: str) -> tuple[str, str]:
    """The tenant and the name that an address names, whether they are there or not."""
    tenant, mark, name = address.partition(_MARK)
    return (tenant, name) if mark else (MAIN, address)


class Outbox:
    """Writes the messages about approvals to every webhook of a tenant."""

    def __init__(self, tenant: str, public_url: str | None) -> None:
        """Write for nobody yet.

        Args:
            tenant: whose approvals they are.
            public_url: the gateway's address for everybody outside, if one is set.
        """
        self._tenant = tenant
        self._public_url = public_url
        self.receivers: Callable[[], Collection[Receiver]] = tuple
        self.wake: Callable[[], None] = _nobody

    async def asked(self, session: AsyncSession, approval: Approval) -> None:
        """Write that a question was asked, and ahead of time that nobody answered it."""
        self._write(session, WebhookEvent.REQUESTED, approval, due=utc_now(), ends=approval.expires)
        late = approval.model_copy(update={"status": ApprovalStatus.EXPIRED})
        self._write(session, WebhookEvent.EXPIRED, late, due=approval.expires, ends=approval.expires + _NEWS)

    async def closed(self, session: AsyncSession, approval: Approval) -> None:
        """Write that a question was answered or withdrawn."""
        if not self.receivers():
            return
        decided = approval.decided_by is not None
        kind = WebhookEvent.DECIDED if decided else WebhookEvent.WITHDRAWN
        # That it was asked, or not answered in time, need not be told any more where it was not yet.
        await session.execute(delete(WebhookMessageRow).where(WebhookMessageRow.approval == approval.id))
        self._write(session, kind, approval, due=utc_now(), ends=utc_now() + _NEWS)

    def announce(self) -> None:
        """Have what was written sent; after the transaction."""
        self.wake()

    def _write(
        self, session: AsyncSession, kind: WebhookEvent, approval: Approval, *, due: datetime, ends: datetime
    ) -> None:
        for receiver in self.receivers():
            message = WebhookMessage(type=kind, timestamp=due, data=self._notice(receiver, kind, approval))
            session.add(
                WebhookMessageRow(
                    id=new_id("msg"),
                    webhook=receiver.name,
                    approval=approval.id,
                    kind=kind,
                    body=message.model_dump_json(),
                    tries=0,
                    due=due,
                    ends=ends,
                )
            )

    def _notice(self, receiver: Receiver, kind: WebhookEvent, approval: Approval) -> ApprovalNotice:
        url = f"{self._public_url or receiver.answers_at}/v1/approvals/{approval.id}"
        answer_url = f"{url}/callback?webhook={address_of(self._tenant, receiver.name)}"
        told = approval.model_dump(include=ApprovalNotice.model_fields.keys() & Approval.model_fields.keys())
        if len(json.dumps(approval.arguments)) > ARGUMENTS_BYTES:
            told["arguments"] = None
        return ApprovalNotice(
            approval=approval.id,
            url=url,
            preview_url=f"{url}/preview",
            answer_url=answer_url if kind is WebhookEvent.REQUESTED else None,
            **told,
        )


def _nobody() -> None:
    """Nobody waits for messages."""
