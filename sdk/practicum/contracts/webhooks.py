"""Webhooks: approvals asked and answered in a company's own chat or ticket system.

Both ways are signed as Standard Webhooks 1.0 says (https://www.standardwebhooks.com), with HMAC-SHA256: any library of
that specification checks what the gateway sends and signs what is answered.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints, model_validator

from practicum.contracts.access import GRACE_SECONDS, ApprovalStatus
from practicum.contracts.base import JsonObject, Name, Value
from practicum.contracts.tools import Effect

_Url = Annotated[str, StringConstraints(pattern=r"^https?://[!-~]+$", max_length=1000)]
_LONGEST_HOST = 253
_Person = Annotated[str, StringConstraints(pattern=r"\S", max_length=100)]


class WebhookRequest(Value):
    """A wish to be told of approvals.

    Attributes:
        name: how the webhook is called here; whoever answers through it is named by it.
        url: where messages are posted; no redirect is followed.
        private_network: whether it may be at a private address, and without encryption.
    """

    name: Name
    url: _Url = Field(repr=False)
    private_network: bool = False

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        try:
            parts = urlsplit(self.url)
            port = parts.port
        except ValueError:
            raise ValueError("it is no address") from None  # its own words may quote a secret
        if not parts.hostname or len(parts.hostname) > _LONGEST_HOST or port == 0:
            raise ValueError("the address has no host, one that is too long, or a port that is none")
        if parts.username is not None or parts.password is not None or parts.fragment:
            raise ValueError("the address holds a user name, a password or a fragment")
        if parts.scheme != "https" and not self.private_network:
            raise ValueError("an address of a webhook begins with https://, but where private_network is set")
        return self


class WebhookAttempt(Value):
    """How an attempt to deliver a message went.

    Attributes:
        at: when it ended.
        ok: whether the receiver answered with a status from 200 to 299.
        said: what it answered, or why it did not, in words.
    """

    at: datetime
    ok: bool
    said: str


class Webhook(Value):
    """A webhook as it may be shown.

    Attributes:
        name: how it is called here.
        origin: scheme, host and port of its address; the rest may be a secret and is not shown.
        private_network: whether it may be at a private address.
        created: when it was registered.
        waiting: how many messages are still to be delivered.
        failures: how many attempts failed since the last that did not.
        last: the latest attempt.
    """

    name: str
    origin: str
    private_network: bool
    created: datetime
    waiting: int = 0
    failures: int = 0
    last: WebhookAttempt | None = None


class NewWebhook(Value):
    """A webhook and its secrets, which are shown this once.

    Attributes:
        webhook: the webhook.
        secret: checks what the gateway sends; `whsec_` and base64.
        answer_secret: signs what is answered; likewise.
    """

    webhook: Webhook
    secret: str = Field(repr=False)
    answer_secret: str = Field(repr=False)


class WebhookRotation(Value):
    """A wish for other secrets.

    Attributes:
        grace_seconds: how long the old ones go on beside them; 0 withdraws them at once.
    """

    grace_seconds: int = Field(default=GRACE_SECONDS, ge=0, le=30 * 86_400)


class WebhookEvent(StrEnum):
    """What a message tells."""

    REQUESTED = "approval.requested"
    """A call waits for a person."""
    DECIDED = "approval.decided"
    """Somebody answered, by whichever way."""
    EXPIRED = "approval.expired"
    """Nobody answered in time."""
    WITHDRAWN = "approval.withdrawn"
    """Nobody waits for the answer any more, or the question is asked anew."""
    TEST = "webhook.test"
    """An administrator tries whether messages arrive."""


class ApprovalNotice(Value):
    """An approval as a message tells of it.

    Attributes:
        approval: its id.
        status: where it stands.
        tool: exposed name of the tool that would be called.
        effect: what the call would do.
        arguments: what would be sent, redacted for display; None where it is too long for a message: see `url`.
        arguments_hash: of the exact arguments; an answer repeats it.
        requested_by: the principal on whose behalf the call would be made; may not answer.
        rule: the rule that asked.
        episode: the episode that waits, if one does.
        created: when it was asked.
        expires: after this it can no longer be answered; of a decided one: its yes no longer be used.
        decided_by: who answered.
        reason: what they said.
        url: the approval at the gateway, for who has a key.
        preview_url: what the call would change, for an approver's key.
        answer_url: where the answer is posted; None where none is awaited.
    """

    approval: str
    status: ApprovalStatus
    tool: str
    effect: Effect
    arguments: JsonObject | None
    arguments_hash: str
    requested_by: str
    rule: str
    episode: str | None
    created: datetime
    expires: datetime
    decided_by: str | None = None
    reason: str | None = None
    url: str
    preview_url: str
    answer_url: str | None = None


class WebhookMessage(Value):
    """The body of a message.

    Attributes:
        type: what it tells.
        timestamp: when that happened; when it was sent stands in the header `webhook-timestamp`.
        data: the approval; None in a test.
    """

    type: WebhookEvent
    timestamp: datetime
    data: ApprovalNotice | None = None


class WebhookAnswer(Value):
    """The body of an answer, posted to `answer_url` and signed with the answer secret.

    Attributes:
        approval: id of the approval; the address names it too, but an address is not signed.
        approve: yes or no.
        arguments_hash: hash of the arguments that the person saw; a mismatch is refused.
        answered_by: the person, as the system calls them in which they answered.
        reason: why, for the record; the model is told why not.
    """

    approval: str = Field(min_length=1, max_length=100)
    approve: bool
    arguments_hash: str = Field(max_length=100)
    answered_by: _Person
    reason: str | None = Field(default=None, max_length=2000)
