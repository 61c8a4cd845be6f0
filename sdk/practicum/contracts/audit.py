"""The audit log: who did what to what, with which outcome, in a chain that shows what was changed."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field

from practicum.contracts.base import JsonObject, Value

GENESIS = "0" * 64
"""What stands in the first entry where the hash of the one before it would."""

LARGEST = 2**31 - 1
"""The largest number that an entry can have."""


class Action(StrEnum):
    """What can be done that is written down."""

    TOOL_CALLED = "tool.called"
    """A call was taken up; nothing of it was sent yet."""
    TOOL_FINISHED = "tool.finished"
    """How that call ended; in doubt, where that is not known."""
    TOOL_DENIED = "tool.denied"
    """A call was not made: a rule or a person said no, or there is no such tool."""
    APPROVAL_ASKED = "approval.asked"
    APPROVAL_APPROVED = "approval.approved"
    APPROVAL_DENIED = "approval.denied"
    RULES_REPLACED = "rules.replaced"
    KEY_ISSUED = "key.issued"
    KEY_REVOKED = "key.revoked"
    KEY_ROTATED = "key.rotated"
    """Another key takes its place, which it outlives by its grace at most."""
    ISSUER_TRUSTED = "issuer.trusted"
    """Tokens of an identity provider are taken, on these terms."""
    ISSUER_REMOVED = "issuer.removed"
    CONNECTOR_REGISTERED = "connector.registered"
    CONNECTOR_REFRESHED = "connector.refreshed"
    CONNECTOR_ACCEPTED = "connector.accepted"
    CONNECTOR_REMOVED = "connector.removed"
    MODEL_REGISTERED = "model.registered"
    MODEL_REMOVED = "model.removed"
    MODEL_PROMOTED = "model.promoted"
    MODEL_ROLLED_BACK = "model.rolled_back"
    MODEL_SPLIT = "model.split"
    MODEL_CHECKED = "model.checked"
    MODEL_FALLBACKS = "model.fallbacks"
    EPISODE_STARTED = "episode.started"
    EPISODE_ENDED = "episode.ended"
    EPISODE_CANCELLED = "episode.cancelled"
    EPISODE_REWARDED = "episode.rewarded"
    ARTIFACT_READ = "artifact.read"
    TRAJECTORY_READ = "trajectory.read"
    TRAJECTORY_EXPORTED = "trajectory.exported"
    WEBHOOK_ADDED = "webhook.added"
    """Somebody outside is told of approvals, and may answer."""
    WEBHOOK_ROTATED = "webhook.rotated"
    WEBHOOK_REMOVED = "webhook.removed"
    WEBHOOK_GAVE_UP = "webhook.gave_up"
    """A message was not delivered, and is tried no more."""
    SECRETS_ROTATED = "secrets.rotated"
    TENANT_CREATED = "tenant.created"
    TENANT_REMOVED = "tenant.removed"
    """With its log, which is gone then: the main tenant's keeps how it ended."""
    ACCESS_REFUSED = "access.refused"
    """A request was turned away; what comes often is counted and written down together."""
    AUDIT_EXPORTED = "audit.exported"
    AUDIT_ERASED = "audit.erased"
    """The details of the entries that it names were erased."""
    AUDIT_PRUNED = "audit.pruned"
    """Entries that were kept long enough were removed from the front, up to the one that it names."""


class AuditHead(Value):
    """The last entry of a log: whoever notes it outside can tell later whether entries went missing.

    Attributes:
        sequence: its number; 0 where there is none yet.
        hash: its hash, which covers all before it.
    """

    sequence: int = Field(ge=0)
    hash: str = Field(pattern=r"^[0-9a-f]{64}$")

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> "AuditHead":
        """A head as `str` writes it.

        Raises:
            ValueError: it is none.
        """
        sequence, _, digest = text.strip().partition(":")
        return cls(sequence=int(sequence), hash=digest)


class AuditEntry(Value):
    """One entry; `practicum.audit` says how its hashes are made.

    Attributes:
        sequence: its number, from 1 without a gap.
        at: when it was written.
        actor: name of the principal; `gateway` for what the gateway does itself, `nobody` where no key was valid.
        role: in which role.
        key: id of the key that was shown, never the key.
        action: what was done; text, so that a reader of today can check a log of tomorrow.
        subject: to what: a tool, an approval, a key, an episode.
        outcome: how it went.
        episode: the episode in which it was done.
        trace: the trace id under which the operator finds it.
        details: more of it, without secrets; None once erased.
        salt: random, hexadecimal; erased with the details, so that they cannot be guessed from their hash.
        details_hash: SHA-256 of salt and details.
        previous: hash of the entry before it.
        hash: SHA-256 of all of this, the details by their hash.
    """

    sequence: int = Field(ge=1)
    at: datetime
    actor: str
    role: str
    key: str
    action: str
    subject: str
    outcome: str
    episode: str | None = None
    trace: str | None = None
    details: JsonObject | None = None
    salt: str | None = None
    details_hash: str
    previous: str
    hash: str

    @property
    def head(self) -> AuditHead:
        """What to note of it, where it is the last."""
        return AuditHead(sequence=self.sequence, hash=self.hash)


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("it lies outside of the calendar") from None


_Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]


class AuditQuery(Value):
    """Which entries are asked for; None leaves a field open.

    Attributes:
        actor: name of the principal.
        action: what was done.
        subject: to what.
        episode: in which episode.
        since: written at this moment or later.
        until: written before this moment.
        after: with a greater number.
        before: with a smaller number.
        limit: the most that is returned.
    """

    actor: str | None = None
    action: Action | None = None
    subject: str | None = None
    episode: str | None = None
    since: _Moment | None = None
    until: _Moment | None = None
    after: int | None = Field(default=None, ge=0, le=LARGEST)
    before: int | None = Field(default=None, ge=0, le=LARGEST)
    limit: int = Field(default=100, ge=1, le=1000)


class AuditCheck(Value):
    """What a look at every entry found.

    Attributes:
        ok: whether nothing was changed, removed, inserted or moved.
        entries: how many were looked at.
        first: number of the first; greater than 1 where older ones were kept long enough.
        head: the last that holds.
        erased: how many have no details any more, as other entries say.
        broken: number of the first that does not hold.
        why: what is wrong with it, in words.
    """

    ok: bool
    entries: int
    first: int | None
    head: AuditHead
    erased: int
    broken: int | None = None
    why: str | None = None


class EraseRequest(Value):
    """A wish to erase what the log says of somebody.

    Attributes:
        subject: what names them: a name, an address, a number. Case does not count; it has to stand alone, not within
            a longer word.
        reason: why, for the log; it stays, so it must not hold the subject.
    """

    subject: str = Field(min_length=3, max_length=200)
    reason: str = Field(min_length=1, max_length=500)


class Erasure(Value):
    """What was erased.

    Attributes:
        entries: how many entries lost their details.
        touched: their numbers as ranges, both ends included.
        told: numbers of the entries that say so.
        receipt: proves whose erasure it was, and is kept nowhere: each of these entries holds the SHA-256 of it, a
            colon and the subject.
        head: the log's last entry now.
    """

    entries: int
    touched: tuple[tuple[int, int], ...]
    told: tuple[int, ...]
    receipt: str
    head: AuditHead
