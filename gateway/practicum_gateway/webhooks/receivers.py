"""Receivers: the registered webhooks as the gateway holds them, with what is sealed in the store."""

import json
from dataclasses import dataclass, field
from datetime import datetime

from practicum.contracts.base import utc_now
from practicum.contracts.webhooks import Webhook, WebhookAttempt
from practicum_gateway.store.vault import Vault
from practicum_gateway.store.webhook_tables import WebhookRow


@dataclass(frozen=True, slots=True)
class Secrets:
    """What is sealed of a webhook.

    Attributes:
        url: its whole address.
        secret: signs what is sent.
        answer_secret: checks what is answered.
        former: the two that they took the place of.
    """

    url: str = field(repr=False)
    secret: str = field(repr=False)
    answer_secret: str = field(repr=False)
    former: tuple[str, str] | None = field(default=None, repr=False)

    def sealed(self, vault: Vault, name: str) -> str:
        """Unreadable without the tenant's keys, and of use for this webhook alone."""
        former = None if self.former is None else list(self.former)
        return vault.seal(json.dumps([self.url, self.secret, self.answer_secret, former]), purpose_of(name))


@dataclass(frozen=True, slots=True)
class Receiver:
    """A registered webhook.

    Attributes:
        name: how it is called.
        private_network: whether it may be at a private address.
        answers_at: the gateway's own address, as it was reached when the webhook was registered.
        secrets: what is sealed of it.
        former_until: until when the former secrets hold.
    """

    name: str
    private_network: bool
    answers_at: str
    secrets: Secrets
    former_until: datetime | None = None

    @property
    def signing(self) -> tuple[str, ...]:
        """The secrets that sign what is sent now."""
        return (self.secrets.secret, *(former[0] for former in self._former()))

    @property
    def checking(self) -> tuple[str, ...]:
        """The secrets with which an answer may be signed now."""
        return (self.secrets.answer_secret, *(former[1] for former in self._former()))

    def _former(self) -> tuple[tuple[str, str], ...]:
        holds = self.former_until is not None and utc_now() < self.former_until
        return (self.secrets.former,) if holds and self.secrets.former is not None else ()


def opened(row: WebhookRow, vault: Vault) -> Receiver:
    """A row as the gateway works with it.

    Raises:
        ConfigurationError: it was sealed under another key, or changed since.
    """
    url, secret, answer_secret, former = json.loads(vault.open(row.sealed, purpose_of(row.name)))
    return Receiver(
        name=row.name,
        private_network=row.private_network,
        answers_at=row.answers_at,
        secrets=Secrets(url, secret, answer_secret, None if former is None else (former[0], former[1])),
        former_until=row.former_until,
    )


def purpose_of(name: str) -> str:
    """What is sealed of a webhook is bound to this."""
    return f"webhook {name}"


def shown(row: WebhookRow, waiting: int = 0) -> Webhook:
    """A row as it may be shown.

    Args:
        row: the webhook.
        waiting: how many messages are still to be delivered to it.
    """
    last = None
    if row.last_at is not None and row.last_said is not None:
        last = WebhookAttempt(at=row.last_at, ok=row.failures == 0, said=row.last_said)
    return Webhook(
        name=row.name,
        origin=row.origin,
        private_network=row.private_network,
        created=row.created,
        waiting=waiting,
        failures=row.failures,
        last=last,
    )
