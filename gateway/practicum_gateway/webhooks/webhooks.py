"""The webhooks of a tenant: registered, tried, given other secrets, removed."""

import asyncio
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import timedelta
from urllib.parse import urlsplit

from sqlalchemy import delete, func, select

from practicum.contracts.audit import Action
from practicum.contracts.base import JsonObject, utc_now
from practicum.contracts.webhooks import (
    NewWebhook,
    Webhook,
    WebhookAttempt,
    WebhookEvent,
    WebhookMessage,
    WebhookRequest,
)
from practicum.errors import ConflictError, NotFoundError, RequestError
from practicum_connectors.addresses import AddressError, public_address
from practicum_connectors.exchange import origin_of
from practicum_gateway.audit.log import Deed, append
from practicum_gateway.store.engine import Store, new_id
from practicum_gateway.store.vault import Vault
from practicum_gateway.store.webhook_tables import WebhookAnswerRow, WebhookMessageRow, WebhookRow
from practicum_gateway.webhooks.couriers import Couriers
from practicum_gateway.webhooks.delivery import post, sender_of
from practicum_gateway.webhooks.outbox import Outbox
from practicum_gateway.webhooks.receivers import Receiver, Secrets, opened, purpose_of, shown
from practicum_gateway.webhooks.signatures import new_secret

MOST_WEBHOOKS = 20


class Webhooks:
    """Keeps who is told of approvals, and has them told.

    They are kept in memory too, and read anew when another gateway tells that they changed.
    """

    def __init__(
        self,
        store: Store,
        vault: Vault,
        outbox: Outbox,
        couriers: Couriers | None = None,
        elsewhere: Callable[[], None] | None = None,
    ) -> None:
        """Keep webhooks in a store; `open` reads them.

        Args:
            store: where.
            vault: seals their addresses and secrets.
            outbox: writes messages to those that are kept here.
            couriers: carry them.
            elsewhere: has the couriers of other gateways look for messages.
        """
        self._store = store
        self._vault = vault
        self._elsewhere = elsewhere
        self._couriers = couriers or Couriers(store)
        self._receivers: dict[str, Receiver] = {}
        self._changing = asyncio.Lock()
        outbox.receivers = self._receivers.values
        outbox.wake = self._wake

    async def open(self) -> None:
        """Read them, once more where they were changed elsewhere, and carry what an earlier process could not."""
        async with self._changing:
            async with self._store.read() as session:
                rows = await session.scalars(select(WebhookRow).order_by(WebhookRow.name))
                found = {row.name: opened(row, self._vault) for row in rows}
            for name in [name for name, known in self._receivers.items() if found.get(name) != known]:
                await self._couriers.stop(name)
                del self._receivers[name]
            for name in found.keys() - self._receivers.keys():
                self._receivers[name] = found[name]
                self._couriers.start(found[name])

    def carry(self) -> None:
        """Messages were written, here or by another gateway."""
        self._couriers.wake()

    async def close(self) -> None:
        """Carry nothing any more."""
        await self._couriers.close()
        self._receivers.clear()

    def find(self, name: str) -> Receiver | None:
        """A webhook as the gateway works with it, if there is one of that name."""
        return self._receivers.get(name)

    async def list(self) -> tuple[Webhook, ...]:
        """All of them, by name."""
        waiting = (
            select(WebhookMessageRow.webhook, func.count())
            .where(WebhookMessageRow.kind != WebhookEvent.EXPIRED)
            .group_by(WebhookMessageRow.webhook)
        )
        async with self._store.read() as session:
            counts: dict[str, int] = {name: count for name, count in await session.execute(waiting)}  # noqa: C416
            rows = await session.scalars(select(WebhookRow).order_by(WebhookRow.name))
            return tuple(shown(row, counts.get(row.name, 0)) for row in rows)

    async def add(self, request: WebhookRequest, *, answers_at: str) -> NewWebhook:
        """Tell a receiver of approvals from now on; its secrets are shown this once.

        Args:
            request: the receiver.
            answers_at: the gateway's own address, as it was reached for this.

        Raises:
            ConflictError: there is one of that name, or there are too many.
            RequestError: its address is not known, or private without being allowed to.
        """
        await _require_reachable(request)
        secrets = Secrets(request.url, new_secret(), new_secret())
        receiver = Receiver(request.name, request.private_network, answers_at, secrets)
        row = WebhookRow(
            name=request.name,
            origin=origin_of(request.url),
            private_network=request.private_network,
            answers_at=answers_at,
            sealed="",
            former_until=None,
            created=utc_now(),
            last_at=None,
            last_said=None,
            failures=0,
        )
        details: JsonObject = {"origin": row.origin, "private_network": row.private_network}
        async with self._changing:
            async with self._store.write(in_turn=True) as session:
                _require_room(request.name, set(await session.scalars(select(WebhookRow.name))))
                row.sealed = secrets.sealed(self._vault, request.name)
                session.add(row)
                # One of the same name may have been removed while a question was being written to it.
                await session.execute(delete(WebhookMessageRow).where(WebhookMessageRow.webhook == request.name))
                await append(session, Deed(Action.WEBHOOK_ADDED, request.name, details=details))
            self._receivers[request.name] = receiver
            self._couriers.start(receiver)
        return _new(row, secrets)

    async def test(self, name: str) -> WebhookAttempt:
        """Post a message that tells nothing, once, and say what became of it.

        Raises:
            NotFoundError: there is none of that name.
        """
        receiver = self._found(name)
        message = WebhookMessage(type=WebhookEvent.TEST, timestamp=utc_now())
        sender = sender_of(receiver)
        try:
            posted = await post(sender, receiver, new_id("msg"), message.model_dump_json().encode())
        finally:
            await sender.aclose()
        return posted.attempt

    async def rotate(self, name: str, grace: timedelta) -> NewWebhook:
        """Give a webhook other secrets; they are shown this once.

        Args:
            name: the webhook.
            grace: how long the old ones go on beside them.

        Raises:
            NotFoundError: there is none of that name.
        """
        async with self._changing:
            until = utc_now() + grace
            async with self._store.write(in_turn=True) as session:
                row = await session.get(WebhookRow, name)
                if row is None:
                    raise _no_webhook(name)
                before = opened(row, self._vault)
                former = (before.secrets.secret, before.secrets.answer_secret)
                secrets = Secrets(before.secrets.url, new_secret(), new_secret(), former if grace else None)
                row.sealed, row.former_until = secrets.sealed(self._vault, name), until
                await append(session, Deed(Action.WEBHOOK_ROTATED, name, details={"ends": until.isoformat()}))
            await self._couriers.stop(name)
            receiver = self._receivers[name] = replace(before, secrets=secrets, former_until=until)
            self._couriers.start(receiver)
        return _new(row, secrets)

    async def remove(self, name: str) -> None:
        """Tell it nothing any more, and take no answer through it; what was not delivered is dropped.

        Raises:
            NotFoundError: there is none of that name.
        """
        async with self._changing:
            receiver = self._found(name)
            await self._couriers.stop(name)
            del self._receivers[name]
            try:
                async with self._store.write() as session:
                    await session.execute(delete(WebhookRow).where(WebhookRow.name == name))
                    await session.execute(delete(WebhookMessageRow).where(WebhookMessageRow.webhook == name))
                    await session.execute(delete(WebhookAnswerRow).where(WebhookAnswerRow.webhook == name))
                    await append(session, Deed(Action.WEBHOOK_REMOVED, name))
            except BaseException:  # it is still there
                self._receivers[name] = receiver
                self._couriers.start(receiver)
                raise

    async def seal_anew(self) -> int:
        """Seal every webhook that an older key sealed under the present one; how many they were."""
        count = 0
        async with self._store.write(in_turn=True) as session:  # none is added meanwhile under the older key
            for row in await session.scalars(select(WebhookRow).with_for_update()):
                sealed = self._vault.sealed_anew(row.sealed, purpose_of(row.name))
                if sealed is not None:
                    row.sealed, count = sealed, count + 1
        return count

    def _wake(self) -> None:
        self.carry()
        if self._elsewhere is not None:
            self._elsewhere()

    def _found(self, name: str) -> Receiver:
        receiver = self._receivers.get(name)
        if receiver is None:
            raise _no_webhook(name)
        return receiver


def _no_webhook(name: str) -> NotFoundError:
    return NotFoundError(f"There is no webhook '{name}'.")


def _require_room(name: str, names: AbstractSet[str]) -> None:
    if name in names:
        raise ConflictError(f"There is a webhook '{name}' already.", mend="Remove it, or choose another name.")
    if len(names) >= MOST_WEBHOOKS:
        raise ConflictError(f"There are {MOST_WEBHOOKS} webhooks already.", mend="Remove one that is needed no more.")


def _new(row: WebhookRow, secrets: Secrets) -> NewWebhook:
    return NewWebhook(webhook=shown(row), secret=secrets.secret, answer_secret=secrets.answer_secret)


async def _require_reachable(request: WebhookRequest) -> None:
    """Refuse an address to which nothing would ever be sent; it is looked at again before each message."""
    if request.private_network:
        return
    parts = urlsplit(request.url)
    try:
        await public_address(parts.hostname or "", parts.port or 443)
    except AddressError as error:
        raise RequestError(
            f"Nothing can be sent to the webhook '{request.name}'. {error}",
            mend="Check its address, or set `private_network` (--private-network) where it is meant to be inside.",
        ) from None
